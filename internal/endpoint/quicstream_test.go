package endpoint

import (
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// TestOutStream: whatever is lost and acknowledged, each byte is sent until it has been acknowledged, never beyond the limit, and lost
// ones go first.
func TestOutStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 400).Draw(t, "size")
		s := newOutStream(size, rapid.Int64Range(0, size).Draw(t, "limit"))
		var flying []gap
		acked := make([]bool, size)
		for range 400 {
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1:
				lost := len(s.again.later) > 0
				next := s.next
				g := s.take(rapid.IntRange(1, 60).Draw(t, "n"))
				if g.from >= g.to {
					if s.fresh() {
						t.Fatal("nothing to send, though there is")
					}
					continue
				}
				if g.to > s.limit || lost && g.from >= next && len(s.again.later) > 0 {
					t.Fatalf("%v with a limit of %d", g, s.limit)
				}
				flying = append(flying, g)
			case 2, 3:
				if len(flying) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
				g := flying[i]
				flying = append(flying[:i], flying[i+1:]...)
				if rapid.Bool().Draw(t, "arrives") {
					s.ack(g)
					for k := g.from; k < g.to; k++ {
						acked[k] = true
					}
				} else {
					s.lose(g)
					if rapid.Bool().Draw(t, "spurious") {
						flying = append(flying, g)
					}
				}
			case 4:
				s.limit = max(s.limit, rapid.Int64Range(0, size).Draw(t, "more"))
			}
		}
		s.limit = size
		for _, g := range flying {
			s.lose(g)
		}
		for s.wants() {
			g := s.take(50)
			for k := g.from; k < g.to; k++ {
				if acked[k] {
					t.Fatalf("byte %d again, though it has come", k)
				}
				acked[k] = true
			}
			s.ack(g)
		}
		for k, ok := range acked {
			if !ok {
				t.Fatalf("byte %d was never sent", k)
			}
		}
		if !s.complete() {
			t.Fatal("not complete")
		}
	})
}

// TestInWindow: the window doubles, up to the buffer, while it is used up within four round trips, and not for a slow sender.
func TestInWindow(t *testing.T) {
	for _, c := range []struct {
		every machine.Time // 100 kB are read
		rtt   machine.Time
		want  int64
	}{{10 * quicMS, 100 * quicMS, 4 << 20}, {200 * quicMS, 100 * quicMS, firstWindow}, {50 * quicMS, 0, firstWindow}} {
		w := newInWindow(4 << 20)
		told := 0
		for i := range int64(400) {
			now := machine.Time(i) * c.every
			before := (i + 1) * 100_000
			was := w.limit
			if w.read(now, before, c.rtt) {
				told++
			}
			if w.limit < was || w.limit < before {
				t.Fatalf("a limit of %d after %d, with %d read", w.limit, was, before)
			}
		}
		if w.size != c.want || told == 0 || told > 350 {
			t.Errorf("every %d ms: a window of %d, told %d times", c.every/quicMS, w.size, told)
		}
	}
}

// TestQUICFlowControl: a small buffer holds the sender to a window per round trip, without losses or timeouts; the limit is never passed;
// a lost MAX_DATA is repeated.
func TestQUICFlowControl(t *testing.T) {
	how := quicHow(t, "cubic")
	how.Buffer = 50_000
	l := &quicLink{rate: 1e7, delay: 50 * quicMS}
	w := newQUICWorld(t, 1, how, 1_000_000, l)
	for w.done == 0 && w.step(60*machine.Second) {
		if c := w.client(); w.got > 0 && w.server().out.next > c.forAll.limit {
			t.Fatalf("%d bytes sent with a limit of %d", w.server().out.next, c.forAll.limit)
		}
	}
	w.whole()
	// 20 windows, one per 100 ms and a quarter: a new limit is told when a quarter of the window has been read.
	if s := w.done.Seconds(); s < 2.2 || s > 3.1 {
		t.Errorf("%.2f s", s)
	}
	if s := w.server().sum; s.Lost+s.Timeouts != 0 {
		t.Errorf("%+v", s)
	}
	l = &quicLink{rate: 1e7, delay: 50 * quicMS}
	stalled := machine.Time(0)
	l.drop = func(way, _ int, b []byte) bool { return way == toServer && w.now > 500*quicMS && w.now < 900*quicMS }
	w = newQUICWorld(t, 1, how, 1_000_000, l)
	last := w.now
	for w.done == 0 && w.step(60*machine.Second) {
		if got := w.got; got > 0 {
			before := w.got
			if w.step(60 * machine.Second); w.got > before {
				stalled, last = max(stalled, w.now-last), w.now
			}
		}
	}
	w.whole()
	if stalled < 300*quicMS || stalled > 1500*quicMS {
		t.Errorf("stalled for %d ms", stalled/quicMS)
	}
}

// TestQUICAutotune: over a path with much in flight the window grows beyond its first size, and doesn't hold the sender back.
func TestQUICAutotune(t *testing.T) {
	l := &quicLink{rate: 2.5e7, delay: 40 * quicMS, queue: 100 * quicMS} // 2 MB in flight
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 60_000_000, l).run(60 * machine.Second)
	w.whole()
	if size := w.client().forAll.size; size < 2<<20 {
		t.Errorf("a window of %d bytes", size)
	}
	if s := w.done.Seconds(); s > 1.35*60/25 {
		t.Errorf("%.2f s", s)
	}
}

// TestQUICFlowViolation: data beyond the limit end the connection.
func TestQUICFlowViolation(t *testing.T) {
	how := quicHow(t, "cubic")
	how.Buffer = 50_000
	w := newQUICWorld(t, 1, how, 1_000_000, &quicLink{rate: 1e7, delay: 10 * quicMS, drop: nthTo(toClient, 120)})
	w.at(100*quicMS, func() {
		c := w.server()
		c.out.limit, c.streamLimit, c.allLimit = 1_000_000, 1_000_000, 1_000_000
	})
	w.run(10 * machine.Second)
	if w.err == nil || w.client().code != closeFlow {
		t.Errorf("error %v, code %d", w.err, w.client().code)
	}
}

// TestOutStreamLate: what arrives after it was taken for lost isn't sent again.
func TestOutStreamLate(t *testing.T) {
	s := newOutStream(50, 50)
	s.lose(s.take(30))
	s.ack(gap{10, 20})
	for _, want := range []gap{{0, 8}, {8, 10}, {20, 28}, {28, 30}, {30, 38}} {
		if got := s.take(8); got != want {
			t.Fatalf("%v in place of %v", got, want)
		}
	}
	s.lose(gap{5, 25}) // a part of which has come
	if got := []gap{s.take(8), s.take(8)}; got[0] != (gap{5, 10}) || got[1] != (gap{20, 25}) {
		t.Error(got)
	}
}
