package cc

import (
	"slices"
	"testing"

	"mars/internal/machine"
)

func TestGroups(t *testing.T) {
	g := make(groups, 6)
	g.reset()
	g.join(4, 5)
	g.join(1, 2)
	g.join(2, 4)
	if want := (groups{0, 1, 1, 3, 1, 1}); !slices.Equal(g, want) {
		t.Errorf("%v, want %v", g, want)
	}
}

// accuracy runs two subflows, each beside a CUBIC TCP, and returns how much of the time the verdict is right after the first 20 s.
// Bottlenecks that aren't shared have delays of 50 ms and other.
func accuracy(seed uint64, name string, shared bool, other Time, mark int) float64 {
	make := func(delay Time) *testLink {
		return &testLink{rate: 833, delay: delay, buffer: 42 + mark, mark: mark}
	}
	one := make(50 * machine.Millisecond)
	two, links := one, []*testLink{one}
	if !shared {
		two = make(other)
		links = append(links, two)
	}
	w := newWorld(seed, links...)
	c := must(name)
	flows := w.connect(c, one, two)
	for _, l := range links {
		w.connect(must("cubic"), l)
	}
	right, asked := 0, 0
	for w.now < 80*machine.Second {
		w.run(0, 100*machine.Millisecond)
		if w.now > 20*machine.Second {
			asked++
			if c.(Sharer).Shared(flows[0].sub, flows[1].sub) == shared {
				right++
			}
		}
	}
	return float64(right) / float64(asked)
}

// TestDetectionAccuracy holds the detectors to what they reach in a world of CUBIC flows.
func TestDetectionAccuracy(t *testing.T) {
	for _, c := range []struct {
		name   string
		shared bool
		other  Time // ms
		mark   int
		least  float64
	}{
		{"ba-mpcubic", true, 0, 30, 0.95},
		{"ba-mpcubic", false, 100, 30, 0.95},
		{"ba-mpcubic", false, 50, 30, 0.6}, // two queues that are marked at the same length move alike
		{"ba-mpcubic-noecn", true, 0, 0, 0.95},
		{"ba-mpcubic-noecn", false, 100, 0, 0.95},
		{"ba-mpcubic-noecn", false, 50, 0, 0.75},
		{"ferlin-mpcubic", true, 0, 0, 0.6},
		{"ferlin-mpcubic", false, 100, 0, 0.6},
	} {
		sum := 0.0
		for seed := range uint64(3) {
			sum += accuracy(seed, c.name, c.shared, c.other*machine.Millisecond, c.mark) / 3
		}
		t.Logf("%s, shared %v, %d ms: %.2f", c.name, c.shared, c.other, sum)
		if sum < c.least {
			t.Errorf("%s, shared %v: right %.2f of the time, want %.2f", c.name, c.shared, sum, c.least)
		}
	}
}
