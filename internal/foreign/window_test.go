package foreign

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestFillsThePath: with a queue of a round trip and more, the path is busy nearly all the time.
func TestFillsThePath(t *testing.T) {
	w := newWorld(t, newProducer("/f", 5000, 100))
	s := w.fetch(w.p.name)
	if least := 5000 * w.service; w.now > least*13/10 {
		t.Fatalf("%.2f s, the path takes %.2f s; %+v", w.now.Seconds(), least.Seconds(), s)
	}
	if w.dropped == 0 || s.Decreases == 0 {
		t.Fatalf("the queue never overflowed: %+v", s)
	}
	if s.Decreases > uint64(w.dropped) {
		t.Fatalf("%d losses, %d decreases", w.dropped, s.Decreases)
	}
}

// TestMarks: congestion marks hold the window before anything is lost.
func TestMarks(t *testing.T) {
	w := newWorld(t, newProducer("/f", 5000, 100))
	w.queue, w.mark = 400, 20
	s := w.fetch(w.p.name)
	if s.Marked == 0 || s.Decreases == 0 || s.Resent > 0 || w.dropped > 0 {
		t.Fatalf("%+v, %d dropped", s, w.dropped)
	}
	if w.longest > 100 {
		t.Fatalf("the queue grew to %d", w.longest)
	}
	if least := 5000 * w.service; w.now > least*13/10 {
		t.Fatalf("%.2f s, the path takes %.2f s", w.now.Seconds(), least.Seconds())
	}
}

// TestLoss: with lost packets everywhere the object still comes whole, and in order.
func TestLoss(t *testing.T) {
	for _, loss := range []float64{0.01, 0.1, 0.4} {
		w := newWorld(t, newProducer("/f", 600, 100))
		w.loss = loss
		if s := w.fetch(w.p.name); s.Resent == 0 {
			t.Fatalf("nothing was lost: %+v", s)
		}
	}
}

// TestOneDecreasePerRoundTrip: a burst of losses in one window is one congestion event.
func TestOneDecreasePerRoundTrip(t *testing.T) {
	w := newWorld(t, newProducer("/f", 400, 100))
	w.queue = 1000
	lost := map[uint64]bool{}
	w.change = func(i *wire.Interest, _ *wire.Packet, _ *wire.Data) bool {
		if _, _, n, ok := i.Name.SplitChunk(); ok && n >= 200 && n < 240 && n%4 == 0 && !lost[n] {
			lost[n] = true
			return false
		}
		return true
	}
	s := w.fetch(w.p.name)
	if len(lost) != 10 || s.Resent != 10 || s.Decreases != 1 {
		t.Fatalf("%d lost: %+v", len(lost), s)
	}
}

// TestOvertaken: a lost Interest is known by three later ones that were answered, long before its timeout.
func TestOvertaken(t *testing.T) {
	w := newWorld(t, newProducer("/f", 100, 100))
	w.service = 0
	var at, again machine.Time
	w.change = func(i *wire.Interest, _ *wire.Packet, _ *wire.Data) bool {
		if _, _, n, ok := i.Name.SplitChunk(); ok && n == 50 {
			if at == 0 {
				at = w.now
				return false
			}
			again = w.now
		}
		return true
	}
	w.fetch(w.p.name)
	if d := again - at; d <= 0 || d >= minRTO {
		t.Fatalf("sent again after %.3f s", d.Seconds())
	}
}

// TestSilence: while nothing comes at all, Interests become few, and afterwards many again.
func TestSilence(t *testing.T) {
	w := newWorld(t, newProducer("/f", 3000, 100))
	asked := 0
	w.change = func(*wire.Interest, *wire.Packet, *wire.Data) bool {
		if w.now < machine.Second || w.now > 11*machine.Second {
			return true
		}
		asked++
		return false
	}
	w.fetch(w.p.name)
	if asked == 0 || asked > 400 {
		t.Fatalf("%d Interests into ten seconds of silence", asked)
	}
}

// TestNacks: congestion upstream shrinks the window, and what was refused comes later.
func TestNacks(t *testing.T) {
	for _, reason := range []wire.NackReason{wire.NackCongestion, wire.NackDuplicate, wire.NackNoRoute, wire.NackNone} {
		w := newWorld(t, newProducer("/f", 300, 100))
		w.queue = 1000
		n := 0
		w.change = func(i *wire.Interest, out *wire.Packet, _ *wire.Data) bool {
			if _, _, segment, ok := i.Name.SplitChunk(); ok && segment%50 == 49 && n < 6 {
				n++
				return nack(reason)(i, out, nil)
			}
			return true
		}
		s := w.fetch(w.p.name)
		if shrank := s.Decreases > 0; n == 0 || shrank != (reason == wire.NackCongestion || reason == wire.NackNone) {
			t.Fatalf("reason %d: %+v", reason, s)
		}
	}
}

// TestBounded: an application that stores nothing is asked to hold MaxAhead segments and no more, and that isn't a stall.
func TestBounded(t *testing.T) {
	w := newWorld(t, newProducer("/f", 5000, 100))
	w.settle = false
	id := w.e.Start(0, Request{Name: w.p.name, Stall: machine.Second})
	if err := w.run(id); err == nil || err.Error() != "stuck" {
		t.Fatal(err)
	}
	if w.maxAhead != 1024 {
		t.Fatalf("asked for %d segments", w.maxAhead)
	}
}

// TestManyAtOnce: transfers don't mix, even of one object.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, newProducer("/f", 100, 100))
	other := w.e.Start(0, Request{Name: w.p.name})
	w.fetch(w.p.name)
	if s := w.e.Stats(other); s.Bytes == 0 {
		t.Fatalf("the other one starved: %+v", s)
	}
	w.e.Cancel(w.now, other)
	if w.e.Deadline() != machine.Never || len(w.e.Ready(nil)) > 0 {
		t.Fatal("something is left")
	}
}

func FuzzReceive(f *testing.F) {
	p := newProducer("/f", 3, 10)
	for n := range p.segments {
		d := p.data(p.base().AppendNumber(wire.TypeSegment, uint64(n)), p.segments[n], 2)
		f.Add(uint8(1), d.Append(nil), true)
	}
	meta := p.name.Clone().AppendString(wire.TypeKeyword, wire.KeywordMetadata)
	f.Add(uint8(0), p.data(meta.AppendChunk(7, 0), p.base().AppendTLV(nil), 0).Append(nil), false)
	f.Fuzz(func(t *testing.T, steps uint8, b []byte, versioned bool) {
		e := New(Config{Seed: 1, MaxAhead: 16})
		name := p.name
		if versioned {
			name = p.base()
		}
		id := e.Start(0, Request{Name: name})
		buf := make([]byte, 9000)
		now := machine.Time(0)
		for range steps%8 + 2 {
			for range 20 {
				if n, _ := e.Transmit(now, Face, buf); n == 0 {
					break
				}
			}
			for _, nack := range []bool{false, true} {
				out := wire.Packet{PitToken: []byte{0, 0, 0, 1, 0, 0}, Nack: nack, CongestionMark: uint64(steps & 1), Fragment: b}
				e.Receive(now, Face, 0, out.Append(nil))
			}
			for _, ev := range e.Events(nil) {
				if ev.Kind == Segment {
					e.Settle(now, id, ev.Data)
				}
			}
			now += machine.Second
			e.Advance(now)
		}
		if tr := e.transfer(id); tr != nil {
			flying, missing := 0, 0
			for n := tr.lowest; n < tr.highest; n++ {
				switch tr.slot(n).state {
				case inFlight:
					flying++
				case lost:
					missing++
				}
			}
			if flying != tr.lanes[0].inflight || missing != tr.losses || tr.highest-tr.lowest > 16 {
				t.Fatalf("%d of %d in flight, %d of %d lost, %d…%d", flying, tr.lanes[0].inflight, missing, tr.losses, tr.lowest, tr.highest)
			}
		}
	})
}
