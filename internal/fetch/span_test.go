package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// open resolves an object of which spans are to be fetched.
func (w *world) open(o *object) ID {
	w.t.Helper()
	id := w.start(o, Request{})
	w.apps[id].keep = true
	w.finish()
	if err := w.apps[id].err; err != nil {
		w.t.Fatalf("open: %v", err)
	}
	return id
}

// span begins to fetch a part of an object that was opened.
func (w *world) span(of ID, s Span) ID {
	w.t.Helper()
	id, ok := w.e.StartSpan(w.now, of, s)
	if !ok {
		w.t.Fatalf("no span %+v", s)
	}
	o := w.apps[of].o
	w.apps[id] = &app{o: o, left: s.End - s.First, got: make([]byte, o.manifest.Size), have: make([]bool, o.manifest.Chunks())}
	w.drain()
	return id
}

// part is what a span has brought, and what it should have.
func (w *world) part(id ID, s Span) (got, want []byte) {
	a := w.apps[id]
	size := int64(a.o.manifest.ChunkSize)
	from, to := s.First*size, min(s.End*size, a.o.manifest.Size)
	return a.got[from:to], a.o.content[from:to]
}

// TestSpans: a span asks for its chunks and their leaves, and for nothing else.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		size, chunk int
		span        Span
		leaves      int64
	}{
		{0, 0, Span{First: 0, End: 1}, 1},
		{9000, 0, Span{First: 1, End: 2}, 1},
		{2000, 1, Span{First: 0, End: 1}, 1},
		{2000, 1, Span{First: 249, End: 251}, 2},
		{2000, 1, Span{First: 250, End: 500}, 1},
		{2000, 1, Span{First: 1999, End: 2000}, 1},
		{2000, 1, Span{First: 0, End: 2000}, 8},
	} {
		t.Run(fmt.Sprintf("%d to %d of %d", c.span.First, c.span.End, c.size), func(t *testing.T) {
			o := newObject("/s/a", c.size, c.chunk, 1)
			w := newWorld(t, Config{}, o)
			of := w.open(o)
			clear(w.sent)
			id := w.span(of, c.span)
			w.finish()
			if got, want := w.part(id, c.span); w.apps[id].err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%v, %d bytes", w.apps[id].err, len(got))
			}
			if want := c.leaves + c.span.End - c.span.First; int64(len(w.sent)) != want {
				t.Errorf("%d Interests, want %d: %v", len(w.sent), want, w.order)
			}
			w.e.Cancel(w.now, of)
			w.clean()
		})
	}
}

func TestSpanOfNothing(t *testing.T) {
	o := newObject("/s/a", 100, 1, 1)
	w := newWorld(t, Config{}, o)
	of := w.open(o)
	for _, s := range []Span{{First: -1, End: 1}, {First: 1, End: 1}, {First: 2, End: 1}, {First: 0, End: 101}, {First: 100, End: 101}} {
		if _, ok := w.e.StartSpan(w.now, of, s); ok {
			t.Errorf("a span %+v of 100 chunks", s)
		}
	}
	if _, ok := w.e.StartSpan(w.now, of+1, Span{First: 0, End: 1}); ok {
		t.Error("a span of an unknown transfer")
	}
	w.e.Cancel(w.now, of)
	if _, ok := w.e.StartSpan(w.now, of, Span{First: 0, End: 1}); ok {
		t.Error("a span of a cancelled transfer")
	}
	w.clean()
}

// TestSpansImpairedProperty: several spans of one object at once, over any network, bring their bytes and go no further ahead
// than they may; then nothing is left of them.
func TestSpansImpairedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		o := newObject("/s/a", rapid.IntRange(1, 1500).Draw(t, "size"), 1, seed)
		w := newWorld(nil, Config{Seed: seed}, o)
		w.t = t
		of := w.open(o)
		impairments(t, w)
		n := o.manifest.Chunks()
		spans := make(map[ID]Span)
		for range rapid.IntRange(1, 4).Draw(t, "spans") {
			first := rapid.Int64Range(0, n-1).Draw(t, "first")
			s := Span{First: first, End: rapid.Int64Range(first+1, n).Draw(t, "end"), MaxAhead: rapid.Int64Range(0, 50).Draw(t, "ahead")}
			spans[w.span(of, s)] = s
		}
		w.finish()
		for id, s := range spans {
			switch got, want := w.part(id, s); {
			case w.apps[id].err != nil && !isOurs(w.apps[id].err):
				t.Fatalf("span %+v: %v", s, w.apps[id].err)
			case w.apps[id].err == nil && !bytes.Equal(got, want):
				t.Fatalf("span %+v: other bytes", s)
			}
		}
		w.e.Cancel(w.now, of)
		w.clean()
	})
}

// TestSpanNoticesAChange: an object that is replaced after it was opened isn't mixed with the new one.
func TestSpanNoticesAChange(t *testing.T) {
	o := newObject("/s/a", 100, 1, 1)
	w := newWorld(t, Config{}, o)
	of := w.open(o)
	w.p.objects[0] = newObject("/s/a", 100, 1, 2)
	id := w.span(of, Span{First: 5, End: 9})
	w.finish()
	if err := w.apps[id].err; !errors.Is(err, ErrChanged) {
		t.Fatalf("%v, want %v", err, ErrChanged)
	}
	w.e.Cancel(w.now, of)
	w.clean()
}

// TestOpenObjectNeverStalls: whoever opened an object may take its time.
func TestOpenObjectNeverStalls(t *testing.T) {
	o := newObject("/s/a", 100, 1, 1)
	w := newWorld(t, Config{}, o)
	of := w.open(o)
	w.until(w.now + 600*machine.Second)
	id := w.span(of, Span{First: 5, End: 9})
	w.finish()
	if got, want := w.part(id, Span{First: 5, End: 9}); !bytes.Equal(got, want) {
		t.Fatal("other bytes")
	}
}
