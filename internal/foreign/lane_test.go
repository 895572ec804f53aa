package foreign

import (
	"testing"

	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// start begins to fetch what the producer has, over all paths under one controller.
func (w *world) start(algorithm string) ID {
	w.t.Helper()
	a, err := cc.Lookup(algorithm)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := a.New(wire.ChunkSize)
	if err != nil {
		w.t.Fatal(err)
	}
	r := Request{Name: w.p.name, Coupled: c}
	for i := range w.paths {
		r.Faces = append(r.Faces, machine.FaceID(i+1))
	}
	return w.e.Start(w.now, r)
}

func (w *world) whole(id ID) Stats {
	w.t.Helper()
	if err := w.run(id); err != nil {
		w.t.Fatal(err)
	}
	if n := len(w.p.segments) * len(w.p.segments[0]); w.got.Len() != n {
		w.t.Fatalf("%d bytes came of %d", w.got.Len(), n)
	}
	return w.e.Stats(id)
}

func twoPaths() []path {
	a := path{delay: 20 * machine.Millisecond, service: machine.Millisecond, queue: 60}
	b := path{delay: 40 * machine.Millisecond, service: 2 * machine.Millisecond, queue: 60}
	return []path{a, b}
}

// TestPathsAddUp: whatever the controller, two paths carry more than the better one alone could.
func TestPathsAddUp(t *testing.T) {
	for _, a := range cc.Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			w := newWorld(t, newProducer("/f", 12_000, 100))
			w.paths = twoPaths()
			w.whole(w.start(a.Name))
			if alone := 12_000 * machine.Millisecond; w.now > alone*9/10 {
				t.Errorf("%.2f s, the better path alone takes %.2f s; asked %d and %d", w.now.Seconds(), alone.Seconds(), w.paths[0].asked, w.paths[1].asked)
			}
		})
	}
}

// TestCoupled: on paths that lose at random, LIA leaves the worse one to others; uncoupled windows don't.
func TestCoupled(t *testing.T) {
	part := map[string]float64{}
	for _, name := range []string{"reno", "lia"} {
		w := newWorld(t, newProducer("/f", 6000, 100))
		w.paths = make([]path, 2)
		for i := range w.paths {
			w.paths[i] = path{delay: 40 * machine.Millisecond, service: 1, queue: 1000, loss: 0.002}
		}
		w.paths[1].loss = 0.02
		w.whole(w.start(name))
		part[name] = float64(w.paths[1].asked) / float64(w.paths[0].asked+w.paths[1].asked)
	}
	if part["lia"] > part["reno"]*0.7 {
		t.Fatalf("the worse path carried %.2f with LIA, %.2f with Reno", part["lia"], part["reno"])
	}
}

// TestPathDies: what was asked for over a path that dies comes over the other one, and the path is used again when it lives.
func TestPathDies(t *testing.T) {
	w := newWorld(t, newProducer("/f", 10_000, 100))
	w.paths = twoPaths()
	w.paths[0].service = 2 * machine.Millisecond
	silence, late := 0, 0
	w.change = func(*wire.Interest, *wire.Packet, *wire.Data) bool {
		switch dead := w.now > machine.Second && w.now < 6*machine.Second; {
		case dead && !w.paths[1].dead:
			w.paths[1].dead = true
		case !dead && w.paths[1].dead:
			w.paths[1].dead = false
			silence, late = w.paths[1].asked, w.paths[1].asked
		}
		late = w.paths[1].asked
		return true
	}
	before := 0
	id := w.start("cubic")
	w.e.Limit(0, 0)
	w.whole(id)
	if silence == 0 || late-silence < 1000 {
		t.Fatalf("asked %d before, %d when it lived again, %d at the end", before, silence, late)
	}
	if least := 12_500 * machine.Millisecond; w.now > least*13/10 { // 5 s at one segment per 2 ms, else two
		t.Fatalf("%.2f s, the paths take %.2f s", w.now.Seconds(), least.Seconds())
	}
}

// TestPathDeadFromTheStart: the object comes over the one that lives, at nearly its rate.
func TestPathDeadFromTheStart(t *testing.T) {
	for dead := range 2 {
		w := newWorld(t, newProducer("/f", 5000, 100))
		w.paths = twoPaths()
		w.paths[dead].dead = true
		w.whole(w.start("lia"))
		if least := 5000 * w.paths[1-dead].service; w.now > least*14/10 {
			t.Fatalf("path %d dead: %.2f s, the other takes %.2f s", dead, w.now.Seconds(), least.Seconds())
		}
		if n := w.paths[dead].asked; n > 20 {
			t.Fatalf("%d Interests to a dead path", n)
		}
	}
}

// TestOutageOfAll: when every path has been silent, any of them may be the first to answer.
func TestOutageOfAll(t *testing.T) {
	w := newWorld(t, newProducer("/f", 3000, 100))
	w.paths = twoPaths()
	w.change = func(*wire.Interest, *wire.Packet, *wire.Data) bool {
		return w.now < machine.Second || w.now > 6*machine.Second
	}
	w.whole(w.start("olia"))
}

// TestLaneNacks: a face without a route is left alone for a while; a transfer fails when no face has any.
func TestLaneNacks(t *testing.T) {
	w := newWorld(t, newProducer("/f", 500, 100))
	w.paths = twoPaths()
	w.change = func(i *wire.Interest, out *wire.Packet, d *wire.Data) bool {
		if w.delay == w.paths[1].delay {
			return nack(wire.NackNoRoute)(i, out, d)
		}
		return true
	}
	w.whole(w.start("cubic"))
	if w.paths[1].asked > 100 {
		t.Errorf("%d Interests to a face without a route", w.paths[1].asked)
	}
	w = newWorld(t, newProducer("/f", 500, 100))
	w.paths = twoPaths()
	w.change = func(i *wire.Interest, out *wire.Packet, d *wire.Data) bool {
		if _, _, _, ok := i.Name.SplitChunk(); ok {
			return nack(wire.NackNoRoute)(i, out, d)
		}
		return true
	}
	if err := w.run(w.start("cubic")); err != ErrNoRoute {
		t.Errorf("no route at all: %v", err)
	}
}
