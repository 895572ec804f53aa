package forward

import (
	"math"

	"mars/internal/machine"
)

// PCON marks by CoDel's control law, a little more slowly (Schneider et al., ICN 2016).
const (
	codelTarget   = 5 * machine.Millisecond
	codelInterval = 100 * machine.Millisecond
	codelSpacing  = codelInterval * 11 / 10
)

// codel decides by CoDel's control law (RFC 8289 §5) which packets that leave a queue are marked; nothing is dropped. Where
// the RFC drops one packet and looks at the next one, the packet is marked, and the next one is looked at when it leaves.
type codel struct {
	target, interval machine.Time
	spacing          machine.Time // from the first mark to the second: the RFC's interval

	above   machine.Time // when the sojourn will have been above the target for an interval; 0: it isn't
	marking bool
	next    machine.Time
	count   int
	last    int // count when marking began
}

func newCoDel() *codel {
	return &codel{target: codelTarget, interval: codelInterval, spacing: codelSpacing}
}

// marks tells whether the packet that leaves at now after that sojourn is marked; behind is how many wait.
func (c *codel) marks(now, sojourn machine.Time, behind int) bool {
	if !c.bad(now, sojourn, behind) {
		c.marking = false
		return false
	}
	if c.marking {
		return c.due(now)
	}
	c.marking = true
	fresh := c.count - c.last
	c.count = 1
	if fresh > 1 && now-c.next < 16*c.interval { // §5.4: it was marking a moment ago, so it goes on nearly as fast
		c.count = fresh
	}
	c.next = c.law(now)
	c.last = c.count
	return true
}

// bad tells whether sojourns have been above the target for an interval (§5.4, dodequeue). A queue that is empty now isn't.
func (c *codel) bad(now, sojourn machine.Time, behind int) bool {
	switch {
	case sojourn < c.target || behind == 0:
		c.above = 0
	case c.above == 0:
		c.above = now + c.interval
	default:
		return now >= c.above
	}
	return false
}

// due takes the next mark of a queue that is marking, if its time has come.
func (c *codel) due(now machine.Time) bool {
	if !c.marking || now < c.next {
		return false
	}
	c.count++
	c.next = c.law(c.next)
	return true
}

// law is the time of the mark after one at t (§5.3).
func (c *codel) law(t machine.Time) machine.Time {
	return t + machine.Time(float64(c.spacing)/math.Sqrt(float64(c.count)))
}
