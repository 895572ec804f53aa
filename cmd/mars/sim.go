package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"mars"
	"mars/internal/machine"
	"mars/internal/scenario"
	"mars/internal/sim"
)

func simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run scenarios in a deterministic simulator",
		Long: `Runs the protocol code of MARS in a simulated world: the same seed gives the same result to the bit, on every machine.
A scenario file says what is run: topology, workload, losses, faults, systems to compare (docs/scenarios.md).`,
	}
	c.AddCommand(simRunCommand(), simSwarmCommand(), simSystemsCommand())
	return c
}

// simFlags are the flags of `mars sim run`.
type simFlags struct {
	systems   []string
	controls  []string
	seeds     int
	firstSeed uint64
	workers   int
	points    []string
	tune      []string
	json      bool
	out       string
	trace     bool
	every     int64
	quiet     bool
	series    time.Duration
	compare   string
}

// coarse is the step of the goodput series in results that are kept: enough for a picture.
const coarse = 250 * time.Millisecond

func simRunCommand() *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario and print a table beside the physical limit and the paper's values",
		Long: `Runs every point of the scenario's sweep with every system and every seed, several runs at once, and prints a table: for
each system the median over the seeds with its 95% confidence interval, the limit of physics, and the value of the source
paper where it has one.

--tune replaces values that the paper leaves open, at the consumers of every MARS system: window=CHUNKS is what a flow may have in
flight when it begins, standing=TIME, in ms, the most that it may ever have, as the time that its delivery takes.`,
		Example: `  mars sim run scenarios/two-paths.yaml
  mars sim run scenarios/mars-emulation-heterogeneous.yaml --system MARS-paper --point loss=0 --seeds 5
  mars sim run scenarios/mars-sim-10core.yaml --json -o results
  mars sim run scenarios/mars-sim-10core.yaml --compare results`,
		Args: exactly(1, "the FILE of a scenario"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.systems, "system", nil, "run only the system `NAME` (may be repeated; mars sim systems lists them)")
	fl.StringSliceVar(&f.controls, "cc", nil, "run every endpoint system with the congestion controllers `NAME`[,NAME…] instead of the scenario's (docs/controllers.md)")
	fl.IntVar(&f.seeds, "seeds", 0, "run `N` seeds instead of the scenario's number")
	fl.Uint64Var(&f.firstSeed, "first-seed", 0, "begin with seed `S` instead of the scenario's")
	fl.IntVar(&f.workers, "workers", 0, "run `N` at once (default: one per processor); the result doesn't depend on it")
	fl.StringArrayVar(&f.points, "point", nil, "run only the points of the sweep with `PARAM=VALUE` (may be repeated)")
	fl.StringArrayVar(&f.tune, "tune", nil, "another `NAME=VALUE` than the profile's: window=CHUNKS, standing=TIME (may be repeated)")
	fl.StringVar(&f.compare, "compare", "", "compare with an earlier `RESULT`, a result.json or its directory: run its points, systems and seeds unless told otherwise, and print the differences, seed by seed")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON (docs/result.schema.json), with --compare the comparison (docs/comparison.schema.json)")
	fl.StringVarP(&f.out, "output", "o", "", "also write result.json, and what --trace asks for, to the directory `DIR`")
	fl.DurationVar(&f.series, "series", 0, "keep every flow's goodput in steps of `STEP` (default: the scenario's, else 250ms with -o; 0s: none)")
	fl.BoolVar(&f.trace, "trace", false, "write a trace of every run to the directory of -o, as NDJSON")
	fl.Int64Var(&f.every, "trace-every", 1, "trace every `N`-th packet of a link only")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

func simSystemsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "systems",
		Short: "List the systems that can be simulated",
		Args:  exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range sim.Systems() {
				fmt.Fprintln(c.OutOrStdout(), name)
			}
			return nil
		},
	}
}

func (f *simFlags) run(c *cobra.Command, file string) (err error) {
	switch {
	case f.trace && f.out == "":
		return usage(c, "--trace needs a directory to write to: give -o DIR")
	case f.seeds < 0 || f.workers < 0 || f.every < 1 || f.series < 0:
		return usage(c, "--seeds, --workers and --series can't be negative, and --trace-every is at least 1")
	}
	points, err := parsePoints(f.points)
	if err != nil {
		return usage(c, "%v", err)
	}
	s, err := scenario.Load(file)
	if err != nil {
		return scenarioError(file, err)
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o777); err != nil {
			return &mars.Error{Op: "create " + f.out, Err: err, Next: "choose a directory that you may write to"}
		}
	}
	began := time.Now()
	opt := sim.StudyOptions{
		Systems: f.systems, Control: f.controls, Seeds: s.Seeds, Points: points, Workers: f.workers,
		Run: sim.Options{Series: machine.Time(f.step(c, s)), Graph: f.out != ""}, Clock: func() float64 { return time.Since(began).Seconds() },
	}
	for _, t := range f.tune {
		if err := opt.Run.Tuning.Set(t); err != nil {
			return usage(c, "--tune %v", err)
		}
	}
	if f.seeds > 0 {
		opt.Seeds.Count = f.seeds
	}
	if c.Flags().Changed("first-seed") {
		opt.Seeds.First = f.firstSeed
	}
	var before *scenario.Result
	if f.compare != "" {
		if before, err = f.earlier(c, &opt); err != nil {
			return err
		}
	}
	if f.trace {
		opt.Traced = func(point int, system string, seed uint64) (sim.Options, error) {
			w, err := os.Create(filepath.Join(f.out, fmt.Sprintf("trace-%d-%s-%d.ndjson", point, system, seed)))
			if err != nil {
				return sim.Options{}, err
			}
			o := opt.Run
			o.Trace, o.Every = w, f.every
			return o, nil
		}
	}
	end, err := f.journal(s, &opt)
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	progress := newSimProgress(os.Stderr, s.Name, f.quiet)
	opt.Progress = progress.tell
	result, err := sim.Study(c.Context(), s, opt)
	progress.end()
	if err != nil {
		return simError(c.Context(), err)
	}
	result.Manifest.Version = buildVersion()
	return f.show(c, result, before)
}

// journal makes a study go on where one with the same directory was interrupted; end is called with what has become of it.
func (f *simFlags) journal(s *scenario.Scenario, opt *sim.StudyOptions) (end func(error) error, err error) {
	if f.out == "" || f.trace { // traces are of runs that are made now
		return func(err error) error { return err }, nil
	}
	j, err := openJournal(f.out, journalHead{s.Hash(), buildVersion(), fmt.Sprint(opt.Run, opt.Seeds.First)})
	if err != nil {
		return nil, &mars.Error{Op: "write to " + f.out, Err: err, Next: "choose a directory that you may write to"}
	}
	opt.Earlier = func(params map[string]float64, system string, seed uint64) (scenario.Run, bool) {
		r, ok := j.made[runKey(params, system, seed)]
		return r, ok
	}
	opt.Made = func(params map[string]float64, system string, seed uint64, r scenario.Run) error {
		return j.add(runKey(params, system, seed), r)
	}
	return func(err error) error {
		if failed := j.close(err == nil); err == nil {
			err = failed
		}
		return err
	}, nil
}

// earlier reads the result to compare with, and makes the study run what that has, unless the command line says otherwise.
func (f *simFlags) earlier(c *cobra.Command, opt *sim.StudyOptions) (*scenario.Result, error) {
	all, err := readResults(f.compare)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, usage(c, "--compare %s: there are %d results in it; give one", f.compare, len(all))
	}
	before := all[0]
	if !c.Flags().Changed("seeds") {
		opt.Seeds.Count = before.Manifest.Seeds
	}
	if !c.Flags().Changed("first-seed") {
		opt.Seeds.First = before.Manifest.FirstSeed
	}
	if f.systems == nil {
		opt.Systems = simulated(before)
	}
	opt.Keep = before.Has
	return before, nil
}

// simulated are the systems of a result that the simulator has.
func simulated(r *scenario.Result) []string {
	return slices.DeleteFunc(r.Systems(), func(name string) bool { return !sim.Knows(name) })
}

// step is the length of the steps of the goodput series; 0: none.
func (f *simFlags) step(c *cobra.Command, s *scenario.Scenario) time.Duration {
	switch {
	case c.Flags().Changed("series"):
		return f.series
	case s.Series == 0 && f.out != "":
		return coarse
	}
	return s.Series
}

// show prints the result, or how it differs from one before, and writes it to the directory.
func (f *simFlags) show(c *cobra.Command, r, before *scenario.Result) error {
	if f.out != "" {
		if err := writeResult(filepath.Join(f.out, resultFile), r); err != nil {
			return err
		}
		if !f.quiet {
			fmt.Fprintf(c.ErrOrStderr(), "%s is written; `mars report %s` makes a page of it\n", filepath.Join(f.out, resultFile), f.out)
		}
	}
	if before != nil {
		d, err := scenario.Compare(before, r)
		switch {
		case err != nil:
			return &misuse{f.compare + ": " + err.Error(), "compare results of the same scenario, systems and seeds"}
		case f.json:
			return json.NewEncoder(c.OutOrStdout()).Encode(d)
		}
		return d.Table(c.OutOrStdout())
	}
	if f.json {
		return json.NewEncoder(c.OutOrStdout()).Encode(r)
	}
	return r.Table(c.OutOrStdout())
}

// parsePoints reads PARAM=VALUE.
func parsePoints(list []string) (map[string]float64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	points := make(map[string]float64)
	for _, p := range list {
		name, text, ok := strings.Cut(p, "=")
		percent := strings.HasSuffix(text, "%")
		v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if !ok || err != nil || math.IsNaN(v) {
			return nil, fmt.Errorf("--point %s: it must be PARAM=VALUE with a number, as in loss=0.01 or loss=1%%", p)
		}
		if percent {
			v /= 100
		}
		points[name] = v
	}
	return points, nil
}

func scenarioError(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &misuse{file + ": there is no such file", "give the path of a scenario file; docs/scenarios.md says what one holds"}
	}
	return &misuse{err.Error(), "docs/scenarios.md says what a scenario file holds"}
}

func simError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &mars.Error{Op: "simulate", Kind: mars.ErrInterrupted, Next: "with -o DIR the same command goes on with what had been run; --seeds and --point make a study smaller"}
	}
	return &misuse{err.Error(), "`mars sim systems` lists the systems, and the scenario's sweep its points"}
}

// simProgress shows how many runs have ended.
type simProgress struct {
	w     io.Writer
	name  string
	quiet bool
	bars  *mpb.Progress
	bar   *mpb.Bar
	told  time.Time
}

func newSimProgress(w *os.File, name string, quiet bool) *simProgress {
	p := &simProgress{w: w, name: name, quiet: quiet, told: time.Now()}
	if quiet || os.Getenv("TERM") == "dumb" {
		return p
	}
	if cw, ok := console(w); ok {
		p.bars = mpb.New(mpb.WithConsoleWriter(cw), mpb.WithRefreshRate(redraw), mpb.WithAutoRefresh())
	}
	return p
}

// tell is called before the first run and once per run, never twice at the same time.
func (p *simProgress) tell(done, total int) {
	switch {
	case p.quiet:
	case p.bars != nil:
		if p.bar == nil {
			p.bar = p.bars.AddBar(int64(total), mpb.PrependDecorators(decor.Name(p.name+" "), decor.CountersNoUnit("%d/%d runs ")),
				mpb.AppendDecorators(decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "")))
		}
		p.bar.SetCurrent(int64(done))
	case time.Since(p.told) >= 10*plain:
		p.told = time.Now()
		fmt.Fprintf(p.w, "%s: %d of %d runs\n", p.name, done, total)
	}
}

func (p *simProgress) end() {
	if p.bars == nil {
		return
	}
	if p.bar != nil && !p.bar.Completed() {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
