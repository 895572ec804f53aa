package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

func TestNewest(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	for _, c := range []struct {
		what       string
		seq        uint64
		boot       uint32
		wants      stamp
		accepted   uint64
		known, bad uint64
	}{
		{"first", 5, 7, stamp{5, 7}, 1, 0, 0},
		{"again", 5, 7, stamp{5, 7}, 1, 1, 0},
		{"older", 4, 9, stamp{5, 7}, 1, 2, 0},
		{"same number, former life", 5, 6, stamp{5, 7}, 1, 3, 0},
		{"same number, later life", 5, 8, stamp{5, 8}, 2, 3, 0},
		{"newer", 6, 1, stamp{6, 1}, 3, 3, 0},
		{"impossible", 1 << 62, 1, stamp{6, 1}, 3, 3, 1},
	} {
		a := node(9, c.seq, []uint64{2})
		a.boot = c.boot
		s.send(says(a, 0))
		got, _ := r.holds(9)
		count := r.r.Counters()
		if got != c.wants || count.Accepted != c.accepted || count.Known != c.known || count.Drops[BadSequence] != c.bad {
			t.Errorf("%s: %+v, %+v", c.what, got, count)
		}
	}
}

// TestSummary: what a neighbour's summary lacks goes to it; what only it holds doesn't matter.
func TestSummary(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	for _, id := range []uint64{10, 20, 30, 40} {
		s.send(says(node(id, 5, []uint64{2}), 0))
	}
	r.run(200 * ms)
	s.thank(s.drain()...)
	to := r.linked(2, 3)
	to.send(lists(node(1, 99, nil), node(5, 1, nil), node(10, 5, nil), node(20, 4, nil), node(30, 6, nil), node(50, 1, nil)))
	if got := contents(to.drain()); !slices.Equal(got, []uint64{20, 40}) {
		t.Errorf("%v", got)
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t, Config{MaxNodes: 3, MaxBytes: 400})
	s := r.linked(1, 2)
	s.send(says(node(10, 1, nil), 0), says(node(11, 1, nil), 0), says(node(12, 1, nil), 0))
	if _, ok := r.holds(12); ok || r.dropped(TooManyNodes) != 1 {
		t.Error("a fourth node")
	}
	s.send(says(node(10, 2, nil, "/"+strings.Repeat("n", 400)), 0))
	if got, _ := r.holds(10); got.seq != 1 || r.dropped(DatabaseFull) != 1 {
		t.Errorf("%+v", got)
	}
	s.send(says(node(10, 3, []uint64{2}), 0))
	if got, _ := r.holds(10); got.seq != 3 {
		t.Errorf("%+v", got)
	}
}

// TestOneNeighbourFillsNoTable: one neighbour's prefixes leave room for another's, however many it brings, also under many names.
func TestOneNeighbourFillsNoTable(t *testing.T) {
	r := newRig(t, Config{MaxPrefixes: 1000})
	bad, good := r.linked(1, 2), r.linked(2, 3)
	many := func(id, seq uint64, n int) *advert {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("/%d/%03d", id, i)
		}
		return node(id, seq, nil, names...)
	}
	for id := range uint64(50) {
		bad.send(says(many(100+id, 1, 100), 0))
	}
	if r.r.names != 500 || r.dropped(TooManyNames) != 45 {
		t.Errorf("%d prefixes, %d refused", r.r.names, r.dropped(TooManyNames))
	}
	for id := range uint64(2) {
		good.send(says(many(10+id, 1, 100), 0))
	}
	if _, ok := r.holds(11); !ok {
		t.Error("the other neighbour finds no room")
	}
	bad.send(says(many(100, 2, 1), 0)) // less is always taken
	if got, _ := r.holds(100); got.seq != 2 || r.r.names != 601 {
		t.Errorf("%+v; %d prefixes", got, r.r.names)
	}
	good.send(says(many(100, 3, 100), 0)) // from another neighbour it is that one's
	if got, _ := r.holds(100); got.seq != 3 || r.r.brought[2] != 400 || r.r.brought[3] != 300 {
		t.Errorf("%+v; %v", got, r.r.brought)
	}
	for range 4 * 1900 {
		r.run(250 * ms)
	}
	if r.r.names != 0 || len(r.r.brought) != 0 {
		t.Errorf("all expired: %d prefixes, %v", r.r.names, r.r.brought)
	}
}

// TestExpiry: an advertisement lives for half an hour from its issue, however it has travelled.
func TestExpiry(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	minutes := func(n uint32) uint32 { return n * 60_000 }
	s.send(says(node(10, 1, nil), 0), says(node(11, 1, nil), minutes(29)), says(node(12, 1, nil), minutes(30)))
	if r.dropped(TooOld) != 1 {
		t.Error("an advertisement of 30 minutes is taken")
	}
	keep := func(d machine.Time) {
		for end := r.now + d; r.now < end; r.run(500 * ms) {
			s.drain()
			s.send()
		}
	}
	keep(59 * machine.Second)
	if _, ok := r.holds(11); !ok {
		t.Error("gone too soon")
	}
	keep(2 * machine.Second)
	if _, ok := r.holds(11); ok || r.r.Counters().Expired != 1 {
		t.Error("outlived its time")
	}
	s.send(says(node(10, 2, nil), 0))
	keep(1799 * machine.Second)
	if _, ok := r.holds(10); !ok {
		t.Error("renewed, and gone all the same")
	}
	if got, _ := r.holds(1); got.seq < 4 {
		t.Errorf("our own after half an hour: %+v", got)
	}
	keep(2 * machine.Second)
	if _, ok := r.holds(10); ok {
		t.Error("outlived its time")
	}
	s.send(says(node(13, 1, nil), 0)) // takes a slot that was used
	if len(r.r.slots) != 3 {
		t.Errorf("%d slots", len(r.r.slots))
	}
}

// TestNoGhostLinks: who takes the slot of an expired node doesn't take its links.
func TestNoGhostLinks(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	s.send(says(node(2, 1, []uint64{1, 10}), 0), says(node(10, 1, []uint64{2}, "/old"), 1_799_000))
	r.run(500 * ms)
	if got := r.r.Changes(nil); len(got) != 1 || got[0].Hops != 2 {
		t.Fatalf("%v", got)
	}
	s.send()
	r.run(600 * ms)
	if got := r.r.Changes(nil); len(got) != 1 || got[0].Hops != 0 {
		t.Fatalf("%v", got)
	}
	s.send(says(node(13, 1, nil, "/new"), 0))
	r.run(100 * ms)
	if got := r.r.Changes(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestAgeTravels: an advertisement never gets younger by travelling.
func TestAgeTravels(t *testing.T) {
	r := newRig(t, Config{})
	s, to := r.linked(1, 2), r.linked(2, 3)
	s.send(says(node(9, 1, nil), 100_000))
	for _, m := range to.drain() {
		for _, c := range m.adverts {
			if a, _, _ := decodeAdvert(c.body); a.origin == 9 && c.age <= 100_000 {
				t.Errorf("%d ms", c.age)
			}
		}
	}
}

// TestTrust: a forged advertisement is dropped; one with a prefix that isn't its origin's travels on without it.
func TestTrust(t *testing.T) {
	var seen []uint64
	r := newRig(t, Config{
		ID: 1, Relay: true,
		Sign: func(signed []byte) []byte { return []byte{signed[7], 0xaa} },
		Authentic: func(origin uint64, announcement []byte) bool {
			seen = append(seen, origin)
			_, signature, ok := Split(announcement)
			return ok && len(signature) == 0 && origin != 66
		},
		Verify: func(origin uint64, prefix wire.Name, announcement []byte) bool {
			return !prefix.Equal(name("/theirs")) && len(announcement) > 0
		},
	})
	s, to := r.linked(1, 2), r.linked(2, 3)
	s.send(says(node(2, 1, []uint64{1}, "/ours", "/theirs"), 0), says(node(66, 1, []uint64{2}), 0))
	r.run(200 * ms)
	if _, ok := r.holds(66); ok || r.dropped(Forged) != 1 || r.dropped(Unentitled) != 1 {
		t.Errorf("%v", r.r.Counters().Drops)
	}
	if !slices.Equal(seen, []uint64{2, 66}) {
		t.Errorf("asked about %v", seen)
	}
	if got := r.r.Changes(nil); len(got) != 1 || !got[0].Prefix.Equal(name("/ours")) {
		t.Errorf("%v", got)
	}
	sent := to.drain()
	if got := contents(sent); !slices.Contains(got, 2) || slices.Contains(got, 66) {
		t.Errorf("%v travel on", got)
	}
	for _, m := range sent {
		for _, c := range m.adverts {
			if a, _, _ := decodeAdvert(c.body); a.origin == 1 {
				if _, signature, _ := Split(c.body); string(signature) != "\x01\xaa" {
					t.Errorf("our signature: %x", signature)
				}
			}
		}
	}
}
