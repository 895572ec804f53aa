package route

import (
	"fmt"
	"testing"

	"mars/internal/machine"
)

// contents are the origins whose advertisements are in messages.
func contents(list []message) (origins []uint64) {
	for _, m := range list {
		for _, c := range m.adverts {
			a, _, _ := decodeAdvert(c.body)
			origins = append(origins, a.origin)
		}
	}
	return origins
}

// TestRetransmission: what isn't acknowledged comes again, later each time, until it is.
func TestRetransmission(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	r.run(20 * ms)
	s.thank(s.drain()...)
	other := r.linked(2, 3)
	r.run(200 * ms) // our own advertisement has the new link
	s.thank(s.drain()...)
	other.thank(other.drain()...)
	other.send(says(node(9, 1, []uint64{3}, "/nine"), 0))
	var at []machine.Time
	var last message
	for r.now < 3*machine.Second {
		for _, m := range s.drain() {
			if len(m.adverts) > 0 {
				at, last = append(at, r.now), m
			}
		}
		s.send()
		other.send()
		r.run(5 * ms)
	}
	if len(at) < 4 || at[2]-at[1] <= at[1]-at[0] || at[3]-at[2] <= at[2]-at[1] {
		t.Fatalf("sent at %v", at)
	}
	s.thank(last)
	r.run(ms)
	for range 100 {
		if got := contents(s.drain()); len(got) > 0 {
			t.Fatalf("%v after it was acknowledged", got)
		}
		s.send()
		other.send()
		r.run(50 * ms)
	}
}

// TestImpliedAck: what a neighbour sends us it holds.
func TestImpliedAck(t *testing.T) {
	r := newRig(t, Config{})
	s, other := r.linked(1, 2), r.linked(2, 3)
	a := node(9, 1, []uint64{3}, "/nine")
	s.send(says(a, 0))
	other.send(says(a, 0))
	if got := contents(other.drain()); len(got) > 1 || len(got) == 1 && got[0] != 1 {
		t.Errorf("%v sent to a neighbour that holds 9", got)
	}
}

// TestAcksAreBatched: acknowledgements wait a little for each other.
func TestAcksAreBatched(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	for range 3 {
		s.send(acks())
	}
	if got := s.drain(); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	r.run(ackDelay)
	got := s.drain()
	if len(got) != 1 || len(got[0].acks) != 1 || string(got[0].acks[0]) != string(acks(s.number-2, s.number-1, s.number)[recordLen:]) {
		t.Fatalf("%+v", got)
	}
}

// TestWindow: a neighbour that acknowledges nothing gets a bounded number of messages.
func TestWindow(t *testing.T) {
	r := newRig(t, Config{})
	from := r.linked(1, 2)
	for i := range 400 {
		from.send(says(node(uint64(100+i), 1, []uint64{2}, fmt.Sprintf("/%0300d", i)), 0))
	}
	to := r.linked(2, 3)
	to.send(lists())
	first := to.drain()
	if len(first) > window {
		t.Errorf("%d messages", len(first))
	}
	got := len(contents(first))
	to.thank(first...)
	for more := to.drain(); len(more) > 0; more = to.drain() {
		got += len(contents(more))
		to.thank(more...)
	}
	if got != 401 { // and our own
		t.Errorf("%d advertisements", got)
	}
}

// TestSmallBuffer: a message that doesn't fit says how much it needs, and is kept.
func TestSmallBuffer(t *testing.T) {
	r := newRig(t, Config{})
	r.r.Announce(0, name("/a/long/prefix"))
	s := r.linked(1, 2)
	r.run(20 * ms)
	s.thank(s.drain()...)
	r.r.Announce(r.now, name("/b"))
	r.run(200 * ms)
	buf := make([]byte, 0, MaxMessage)
	n := r.r.Transmit(r.now, 1, buf)
	if n != -headerLen {
		t.Fatalf("%d", n)
	}
	n = r.r.Transmit(r.now, 1, buf[:headerLen])
	if n >= -headerLen {
		t.Fatalf("%d", n)
	}
	for try := 0; n < 0; try++ {
		if try > 3 {
			t.Fatal("never enough")
		}
		n = r.r.Transmit(r.now, 1, buf[:-n])
	}
	var m message
	if _, ok := m.decode(buf[:n]); !ok || len(contents([]message{m})) != 1 {
		t.Errorf("%x", buf[:n])
	}
}

// TestSummariesAreCut: a summary of many nodes takes several messages, and together they cover all ids once.
func TestSummariesAreCut(t *testing.T) {
	r := newRig(t, Config{})
	from := r.linked(1, 2)
	const nodes = 1000
	for i := range nodes {
		from.send(says(node(uint64(10*i+100), 1, []uint64{2}), 0))
	}
	to := r.stranger(2, 3, 7)
	to.hear()
	to.send()
	next, entries := uint64(0), 0
	for _, m := range to.drain() {
		for _, s := range m.summaries {
			if s.lo != next {
				t.Errorf("summary from %d, want %d", s.lo, next)
			}
			next = s.hi + 1
			entries += s.len()
		}
	}
	if next != 0 || entries != nodes+1 {
		t.Errorf("%d entries, next %d", entries, next)
	}
}

// TestSummaryIsRepeated: a summary that isn't acknowledged comes again, and not after it is.
func TestSummaryIsRepeated(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stranger(1, 2, 7)
	s.hear()
	s.send()
	s.drain() // lost
	var again []message
	for range 5 {
		r.run(100 * ms)
		s.send()
		for _, m := range s.drain() {
			if len(m.summaries) > 0 {
				again = append(again, m)
				s.thank(m)
			}
		}
	}
	if len(again) != 1 || again[0].summaries[0].span != everything {
		t.Errorf("%+v", again)
	}
}

// TestOtherFace: what is lost on one face to a neighbour goes by the next, before the first is known to be dead.
func TestOtherFace(t *testing.T) {
	r := newRig(t, Config{})
	first, second := r.linked(1, 2), r.linked(2, 2)
	from := r.linked(3, 3)
	r.run(200 * ms)
	first.thank(first.drain()...)
	second.thank(second.drain()...)
	from.send(says(node(9, 1, []uint64{3}), 0))
	if got := append(contents(first.drain()), contents(second.drain())...); len(got) != 1 || got[0] != 9 {
		t.Fatalf("%v: once is enough", got)
	}
	var by []machine.FaceID
	for range 4 {
		r.run(100 * ms)
		for _, s := range []*script{first, second, from} {
			s.send()
			if got := contents(s.drain()); len(got) > 0 && got[0] == 9 {
				by = append(by, s.face)
				s.thank()
			}
		}
	}
	if len(by) == 0 || by[0] != 2 {
		t.Errorf("again by faces %v", by)
	}
}
