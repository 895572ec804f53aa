package sim

import "mars/internal/machine"

// clock is a host's idea of time. The zero value is right.
type clock struct {
	since machine.Time // when it was last set, in true time
	base  machine.Time // what it said then
	drift float64      // how much too fast it has run since then, a fraction
	wrong bool         // it has ever been set
}

// local is what the host's clock says at a true time.
func (h *host) local(now machine.Time) machine.Time {
	if !h.clock.wrong {
		return now
	}
	return h.clock.at(now)
}

func (c *clock) at(now machine.Time) machine.Time {
	past := now - c.since
	return c.base + past + machine.Time(float64(float64(past)*c.drift))
}

// when is the first true time at which the clock says t.
func (c *clock) when(t machine.Time) machine.Time {
	if !c.wrong || t == machine.Never {
		return t
	}
	now := c.since + machine.Time(float64(t-c.base)/(1+c.drift))
	for c.at(now) < t {
		now++
	}
	return now
}

// skew has a host's clock run too fast from now on; it never jumps.
func (w *world) skew(now machine.Time, i int, drift float64) {
	h := &w.net.hosts[i]
	if h.m == nil {
		return
	}
	h.clock = clock{since: now, base: h.local(now), drift: drift, wrong: true}
	w.net.pump(i) // its timers ring at other times
}
