package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mars"
	"mars/internal/scenario"
	"mars/internal/sim"
)

func labCompareCommand() *cobra.Command {
	var f labFlags
	c := &cobra.Command{
		Use:   "compare FILE",
		Short: "Run a scenario in the lab and in the simulator, and tell how far they are apart",
		Long: `Runs the scenario in the lab as "lab run" does, then the same points, systems and seeds in the simulator at the same dilation: what
time dilation doesn't stretch in the kernel (TCP's least timeout, delayed acknowledgements, probes) is as short there. Prints the
difference of every metric, and whether it is within its limit where there is one. With -o DIR the results go to DIR/lab and
DIR/simulator.`,
		Example: `  sudo mars lab compare scenarios/two-paths.yaml --point loss=0 --system MARS-paper --system TCP --seeds 5
  sudo mars lab compare scenarios/one-link.yaml --dilation 0 -o results`,
		Args: exactly(1, "the FILE of a scenario"),
		RunE: func(c *cobra.Command, args []string) error { return f.compare(c, args[0]) },
	}
	f.register(c)
	return c
}

func (f *labFlags) compare(c *cobra.Command, file string) error {
	s, err := f.load(c, file)
	if err != nil {
		return err
	}
	asked := f.systems
	if asked == nil {
		asked = s.Systems
	}
	if !slices.ContainsFunc(asked, sim.Knows) {
		return usage(c, "the simulator has none of the systems %s", strings.Join(asked, ", "))
	}
	out := f.out
	if out != "" {
		f.out = filepath.Join(out, "lab")
	}
	measured, err := f.measure(c, s)
	if err != nil {
		return err
	}
	simulated, err := f.simulate(c, s, measured)
	if err != nil {
		return err
	}
	if out != "" {
		dir := filepath.Join(out, "simulator")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return &mars.Error{Op: "create " + dir, Err: err, Next: "choose a directory that you may write to"}
		}
		if err := writeResult(filepath.Join(dir, resultFile), simulated); err != nil {
			return err
		}
	}
	a, err := scenario.Agree(measured, simulated)
	switch {
	case err != nil:
		return &misuse{err.Error(), "choose systems that the simulator has too: mars sim systems"}
	case f.json:
		return json.NewEncoder(c.OutOrStdout()).Encode(a)
	}
	return a.Table(c.OutOrStdout())
}

// simulate runs what the lab has run in the simulator, as far as that has the systems.
func (f *labFlags) simulate(c *cobra.Command, s *scenario.Scenario, measured *scenario.Result) (*scenario.Result, error) {
	began := time.Now()
	progress := newSimProgress(os.Stderr, s.Name+", simulated", f.quiet)
	r, err := sim.Study(c.Context(), s, sim.StudyOptions{
		Systems: simulated(measured), Control: []string{}, // each as it is, not with every one of the scenario's controllers
		Seeds: s.Seeds, Keep: measured.Has, Progress: progress.tell,
		Run:   sim.Options{Dilation: measured.Manifest.Dilation},
		Clock: func() float64 { return time.Since(began).Seconds() },
	})
	progress.end()
	if err != nil {
		return nil, simError(c.Context(), err)
	}
	r.Manifest.Version, r.Manifest.Dilation = buildVersion(), measured.Manifest.Dilation
	return r, nil
}
