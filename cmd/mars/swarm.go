package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"mars"
	"mars/internal/swarm"
)

// swarmFlags are the flags of `mars sim swarm`.
type swarmFlags struct {
	seeds   int
	start   uint64
	workers int
	most    int
	save    string
	replay  string
	show    bool
	quiet   bool
}

// shrinkTries bounds the runs that making a failed plan smaller takes.
const shrinkTries = 1000

// errSwarm is what a swarm with failures ends with.
var errSwarm = errors.New("plans failed")

func simSwarmCommand() *cobra.Command {
	var f swarmFlags
	c := &cobra.Command{
		Use:   "swarm",
		Short: "Search for bugs: run plans made from seeds, with faults, and check every invariant",
		Long: `Makes a plan from each seed: a small network, what is fetched, and faults of all kinds. It is run with the invariants of the
protocol checked after every event; then everything is healed, and every transfer must come to its end. Plans that fail are made
smaller and saved as scenario files. The exit status is 0 if none fails.`,
		Example: `  mars sim swarm --seeds 10000
  mars sim swarm --seeds 1 --start 4711 --show
  mars sim swarm --replay scenarios/regress/swarm-535-crash.yaml`,
		Args: exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fl := c.Flags()
	fl.IntVar(&f.seeds, "seeds", 50, "run the plans of `N` seeds")
	fl.Uint64Var(&f.start, "start", 0, "begin with seed `S`")
	fl.IntVar(&f.workers, "workers", 0, "run `W` at once (default: one per processor)")
	fl.IntVar(&f.most, "max-failures", 5, "stop after `N` failures; 0: go on to the end")
	fl.StringVar(&f.save, "save", "scenarios/regress", "save failed plans, made smaller, in the directory `DIR`; empty: don't")
	fl.StringVar(&f.replay, "replay", "", "run the plan in the scenario `FILE` instead")
	fl.BoolVar(&f.show, "show", false, "print the plans instead of running them")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

func (f *swarmFlags) run(c *cobra.Command) error {
	out := c.OutOrStdout()
	switch {
	case f.seeds < 1 || f.workers < 0 || f.most < 0:
		return usage(c, "--seeds is at least 1, and --workers and --max-failures can't be negative")
	case f.replay != "":
		p, err := swarm.Load(f.replay)
		if err != nil {
			return scenarioError(f.replay, err)
		}
		return f.tell(out, []swarm.Failure{{Plan: p, Verdict: swarm.Judge(&p, true)}}, false)
	case f.show:
		for i := range f.seeds {
			p := swarm.Make(f.start + uint64(i))
			fmt.Fprintln(out, p.Text(fmt.Sprintf("swarm-%d", p.Seed), "The plan of one seed"))
		}
		return nil
	}
	began := time.Now()
	progress := newSwarmProgress(os.Stderr, f.seeds, f.quiet)
	found := swarm.Run(c.Context(), swarm.Options{
		Start: f.start, Seeds: f.seeds, Workers: f.workers, Most: f.most, Tell: progress.tell,
	})
	progress.end()
	took := time.Since(began).Seconds()
	fmt.Fprintf(out, "%d seeds in %.1f s (%.0f per second), %d failed; hash of the traces %s\n", found.Done, took, float64(found.Done)/took, len(found.Failures), found.Hash)
	if c.Context().Err() != nil {
		return &mars.Error{Op: "search", Kind: mars.ErrInterrupted, Next: fmt.Sprintf("go on with --start %d", f.start+uint64(found.Done))}
	}
	return f.tell(out, found.Failures, f.save != "")
}

// tell prints what failed, makes it smaller and saves it.
func (f *swarmFlags) tell(w io.Writer, failures []swarm.Failure, save bool) error {
	failed := 0
	for _, x := range failures {
		if x.Verdict.Kind == "" {
			fmt.Fprintln(w, "the plan passes")
			continue
		}
		failed++
		fmt.Fprintf(w, "seed %d, %s: %s at %.3f s: %s\n%s", x.Plan.Seed, x.Plan.System, x.Verdict.Kind, x.Verdict.At.Seconds(), x.Verdict.Why, x.Verdict.Stack)
		if !save {
			continue
		}
		small, v := swarm.Shrink(x.Plan, x.Verdict.Kind, shrinkTries)
		path, err := swarm.Save(f.save, &small, v)
		if err != nil {
			return &mars.Error{Op: "save the plan", Err: err, Next: "choose another directory with --save"}
		}
		fmt.Fprintf(w, "  %d nodes, %d flows and %d faults show it: %s\n", len(small.World.Nodes), len(small.World.Flows), len(small.World.Faults), path)
	}
	if failed > 0 {
		return &mars.Error{Op: fmt.Sprintf("search: %d", failed), Err: errSwarm, Next: "mars sim swarm --replay FILE runs a saved plan again"}
	}
	return nil
}

// swarmProgress shows how many seeds were run, and how fast.
type swarmProgress struct {
	w     io.Writer
	seeds int
	quiet bool
	bars  *mpb.Progress
	bar   *mpb.Bar
	began time.Time
	told  time.Time
}

func newSwarmProgress(w *os.File, seeds int, quiet bool) *swarmProgress {
	p := &swarmProgress{w: w, seeds: seeds, quiet: quiet, began: time.Now(), told: time.Now()}
	if quiet || os.Getenv("TERM") == "dumb" {
		return p
	}
	if cw, ok := console(w); ok {
		p.bars = mpb.New(mpb.WithConsoleWriter(cw), mpb.WithRefreshRate(redraw), mpb.WithAutoRefresh())
		p.bar = p.bars.AddBar(int64(seeds), mpb.PrependDecorators(decor.CountersNoUnit("%d/%d seeds ")),
			mpb.AppendDecorators(decor.AverageSpeed(0, "%.0f/s "), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "")))
	}
	return p
}

// tell is called once per seed, never twice at the same time.
func (p *swarmProgress) tell(done, failed int) {
	switch {
	case p.quiet:
	case p.bar != nil:
		p.bar.SetCurrent(int64(done))
	case time.Since(p.told) >= 10*plain:
		p.told = time.Now()
		fmt.Fprintf(p.w, "%d of %d seeds, %.0f per second, %d failed\n", done, p.seeds, float64(done)/time.Since(p.began).Seconds(), failed)
	}
}

func (p *swarmProgress) end() {
	if p.bars == nil {
		return
	}
	if !p.bar.Completed() {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
