package route

import (
	"testing"

	"mars/internal/machine"
)

func TestClock(t *testing.T) {
	const ms = machine.Millisecond
	type step struct {
		what          string
		now, deadline machine.Time // ms; the deadline in the clock's own time, −1: none
		want          machine.Time
		paused        bool
	}
	var c clock
	for _, s := range []step{
		{"a Router may be made late", 1000, 0, 0, false},
		{"called in time", 1200, 200, 200, false},
		{"called before its time", 1250, 500, 250, false},
		{"a busy driver", 1590, 500, 590, false},
		{"stood still for an hour", 1590 + 3_600_000, 600, 600, true},
		{"another call at once", 1600 + 3_600_000, 600, 610, false},
		{"a deadline passed, but calls come in", 1690 + 3_600_000, 600, 700, false},
		{"no deadline, no pause", 9690 + 3_600_000, -1, 8700, false},
		{"never backwards", 100, 0, 8700, false},
	} {
		d := s.deadline * ms
		if s.deadline < 0 {
			d = machine.Never
		}
		if paused := c.advance(s.now*ms, d); paused != s.paused || c.now != s.want*ms {
			t.Errorf("%s: %d ms, paused %v; want %d, %v", s.what, c.now/ms, paused, s.want, s.paused)
		}
	}
	if c.outside(machine.Never) != machine.Never || c.outside(0) != c.paused {
		t.Error("outside")
	}
}

// TestPause: a node that stood still for two hours has lost nothing when it continues, and comes to agree again.
func TestPause(t *testing.T) {
	w := newWorld(1)
	w.build("ring", 6, relays)
	agree(t, w, 2*machine.Second)
	h := w.hosts[2]
	h.freeze(7200 * machine.Second)
	w.run(7199 * machine.Second)
	if !w.agrees() {
		t.Fatalf("the others: %s", w.wrong())
	}
	if w.hosts[0].router.slotOf[h.cfg.ID] != 0 {
		t.Error("the others still hold what the frozen node said two hours ago")
	}
	w.run(machine.Second + machine.Millisecond)
	if c := h.router.Counters(); c.Pauses != 1 || c.Expired != 0 {
		t.Errorf("%d pauses, %d expired", c.Pauses, c.Expired)
	}
	agree(t, w, 3*machine.Second)
}
