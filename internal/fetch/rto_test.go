package fetch

import (
	"math"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// TestRTO is the retransmission timeout, mean + 4σ of the recent round trips (MARS paper §III-E), within its bounds.
func TestRTO(t *testing.T) {
	for _, c := range []struct {
		say     string
		samples []machine.Time // ms
		want    machine.Time   // ms
	}{
		{"nothing known", nil, 1000},
		{"steady and short: the floor", []machine.Time{20, 20, 20}, 500},
		{"one sample: its mean", []machine.Time{700}, 700},
		{"700 ± 50", []machine.Time{650, 750, 650, 750}, 700 + 4*50},
		{"300 ± 100", []machine.Time{200, 400}, 300 + 4*100},
		{"steady and long: the ceiling", []machine.Time{5000, 5000}, 4000},
		{"wide: the ceiling", []machine.Time{100, 3000, 100, 3000}, 4000},
		{"nonsense counts as 0", []machine.Time{-5, -5}, 500},
	} {
		t.Run(c.say, func(t *testing.T) {
			var w rttWindow
			for _, s := range c.samples {
				w.add(s * ms)
			}
			if got := w.rto(); got != c.want*ms {
				t.Errorf("%v ms, want %v", got.Seconds()*1e3, c.want)
			}
		})
	}
}

// TestRTOWindow: only the last 64 samples count.
func TestRTOWindow(t *testing.T) {
	var w rttWindow
	for range 100 {
		w.add(3 * sec)
	}
	for i := range 64 {
		if w.mean() == 600*ms {
			t.Fatalf("after %d samples the old ones are forgotten", i)
		}
		w.add(600 * ms)
	}
	if w.mean() != 600*ms || w.rto() != 600*ms {
		t.Errorf("mean %v, RTO %v", w.mean(), w.rto())
	}
}

// TestRTOProperty compares the running sums with the definition.
func TestRTOProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Int64Range(0, int64(20*sec)), 1, 200).Draw(t, "samples")
		var w rttWindow
		for _, s := range samples {
			w.add(machine.Time(s))
		}
		last := samples[max(0, len(samples)-64):]
		var mean, sigma float64
		for _, s := range last {
			mean += float64(min(s, int64(maxRTT))) / float64(len(last))
		}
		for _, s := range last {
			d := float64(min(s, int64(maxRTT))) - mean
			sigma += d * d / float64(len(last))
		}
		want := min(max(mean+4*math.Sqrt(sigma), float64(minRTO)), float64(maxRTO))
		if got := float64(w.rto()); math.Abs(got-want) > float64(20*machine.Microsecond) {
			t.Fatalf("RTO %v ns, want %v", got, want)
		}
	})
}
