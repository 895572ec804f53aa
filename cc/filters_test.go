package cc

import (
	"testing"

	"mars/internal/machine"
)

// second feeds one second of acknowledgements, with losses at the given milliseconds and marks of a share of the data.
func second(d *filters, from Time, i int, rtt Time, marked float64, losses ...int) {
	for ms := range 100 {
		now := from + Time(ms)*10*machine.Millisecond
		for _, at := range losses {
			if at/10 == ms {
				d.onLoss(now, i, Loss{})
			}
		}
		a := Ack{Bytes: 1000, RTT: rtt}
		if float64(ms) < marked*100 {
			a.Marked = 1000
		}
		d.onAck(now, i, a)
	}
}

// TestFiltersLoss: subflows of the same delay that lose together share; once they lose apart they don't.
func TestFiltersLoss(t *testing.T) {
	const rtt = 50 * machine.Millisecond
	d := &filters{}
	d.add(0, 0)
	d.add(0, 1)
	d.add(0, 2)
	at := func(s int, first, other, third int) {
		from := Time(s) * machine.Second
		// Interleave by time, as acknowledgements come.
		for ms := range 100 {
			now := from + Time(ms)*10*machine.Millisecond
			for i, loss := range []int{first, other, third} {
				if loss/10 == ms {
					d.onLoss(now, i, Loss{})
				}
				d.onAck(now, i, Ack{Bytes: 1000, RTT: rtt})
			}
		}
	}
	shared := func() bool { return d.group(0) == d.group(1) }
	for s := range 3 {
		at(s, 100, 150, 700)
		if shared() {
			t.Fatalf("a verdict after %d s", s+1)
		}
	}
	s := 3
	for ; !shared() && s < 20; s++ {
		at(s, 100, 150, 700)
	}
	if s > 8 { // without anything to see in the round-trip times: they stand still
		t.Errorf("%d s until the shared bottleneck is seen", s)
	}
	if d.group(2) == d.group(0) {
		t.Error("the third loses at other times")
	}
	for n := s; shared(); s++ {
		if s > n+15 {
			t.Fatal("15 s apart, and still sharing")
		}
		at(s, 100, 800, 450)
	}
}

// TestFiltersDelay: coincidence of losses doesn't unite subflows whose round-trip times differ.
func TestFiltersDelay(t *testing.T) {
	d := &filters{}
	d.add(0, 0)
	d.add(0, 1)
	for s := range 20 {
		second(d, Time(s)*machine.Second, 0, 50*machine.Millisecond, 0, 500)
		second(d, Time(s)*machine.Second, 1, 70*machine.Millisecond, 0, 500)
	}
	if d.group(0) == d.group(1) {
		t.Error("they share")
	}
	if d.verdicts() == 0 {
		t.Error("no verdict at all")
	}
}

func TestLikeness(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want vote
	}{
		{0, 0, silent},
		{0, 1, against},
		{1, 0, against},
		{1, 1.2, favour},
		{1.2, 1, favour},
		{1, 1.3, against},
		{1, 0.79, against},
	} {
		if got := likeness(c.a, c.b, 0.2); got != c.want {
			t.Errorf("likeness(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestFiltersRemove: a subflow that ends shares with no one, nor does one that takes its number.
func TestFiltersRemove(t *testing.T) {
	d := &filters{}
	for i := range 3 {
		d.add(0, i)
	}
	d.pair(0, 2).shared = true
	d.unite()
	if d.group(0) != d.group(2) {
		t.Fatal("not united")
	}
	d.remove(2)
	d.add(0, 2)
	if d.group(0) == d.group(2) {
		t.Error("the new subflow inherits the old one's company")
	}
}
