package sim

import (
	"testing"

	"mars/internal/machine"
)

// TestClock: a wrong clock never goes back, and rings when it says so.
func TestClock(t *testing.T) {
	for _, drift := range []float64{-0.5, -0.05, 0, 1e-9, 0.05, 0.5} {
		c := clock{since: 1_000_003, base: 1_000_777, drift: drift, wrong: true}
		last := machine.Time(0)
		for now := c.since; now < 3*machine.Second; now += 7_654_321 {
			at := c.at(now)
			if at < last {
				t.Fatalf("drift %g: at %d the clock says %d after %d", drift, now, at, last)
			}
			last = at
			if w := c.when(at); c.at(w) < at || c.at(w-2) >= at {
				t.Errorf("drift %g: %d is said first at %d (%d), not at %d", drift, at, w, c.at(w), now)
			}
		}
	}
	if (&host{}).local(5) != 5 || (&clock{}).when(machine.Never) != machine.Never {
		t.Error("a right clock is wrong")
	}
}
