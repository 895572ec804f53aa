package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/lab"
	"mars/internal/scenario"
)

func labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Run scenarios on this machine's kernel, beside real TCP and MPTCP",
		Long: `Runs the scenarios of the simulator for real: a network namespace per host, emulated links, processes of this program, and TCP
and MPTCP of the kernel. It needs Linux and root, and leaves nothing behind (docs/lab.md).`,
	}
	c.AddCommand(labRunCommand(), labCompareCommand(), labCleanCommand(), labSystemsCommand(), labHostCommand())
	return c
}

// labFlags are the flags of `mars lab run`.
type labFlags struct {
	systems   []string
	seeds     int
	firstSeed uint64
	points    []string
	dilation  float64
	anyway    bool
	json      bool
	out       string
	quiet     bool
}

func labRunCommand() *cobra.Command {
	var f labFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario in network namespaces and print the same table as the simulator",
		Long: `Builds the scenario's hosts and links, loads all links at once to see whether they keep their rates, delays and losses, and then
runs every system with every seed. Where this machine is too slow for the links it refuses, and says at which --dilation they
fit: time then runs slower by that factor, and all figures are told in the scenario's time.`,
		Example: `  sudo mars lab run scenarios/two-paths.yaml --system MARS --system MPTCP-Oracle:cubic
  sudo mars lab run scenarios/mars-emulation-heterogeneous.yaml --point loss=0 --seeds 5 --dilation 0 -o results`,
		Args: exactly(1, "the FILE of a scenario"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.register(c)
	return c
}

func (f *labFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.systems, "system", nil, "run only the system `NAME` (may be repeated; mars lab systems lists them)")
	fl.IntVar(&f.seeds, "seeds", 0, "run `N` seeds instead of the scenario's number")
	fl.Uint64Var(&f.firstSeed, "first-seed", 0, "begin with seed `S` instead of the scenario's")
	fl.StringArrayVar(&f.points, "point", nil, "run only the points of the sweep with `PARAM=VALUE` (may be repeated)")
	fl.Float64Var(&f.dilation, "dilation", 1, "run slower by the factor `K`; 0: by the smallest with which this machine can emulate the links")
	fl.BoolVar(&f.anyway, "anyway", false, "run on links that missed their calibration too; the result says that it doesn't count")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON (docs/result.schema.json; compare: docs/agreement.schema.json)")
	fl.StringVarP(&f.out, "output", "o", "", "also write result.json to the directory `DIR`, and every run as it ends: the same command goes on where it was")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
}

// labEnv is that of the lab's processes. There is one per host and a processor for dozens of them: each gets one thread of Go code. The
// runtime's monitor, which stays awake if it has a trace to write (here after eleven days), else costs two wake-ups per packet.
var labEnv = []string{
	"MARS_NODE_SOCKET=none", "MARS_CONFIG=", "GOMAXPROCS=1", "GODEBUG=schedtrace=1000000000",
	"QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=true",
}

func (f *labFlags) run(c *cobra.Command, file string) error {
	s, err := f.load(c, file)
	if err != nil {
		return err
	}
	result, err := f.measure(c, s)
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(c.OutOrStdout()).Encode(result)
	}
	return result.Table(c.OutOrStdout())
}

// load reads the scenario, once the flags are known to be right.
func (f *labFlags) load(c *cobra.Command, file string) (*scenario.Scenario, error) {
	if f.seeds < 0 || f.dilation < 0 || f.dilation > 0 && f.dilation < 1 {
		return nil, usage(c, "--seeds can't be negative, and --dilation is 0 or at least 1")
	}
	s, err := scenario.Load(file)
	if err != nil {
		return nil, scenarioError(file, err)
	}
	if f.seeds > 0 {
		s.Seeds.Count = f.seeds
	}
	if c.Flags().Changed("first-seed") {
		s.Seeds.First = f.firstSeed
	}
	return s, nil
}

// measure runs the scenario in the lab.
func (f *labFlags) measure(c *cobra.Command, s *scenario.Scenario) (*scenario.Result, error) {
	points, err := parsePoints(f.points)
	if err != nil {
		return nil, usage(c, "%v", err)
	}
	self, err := os.Executable()
	if err == nil && f.out != "" {
		err = os.MkdirAll(f.out, 0o777)
	}
	if err != nil {
		return nil, &mars.Error{Op: "run the lab", Err: err, Next: "choose a directory that you may write to"}
	}
	opt := lab.Options{
		Binary: self, Env: labEnv, Systems: f.systems, Seeds: s.Seeds, Points: points, Dilation: f.dilation, Anyway: f.anyway,
	}
	if f.out != "" {
		opt.Runs = filepath.Join(f.out, "runs")
	}
	progress := newSimProgress(os.Stderr, s.Name, f.quiet)
	opt.Progress = progress.tell
	if !f.quiet {
		opt.Log = func(format string, args ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...) }
	}
	result, err := lab.Run(c.Context(), s, opt)
	progress.end()
	if err != nil {
		return nil, labError(c.Context(), err, f.out)
	}
	result.Manifest.Version = buildVersion()
	if f.out != "" {
		if err := writeResult(filepath.Join(f.out, resultFile), result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// labError says what to do about a lab that failed.
func labError(ctx context.Context, err error, out string) error {
	if slow, ok := errors.AsType[*lab.ErrTooFast](err); ok {
		e := &mars.Error{Op: "calibrate", Err: slow, Next: "end what else runs on this machine, or take --anyway for a result that doesn't count"}
		if slow.Fits > 0 {
			e.Next = fmt.Sprintf("it can at --dilation %g; or end what else runs on this machine", slow.Fits)
		}
		return e
	}
	switch {
	case ctx.Err() != nil && out != "":
		return &mars.Error{Op: "run the lab", Kind: mars.ErrInterrupted, Next: "everything is cleaned up; the same command goes on where it was"}
	case ctx.Err() != nil:
		return &mars.Error{Op: "run the lab", Kind: mars.ErrInterrupted, Next: "everything is cleaned up; with -o DIR what had been run would be kept"}
	case errors.Is(err, lab.ErrNothing):
		return &misuse{err.Error(), "`mars lab systems` lists the systems, and the scenario's sweep its points"}
	case errors.Is(err, lab.ErrNoLab):
		return &mars.Error{Op: "run the lab", Err: err, Next: "run it as root on Linux with iproute2, or simulate: mars sim run"}
	}
	return &mars.Error{Op: "run the lab", Err: err, Next: "`mars lab clean` removes what may be left"}
}

func labCleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what a lab that was killed has left: processes, namespaces, files",
		Args:  exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := lab.Clean()
			w := c.OutOrStdout()
			switch {
			case done.Labs == 0:
				fmt.Fprintln(w, "nothing is left of any lab")
			default:
				fmt.Fprintf(w, "%d labs: removed %d namespaces, ended %d processes\n", done.Labs, len(done.Namespaces), len(done.Processes))
			}
			if len(done.Running) > 0 {
				fmt.Fprintf(w, "left alone, since they run: %s\n", strings.Trim(fmt.Sprint(done.Running), "[]"))
			}
			if err != nil {
				return &mars.Error{Op: "clean up", Err: err, Next: "run it as root"}
			}
			return nil
		},
	}
}

func labSystemsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "systems",
		Short: "List the systems that the lab has",
		Args:  exactly(0, "it takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range lab.Systems() {
				fmt.Fprintln(c.OutOrStdout(), name)
			}
			return nil
		},
	}
}
