package route

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// agree runs until every table is what the oracle says, and fails unless that is so within limit.
func agree(t interface {
	Helper()
	Fatalf(string, ...any)
}, w *world, limit machine.Time,
) machine.Time {
	t.Helper()
	took := w.until(20*machine.Millisecond, limit, w.agrees)
	if took < 0 {
		t.Fatalf("no agreement within %v s: %s", limit.Seconds(), w.wrong())
	}
	if len(w.problems) > 0 {
		t.Fatalf("%v", w.problems)
	}
	// A shortest path visits no node twice, so a higher count would be one on its way to infinity.
	if w.tallest >= len(w.hosts) {
		t.Fatalf("%d hops among %d nodes", w.tallest, len(w.hosts))
	}
	return took
}

func TestShapes(t *testing.T) {
	for _, shape := range shapes {
		for n := 1; n <= 12; n++ {
			t.Run(fmt.Sprintf("%s of %d", shape, n), func(t *testing.T) {
				w := newWorld(uint64(n))
				w.build(shape, n, relays)
				agree(t, w, 2*machine.Second)
			})
		}
	}
}

// TestLeafIsNoTransit: a leaf between two relays is reached, and leads nowhere.
func TestLeafIsNoTransit(t *testing.T) {
	w := newWorld(1)
	a, leaf, b := w.plain(true, "/a"), w.plain(false, "/leaf"), w.plain(true, "/b")
	w.join(a, leaf)
	w.join(leaf, b)
	w.run(2 * machine.Second)
	for _, h := range []*host{a, b} {
		if len(h.table) != 1 || h.table[route{string(name("/leaf")), 1}] != 1 {
			t.Errorf("%s", h)
		}
	}
	if len(leaf.table) != 2 {
		t.Errorf("the leaf itself uses both: %s", leaf)
	}
}

// TestParallelFaces: every face to a neighbour is a way of its own, and the link lives as long as one of them.
func TestParallelFaces(t *testing.T) {
	w := newWorld(1)
	a, b, c := w.plain(true, "/a"), w.plain(true, "/b"), w.plain(true, "/c")
	first, second := w.join(a, b), w.join(a, b)
	w.join(b, c)
	agree(t, w, 2*machine.Second)
	if len(a.table) != 4 {
		t.Fatalf("/b and /c by two faces: %s", a)
	}
	issued := func(c Counters) uint64 { return c.Issued }
	before := w.total(issued)
	first.setCut(true)
	if took := agree(t, w, 2*machine.Second); took >= machine.Second {
		t.Errorf("%v s", took.Seconds())
	}
	if now := w.total(issued); now != before {
		t.Errorf("%d advertisements, though no link is gone", now-before)
	}
	second.ends[0].set(false)
	if len(a.table) != 0 {
		t.Errorf("routes by faces that are gone: %s", a)
	}
	agree(t, w, 2*machine.Second)
}

// TestOneWay: a link that carries one direction is none.
func TestOneWay(t *testing.T) {
	w := newWorld(1)
	a, b := w.plain(true, "/a"), w.plain(true, "/b")
	c := w.join(a, b)
	agree(t, w, machine.Second)
	c.ends[1].up = false // what a sends is lost, and b doesn't know
	w.run(900 * machine.Millisecond)
	if len(a.table)+len(b.table) > 0 {
		t.Errorf("%s\n%s", a, b)
	}
	if id, up := a.router.Neighbour(1); id != b.cfg.ID || up {
		t.Errorf("a hears %d, up %v", id, up)
	}
	if id, up := b.router.Neighbour(1); id != 0 || up {
		t.Errorf("b hears %d, up %v", id, up)
	}
	c.ends[1].up = true
	agree(t, w, machine.Second)
}

// TestConvergence: a face that falls silent is out of every table within a second ("Route" of the design).
func TestConvergence(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(seed)
		w.build("random", 50, relays)
		agree(t, w, 2*machine.Second)
		var worst machine.Time
		for range 4 {
			w.run(machine.Second + machine.Time(w.random.Int64N(int64(machine.Second))))
			w.wires[w.random.IntN(len(w.wires))].setCut(true)
			worst = max(worst, agree(t, w, 5*machine.Second))
		}
		t.Logf("seed %d: %v s from silence to agreement at most", seed, worst.Seconds())
		if worst >= machine.Second {
			t.Errorf("seed %d: %v s", seed, worst.Seconds())
		}
	}
}

// TestChaos: whatever happens to faces, processes and packets, once it stops the tables are the oracle's, though
// packets are still lost, doubled and reordered.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(t, "seed"))
		w.loss = float64(rapid.IntRange(0, 10).Draw(t, "loss, %")) / 100
		w.duplicates = float64(rapid.IntRange(0, 10).Draw(t, "duplicates, %")) / 100
		w.far = machine.Time(rapid.IntRange(1, 60).Draw(t, "delay, ms")) * machine.Millisecond
		leaves := rapid.IntRange(0, 2).Draw(t, "leaves of 4")
		w.build(rapid.SampledFrom(shapes).Draw(t, "shape"), rapid.IntRange(2, 12).Draw(t, "nodes"),
			func(i int) bool { return i%4 < leaves })
		for range rapid.IntRange(0, 10).Draw(t, "events") {
			w.run(machine.Time(rapid.IntRange(0, 1500).Draw(t, "pause, ms")) * machine.Millisecond)
			w.disturb(t)
		}
		agree(t, w, 20*machine.Second)
		w.run(4 * machine.Second) // frozen processes return, and what was lost on them is noticed
		agree(t, w, 20*machine.Second)
		if w.loss == 0 { // and then nothing moves
			changes := w.changes
			w.run(5 * machine.Second)
			if w.changes != changes {
				t.Fatalf("%d changes after agreement", w.changes-changes)
			}
		}
	})
}

// disturb lets one thing happen.
func (w *world) disturb(t *rapid.T) {
	h := w.hosts[rapid.IntRange(0, len(w.hosts)-1).Draw(t, "host")]
	c := w.wires[rapid.IntRange(0, len(w.wires)-1).Draw(t, "cable")]
	switch rapid.SampledFrom([]string{"cut", "heal", "face", "restart", "freeze", "partition", "announce", "withdraw"}).Draw(t, "event") {
	case "cut":
		c.setCut(true)
	case "heal":
		for _, c := range w.wires {
			c.setCut(false)
		}
	case "face":
		e := c.ends[rapid.IntRange(0, 1).Draw(t, "end")]
		e.set(!e.up)
	case "restart":
		h.restart()
	case "freeze":
		if !h.frozen {
			h.freeze(machine.Time(rapid.IntRange(1, 3000).Draw(t, "for, ms")) * machine.Millisecond)
		}
	case "partition":
		for _, c := range w.wires {
			c.setCut(c.ends[0].host.index%2 != c.ends[1].host.index%2)
		}
	case "announce":
		h.announce("/any")
	case "withdraw":
		if len(h.names) > 0 {
			h.withdraw(h.names[0])
		}
	}
}

// TestDeterminism: the same seed gives the same messages.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64) uint64 {
		w := newWorld(seed)
		w.trace = newTrace()
		w.loss, w.duplicates = 0.05, 0.05
		w.build("random", 15, func(i int) bool { return i%5 == 0 })
		w.run(2 * machine.Second)
		w.hosts[3].restart()
		w.wires[4].setCut(true)
		w.run(3 * machine.Second)
		return w.trace.Sum64()
	}
	first := run(1)
	if again := run(1); first != again {
		t.Error("two runs differ")
	}
	if first == run(2) {
		t.Error("the seed changes nothing")
	}
}
