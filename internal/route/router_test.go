package route

import (
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// settled fails unless w reaches what the oracle says within limit.
func settled(t interface {
	Helper()
	Fatalf(string, ...any)
}, w *world, limit machine.Time,
) machine.Time {
	t.Helper()
	took := w.until(20*machine.Millisecond, limit, w.agrees)
	if took < 0 {
		t.Fatalf("no agreement after %v s: %s", limit.Seconds(), w.disagreement())
	}
	if len(w.problems) > 0 {
		t.Fatalf("%v", w.problems)
	}
	if w.tallest > len(w.hosts) {
		t.Fatalf("%d hops among %d nodes", w.tallest, len(w.hosts))
	}
	return took
}

func TestShapes(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			w := newWorld(1)
			w.build(shape, 12, relays)
			t.Log(settled(t, w, 3*machine.Second))
		})
	}
}

// TestConvergence: a face that falls silent is out of every table within a second (house rules, "Route").
func TestConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(t, "seed"))
		w.build("random", 50, relays)
		settled(t, w, 5*machine.Second)
		w.run(machine.Time(w.random.Int64N(int64(machine.Second))))
		c := w.wires[w.random.IntN(len(w.wires))]
		c.cut = true
		if took := settled(t, w, 5*machine.Second); took >= machine.Second {
			t.Fatalf("%v s from silence to agreement", took.Seconds())
		}
	})
}
