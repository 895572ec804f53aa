package channel

import (
	"math"
	"testing"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// TestCoDelMarks is RFC 8289: nothing while the sojourn is below 5 ms or above it for less than 100 ms, then marks at intervals
// that shrink with the square root of their number.
func TestCoDelMarks(t *testing.T) {
	c := &codel{target: codelTarget, interval: codelInterval}
	var at []float64
	for now := machine.Time(0); now < 600*machine.Millisecond; now += machine.Millisecond {
		if c.Marks(now, now+20*machine.Millisecond, 10) {
			at = append(at, (now+20*machine.Millisecond).Seconds()*1e3)
		}
	}
	want := []float64{120, 220, 291, 349, 399, 444, 484, 522, 558, 591}
	if len(at) < len(want) {
		t.Fatalf("%v", at)
	}
	for i := range want {
		if math.Abs(at[i]-want[i]) > 2 {
			t.Errorf("mark %d at %.0f ms, want %.0f", i+1, at[i], want[i])
		}
	}
	if c.Marks(600*machine.Millisecond, 602*machine.Millisecond, 1) || c.dropping {
		t.Error("a short sojourn doesn't end it")
	}
}

// TestREDMarks: nothing below the lower threshold, everything above the upper one, and about the probability between.
func TestREDMarks(t *testing.T) {
	d := &scenario.Direction{MarkMin: 10, MarkMax: 30, MarkProb: 0.1}
	for _, c := range []struct {
		queue    int
		min, max float64
	}{{5, 0, 0}, {20, 0.03, 0.12}, {60, 0.95, 1}} {
		r := newRED(d, Stream(1, "red"))
		marked := 0
		for i := range 20_000 {
			if r.Marks(0, 0, c.queue) && i >= 10_000 {
				marked++
			}
		}
		if got := float64(marked) / 10_000; got < c.min || got > c.max {
			t.Errorf("queue of %d: %.3f marked", c.queue, got)
		}
	}
}
