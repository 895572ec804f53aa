package lab

import (
	"fmt"
	"strings"
	"time"
)

// Calibration is what links were found to do while all were loaded at once. Delay errors are of the scenario's time, which is real
// time divided by the dilation; they hold all that the lab adds: waiting to be read, and being delivered late.
type Calibration struct {
	Dilation  float64
	Packets   int64         // measured
	RateError float64       // the largest of all directions, as a part of the rate
	DelayP50  time.Duration // of all packets
	DelayP99  time.Duration
	Wanted    float64  // mean loss asked for
	Lost      float64  // and met
	Busy      float64  // of the processors' time, 0…1, by this and everything else
	Problems  []string // why these links can't be used; none: they can
}

func (c *Calibration) String() string {
	return fmt.Sprintf("%d packets with all links loaded at dilation %g: rate within %.2f%%, delay error p50 %v, p99 %v, loss %.3f%% for %.3f%%, processors %.0f%% busy",
		c.Packets, c.Dilation, c.RateError*100, c.DelayP50.Round(time.Microsecond), c.DelayP99.Round(time.Microsecond), c.Lost*100, c.Wanted*100, c.Busy*100)
}

// ErrTooFast says that this machine can't emulate the links of a scenario as fast as asked for.
type ErrTooFast struct {
	Calibration *Calibration
	Fits        float64 // the smallest dilation at which it can, of those tried; 0: none
}

func (e *ErrTooFast) Error() string {
	return "this machine, loaded as it is, can't emulate these links in time: " + strings.Join(e.Calibration.Problems, "; ")
}
