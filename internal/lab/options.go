package lab

import (
	"errors"
	"time"

	"mars/internal/scenario"
)

// Options say which part of a scenario the lab runs, and how.
type Options struct {
	Binary   string             // mars, which is run in the namespaces
	Env      []string           // of its processes, beside ours
	Systems  []string           // nil: those of the scenario that the lab has
	Seeds    scenario.Seeds     // Count 0: those of the scenario
	Points   map[string]float64 // parameters that a point must have; nil: all points
	Dilation float64            // real time ÷ the scenario's, ≥ 1; 0: the smallest at which this machine can emulate the links
	Span     time.Duration      // of each of the two loads of a calibration; 0: 1 s
	Anyway   bool               // run on links that miss their calibration; the result says that it doesn't count
	Runs     string             // directory where outcomes of runs are kept, and not run again; "": nowhere
	Progress func(done, total int)
	Log      func(format string, args ...any) // what people may want to know while it runs; nil: nobody does
}

// ErrNothing is returned when nothing is left to run.
var ErrNothing = errors.New("nothing to run")

// ErrNoLab is returned where there can be no lab.
var ErrNoLab = errors.New("there can be no lab here")

// seconds is a time from a scenario.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Cleaned says what Clean has found.
type Cleaned struct {
	Labs       int      // that had not come to their end
	Namespaces []string // removed
	Processes  []int    // ended
	Running    []int    // labs that run and were left alone
}
