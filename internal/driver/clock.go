package driver

import (
	"time"

	"mars/internal/machine"
)

// longestWait bounds one sleep, so that no deadline overflows a time.Duration after scaling.
const longestWait = time.Hour

// clock turns real time into machine time, which runs slower by the factor scale (time dilation).
type clock struct {
	source func() time.Duration
	scale  float64
}

func newClock(source func() time.Duration, scale float64) clock {
	if source == nil {
		start := time.Now()
		source = func() time.Duration { return time.Since(start) }
	}
	if scale <= 0 {
		scale = 1
	}
	return clock{source: source, scale: scale}
}

func (c clock) now() machine.Time {
	if c.scale == 1 {
		return machine.Time(c.source())
	}
	return machine.Time(float64(c.source()) / c.scale)
}

// span is the machine time that passes while real time d passes.
func (c clock) span(d time.Duration) machine.Time {
	return machine.Time(float64(d) / c.scale)
}

// wait is the real time until t, at most longestWait and negative once t has passed.
func (c clock) wait(now, t machine.Time) time.Duration {
	if t == machine.Never {
		return longestWait
	}
	w := float64(t-now) * c.scale
	if w > float64(longestWait) {
		return longestWait
	}
	return time.Duration(w)
}
