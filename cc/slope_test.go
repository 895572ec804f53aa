package cc

import (
	"math"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// TestSlope is line 2 of Algorithm 1: occupancy per RTT, by least squares.
func TestSlope(t *testing.T) {
	type sample struct {
		at machine.Time // ms
		q  float64
	}
	const window = 32 // ms
	for _, c := range []struct {
		say     string
		samples []sample
		want    float64
	}{
		{"nothing", nil, 0},
		{"two samples are no line", []sample{{0, 0}, {16, 1}}, 0},
		{"steady", []sample{{0, 0.4}, {10, 0.4}, {20, 0.4}, {30, 0.4}}, 0},
		{"rising by 0.5 in half a window", []sample{{0, 0.1}, {8, 0.35}, {16, 0.6}}, 1},
		{"falling", []sample{{0, 0.6}, {8, 0.5}, {16, 0.4}}, -0.4},
		{"a line through jitter: (−1,0) (−½,.4) (0,.2)", []sample{{0, 0}, {16, 0.4}, {32, 0.2}}, 0.2},
		{"samples older than a window don't count", []sample{{0, 1}, {1, 1}, {2, 1}, {68, 0.2}, {84, 0.3}, {100, 0.4}}, 0.2},
		{"unless there are fewer than three younger ones", []sample{{0, 0}, {50, 0.5}, {100, 1}}, 0.32},
		{"of those at nearly the same time the greatest counts", []sample{{0, 0.2}, {0, 0.4}, {0, 0.1}, {16, 0.5}, {32, 0.6}, {32, 0}}, 0.2},
	} {
		t.Run(c.say, func(t *testing.T) {
			var s slope
			for _, x := range c.samples {
				s.add(x.at*ms, x.q, window*ms)
			}
			if got := s.per(window * ms); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("slope %v, want %v", got, c.want)
			}
		})
	}
}

// TestSlopeOfLineProperty: points on a line give the line, however they are spaced, at any offset of time.
func TestSlopeOfLineProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := machine.Time(rapid.Int64Range(int64(10*ms), int64(machine.Second)).Draw(t, "window"))
		want := rapid.Float64Range(-1, 1).Draw(t, "slope")
		now := machine.Time(rapid.Int64Range(0, 1e17).Draw(t, "start"))
		from := now
		var s slope
		n := rapid.IntRange(3, 100).Draw(t, "samples")
		for range n {
			now += window/slopeSlots + machine.Time(rapid.Int64Range(0, int64(window/2)).Draw(t, "gap"))
			s.add(now, float64(want*float64(now-from))/float64(window), window)
		}
		if got := s.per(window); math.Abs(got-want) > 1e-6 {
			t.Fatalf("slope %v, want %v", got, want)
		}
	})
}
