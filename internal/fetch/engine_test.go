package fetch

import (
	"errors"
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
	"pgregory.net/rapid"
)

// TestSizes fetches objects of every shape: one chunk or many, one leaf or several, one piece of the top list or several.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		size, chunk int
		shape       string // chunks, leaves, top segments
	}{
		{0, 0, "1 1 1"},
		{1, 0, "1 1 1"},
		{7999, 0, "1 1 1"},
		{8000, 0, "1 1 1"},
		{8001, 0, "2 1 1"},
		{250 * 8000, 0, "250 1 1"},
		{250*8000 + 1, 0, "251 2 1"},
		{1000, 1, "1000 4 1"},
		{250*250 + 1, 1, "62501 251 2"},
	} {
		t.Run(fmt.Sprintf("%d in chunks of %d", c.size, c.chunk), func(t *testing.T) {
			o := newObject("/s/a", c.size, c.chunk, 1)
			l := o.manifest.Layout
			if got := fmt.Sprint(l.Chunks(), l.Leaves(), l.TopSegments()); got != c.shape {
				t.Fatalf("shape %s, want %s", got, c.shape)
			}
			w := newWorld(t, Config{}, o)
			w.start(o, Request{})
			w.succeed()
			for label, n := range w.sent {
				if n != 1 {
					t.Errorf("%s was asked for %d times on a perfect network", label, n)
				}
			}
			if want := 1 + l.Segments() + l.Chunks(); int64(len(w.sent)) != want {
				t.Errorf("%d Interests, want %d", len(w.sent), want)
			}
		})
	}
}

// impairments draws a network that loses, duplicates, corrupts, refuses and reorders up to 10% of everything.
func impairments(t *rapid.T, w *world) {
	p := rapid.Float64Range(0, 0.1)
	w.lose, w.duplicate, w.corrupt = p.Draw(t, "lose"), p.Draw(t, "duplicate"), p.Draw(t, "corrupt")
	w.nack, w.say = p.Draw(t, "nack"), p.Draw(t, "refuse")
	w.delay = machine.Time(rapid.Int64Range(0, int64(100*ms)).Draw(t, "delay"))
	w.jitter = machine.Time(rapid.Int64Range(0, int64(200*ms)).Draw(t, "jitter"))
	w.settle = machine.Time(rapid.Int64Range(0, int64(50*ms)).Draw(t, "settle"))
}

// TestImpairedProperty: over any network that lets something through every transfer ends with each chunk delivered once
// and verified, or with an error of ours; the engine never hangs, never spins and forgets everything; and the same seed
// sends the same bytes at the same times.
func TestImpairedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		chunkSize := rapid.SampledFrom([]int{1, 7, 100, 8000}).Draw(t, "chunk size")
		most := min(60_000, 600*chunkSize)
		var objects []*object
		for i := range rapid.IntRange(1, 4).Draw(t, "objects") {
			size := rapid.IntRange(0, most).Draw(t, "size")
			objects = append(objects, newObject(fmt.Sprintf("/s%d/o%d", i%2, i), size, chunkSize, seed+uint64(i)))
		}
		cfg := Config{Seed: seed, MaxUnsettled: rapid.IntRange(1, 300).Draw(t, "unsettled")}
		request := Request{MaxAhead: rapid.Int64Range(0, 50).Draw(t, "ahead")}
		shape := *newWorld(nil, cfg)
		impairments(t, &shape)
		claims := rapid.SampledFrom([]int64{0, 1, 3}).Draw(t, "claims")
		wrong := rapid.Int64Range(1, 5).Draw(t, "wrong claims")
		run := func() *world {
			w := newWorld(nil, cfg, objects...)
			w.t = t
			w.lose, w.duplicate, w.corrupt, w.nack, w.say = shape.lose, shape.duplicate, shape.corrupt, shape.nack, shape.say
			w.delay, w.jitter, w.settle = shape.delay, shape.jitter, shape.settle
			for _, o := range objects {
				id := w.start(o, request)
				if claims > 0 {
					w.apps[id].claimed = func(i int64) bool { return i%claims == 0 }
					w.apps[id].right = func(i int64) bool { return i%wrong != 0 }
				}
			}
			w.finish()
			return w
		}
		w := run()
		for id, a := range w.apps {
			switch {
			case a.err == nil && string(a.got) != string(a.o.content):
				t.Fatalf("transfer %d: other bytes", id)
			case a.err != nil && !isOurs(a.err):
				t.Fatalf("transfer %d: %v", id, a.err)
			case a.most > cfg.MaxUnsettled:
				t.Fatalf("transfer %d: %d chunks were out at once, of %d allowed", id, a.most, cfg.MaxUnsettled)
			}
		}
		w.clean()
		if again := run(); string(again.trace.Sum(nil)) != string(w.trace.Sum(nil)) {
			t.Fatal("the same seed sent something else")
		}
	})
}

func isOurs(err error) bool {
	for _, e := range []error{ErrNotFound, ErrNoRoute, ErrTimeout, ErrChanged, ErrIntegrity, ErrForeign, ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// TestManySmallObjects fetches a thousand objects of one producer at once: the questions don't burst, everything comes, and
// everything comes once.
func TestManySmallObjects(t *testing.T) {
	var objects []*object
	for i := range 1000 {
		objects = append(objects, newObject(fmt.Sprintf("/s/o%d", i), i%20_000, 0, uint64(i)))
	}
	w := newWorld(t, Config{}, objects...)
	for _, o := range objects {
		w.start(o, Request{})
		if w.e.questions.open > maxOpen {
			t.Fatalf("%d questions at once", w.e.questions.open)
		}
	}
	w.succeed()
	for label, n := range w.sent {
		if n != 1 {
			t.Errorf("%s was asked for %d times on a perfect network", label, n)
		}
	}
}

// TestCancel: a cancelled transfer leaves nothing behind, at whatever moment.
func TestCancel(t *testing.T) {
	o := newObject("/s/a", 3_000_000, 0, 1)
	for _, at := range []machine.Time{0, 10 * ms, 20 * ms, 30 * ms, 45 * ms, 70 * ms, 300 * ms, 900 * ms} {
		w := newWorld(t, Config{}, o)
		w.lose, w.settle = 0.1, 5*ms
		id := w.start(o, Request{})
		w.until(at)
		w.e.Cancel(w.now, id)
		w.apps[id].over = true
		for w.step() { // what was on its way comes to nobody
		}
		w.clean()
		if s := w.e.Stats(id); s != (Stats{}) {
			t.Errorf("at %v: %+v is left", at, s)
		}
	}
}

// TestStats: the figures of a transfer, while it runs, when it is over, and once it is cancelled.
func TestStats(t *testing.T) {
	o := newObject("/s/a", 800_000, 0, 1)
	w := newWorld(t, Config{}, o)
	id := w.start(o, Request{})
	w.apps[id].claimed = func(i int64) bool { return i < 10 }
	w.apps[id].right = func(i int64) bool { return i != 3 }
	w.until(100 * ms)
	s := w.e.Stats(id)
	if s.Bytes == 0 || s.Bytes == 800_000 || s.InFlight == 0 || s.RTT != 20*ms || s.Rate < initialRate || s.Window < initialWindow {
		t.Errorf("under way: %+v", s)
	}
	w.succeed()
	if s := w.e.Stats(id); s.Bytes != 800_000 || s.Resumed != 72_000 || s.Corrupt != 0 || s.Resent != 0 || s.RTT != 20*ms {
		t.Errorf("over: %+v", s)
	}
	w.e.Cancel(w.now, id)
	if s := w.e.Stats(id); s != (Stats{}) {
		t.Errorf("cancelled: %+v", s)
	}
}

// TestBuffers: the engine doesn't write into a small buffer, and says so only when it has something to send.
func TestSmallBuffer(t *testing.T) {
	e := New(Config{Src: source})
	small := make([]byte, wire.MaxPacket-1)
	if n, _ := e.Transmit(0, Face, small); n != 0 {
		t.Errorf("nothing to send: %d", n)
	}
	e.Start(0, Request{Name: wire.MustParseName("/s/a")})
	if n, _ := e.Transmit(0, Face, small); n != -wire.MaxPacket {
		t.Errorf("something to send: %d", n)
	}
	if n, _ := e.Transmit(0, Face, make([]byte, wire.MaxPacket)); n <= 0 {
		t.Errorf("it wasn't kept: %d", n)
	}
}

// TestLongNames: a name that no packet carries fails at once, and the longest one that fits is asked for.
func TestLongNames(t *testing.T) {
	for _, c := range []struct {
		length int
		ok     bool
	}{{maxName, true}, {maxName + 1, false}, {20_000, false}} {
		e := New(Config{Src: source})
		name := wire.Name(nil).Append(wire.TypeGeneric, make([]byte, c.length-4))
		if len(name) != c.length {
			t.Fatal(len(name))
		}
		e.Start(0, Request{Name: name})
		n, _ := e.Transmit(0, Face, make([]byte, wire.MaxPacket))
		events := e.Events(nil)
		if c.ok != (n > 0) || c.ok != (len(events) == 0) {
			t.Errorf("%d bytes: sends %d, events %v", c.length, n, events)
		}
		if !c.ok && !errors.Is(events[0].Err, ErrNotFound) {
			t.Errorf("%d bytes: %v", c.length, events[0].Err)
		}
	}
}
