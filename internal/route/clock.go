package route

import "mars/internal/machine"

// clock is time that stands still while the process does. Whatever goes by between the moment at which we asked to
// be called and a much later call is a pause: nobody listened, so no silence was heard and nothing aged.
type clock struct {
	started bool
	now     machine.Time // without pauses, 0 at first: all timers are in it
	last    machine.Time // of the driver
	paused  machine.Time // sum of all pauses, and what was before the first call
}

// pauseSlack is lateness that is taken for a busy driver.
const pauseSlack = 100 * machine.Millisecond

// advance moves the clock to now of the driver, where deadline (in our time) was asked for. It never goes backwards.
func (c *clock) advance(now, deadline machine.Time) (paused bool) {
	if !c.started {
		c.started, c.last, c.paused = true, now, now
	}
	if now <= c.last {
		return false
	}
	if deadline != machine.Never {
		if late := now - max(c.last, deadline+c.paused); late > pauseSlack {
			c.paused += late
			paused = true
		}
	}
	c.last = now
	c.now = now - c.paused
	return paused
}

// outside is the driver's time at t of ours.
func (c *clock) outside(t machine.Time) machine.Time {
	if t > machine.Never-c.paused {
		return machine.Never
	}
	return t + c.paused
}

// tick is called with the driver's time before anything else happens.
func (r *Router) tick(now machine.Time) {
	if r.clock.advance(now, r.deadline()) {
		r.count.Pauses++
	}
}
