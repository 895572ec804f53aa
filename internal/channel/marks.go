package channel

import (
	"math"
	"math/rand/v2"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// Marker decides which packets get a congestion mark.
type Marker interface {
	// Marks tells whether the packet is marked: it comes at now, finds queued packets before it, and begins to be sent at out.
	Marks(now, out machine.Time, queued int) bool
}

// NewMarker is what marks packets in the queue of a direction of that name; nil: nothing does.
func NewMarker(d *scenario.Direction, seed uint64, name string) Marker {
	switch d.Discipline {
	case scenario.CoDelMark:
		return &codel{target: codelTarget, interval: codelInterval}
	case scenario.RED:
		return newRED(d, Stream(seed, "red:"+name))
	}
	return nil
}

// CoDel's constants (RFC 8289 §4.4).
const (
	codelTarget   = 5 * machine.Millisecond
	codelInterval = 100 * machine.Millisecond
)

// codel marks by CoDel's control law (RFC 8289 §5), with marks for drops. Its decisions are taken when a packet leaves; here
// they are taken early, since the moment is known. The rule that a queue of less than one packet is never bad is left out: a
// packet that waits as long as the target had others before it.
type codel struct {
	target, interval machine.Time

	above    machine.Time // when the sojourn will have been above the target for an interval; 0: it isn't
	dropping bool
	next     machine.Time
	count    int
	last     int // count when dropping began
}

func (c *codel) Marks(now, out machine.Time, _ int) bool {
	ok := false
	switch {
	case out-now < c.target:
		c.above = 0
	case c.above == 0:
		c.above = out + c.interval
	case out >= c.above:
		ok = true
	}
	if c.dropping {
		if !ok {
			c.dropping = false
			return false
		}
		if out < c.next {
			return false
		}
		c.count++
		c.next = c.law(c.next)
		return true
	}
	if !ok {
		return false
	}
	c.dropping = true
	delta := c.count - c.last
	c.count = 1
	if delta > 1 && out-c.next < 16*c.interval {
		c.count = delta
	}
	c.next = c.law(out)
	c.last = c.count
	return true
}

func (c *codel) law(t machine.Time) machine.Time {
	return t + machine.Time(float64(c.interval)/math.Sqrt(float64(c.count)))
}

// red marks by Random Early Detection (Floyd and Jacobson 1993): the average queue decides.
type red struct {
	min, max, prob float64
	average        float64
	since          int // packets since the last mark
	random         *rand.Rand
}

// redWeight is the weight of one packet in the average queue.
const redWeight = 0.002

func newRED(d *scenario.Direction, r *rand.Rand) *red {
	return &red{min: float64(d.MarkMin), max: float64(d.MarkMax), prob: d.MarkProb, since: -1, random: r}
}

func (r *red) Marks(_, _ machine.Time, queued int) bool {
	r.average += float64(redWeight * (float64(queued) - r.average))
	switch {
	case r.average < r.min:
		r.since = -1
		return false
	case r.average >= r.max:
		r.since = 0
		return true
	}
	r.since++
	p := float64(r.prob * (r.average - r.min) / (r.max - r.min))
	if spread := 1 - float64(float64(r.since)*p); spread > 0 {
		p /= spread
	} else {
		p = 1
	}
	if r.random.Float64() >= p {
		return false
	}
	r.since = 0
	return true
}
