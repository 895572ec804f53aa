package forward

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// leaving is one packet that leaves a queue.
type leaving struct {
	at, sojourn machine.Time
	behind      int
}

// rfcCoDel is the control law as RFC 8289 §5.5 and §5.6 write it down, for one packet at a time: the numbers of those that
// it drops.
type rfcCoDel struct {
	target, interval, firstAboveTime, dropNext machine.Time
	count, lastCount                           int
	dropping                                   bool
}

func (c *rfcCoDel) okToDrop(p leaving) bool {
	if p.sojourn < c.target || p.behind == 0 {
		c.firstAboveTime = 0
		return false
	}
	if c.firstAboveTime == 0 {
		c.firstAboveTime = p.at + c.interval
		return false
	}
	return p.at >= c.firstAboveTime
}

func (c *rfcCoDel) controlLaw(t machine.Time, count int) machine.Time {
	return t + machine.Time(float64(c.interval)/math.Sqrt(float64(count)))
}

func (c *rfcCoDel) drops(p leaving) bool {
	ok := c.okToDrop(p)
	switch {
	case c.dropping && !ok:
		c.dropping = false
	case c.dropping && p.at >= c.dropNext:
		c.count++
		c.dropNext = c.controlLaw(c.dropNext, c.count)
		return true
	case !c.dropping && ok:
		c.dropping = true
		delta := c.count - c.lastCount
		c.count = 1
		if delta > 1 && p.at-c.dropNext < 16*c.interval {
			c.count = delta
		}
		c.dropNext = c.controlLaw(p.at, c.count)
		c.lastCount = c.count
		return true
	}
	return false
}

// TestCoDelRFC8289: with the RFC's spacing the marks are what the RFC drops, whatever the queue does.
func TestCoDelRFC8289(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := codel{target: codelTarget, interval: codelInterval, spacing: codelInterval}
		rfc := rfcCoDel{target: codelTarget, interval: codelInterval}
		var p leaving
		for range rapid.IntRange(1, 60).Draw(t, "phases") {
			sojourn := machine.Time(rapid.IntRange(0, 12).Draw(t, "sojourn")) * machine.Millisecond
			gap := machine.Time(rapid.IntRange(1, 30).Draw(t, "gap")) * machine.Millisecond
			behind := rapid.IntRange(0, 3).Draw(t, "behind")
			for range rapid.IntRange(1, 40).Draw(t, "packets") {
				p = leaving{p.at + gap, sojourn, behind}
				if got, want := c.marks(p.at, p.sojourn, p.behind), rfc.drops(p); got != want {
					t.Fatalf("%+v: marked %v, the RFC drops %v", p, got, want)
				}
			}
		}
	})
}

// TestCoDelMarks: a queue that stays above the target is marked after 100 ms, then 110 ms later, then after 110/√2, 110/√3 …
func TestCoDelMarks(t *testing.T) {
	c := newCoDel()
	var at []machine.Time
	for now := machine.Millisecond; now < 700*machine.Millisecond; now += machine.Millisecond {
		if c.marks(now, 6*machine.Millisecond, 9) {
			at = append(at, now/machine.Millisecond)
		}
	}
	want := []machine.Time{101, 211, 289, 353, 408, 457, 502, 543, 582, 619, 654, 687}
	if !slices.Equal(at, want) {
		t.Errorf("marks at %v ms, want %v", at, want)
	}
}

// TestCoDelInterest: an Interest that leaves by a congested face takes the mark that is due, so that the next packet isn't
// marked, too.
func TestCoDelInterest(t *testing.T) {
	c := newCoDel()
	said := ""
	for now := machine.Millisecond; now < 300*machine.Millisecond; now += machine.Millisecond {
		if now/machine.Millisecond == 211 && c.due(now) {
			said += fmt.Sprint("interest ", now/machine.Millisecond, " ")
		}
		if c.marks(now, 6*machine.Millisecond, 9) {
			said += fmt.Sprint(now/machine.Millisecond, " ")
		}
	}
	if want := "101 interest 211 289 "; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}
