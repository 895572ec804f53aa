package route

import (
	"fmt"
	"testing"

	"mars/internal/machine"
)

func ExampleRouter_Changes() {
	a := New(Config{ID: 1, Boot: 1, Relay: true})
	b := New(Config{ID: 2, Boot: 2})
	b.Announce(0, name("/b"))
	a.FaceUp(0, 1)
	b.FaceUp(0, 1)

	var buf [MaxMessage]byte
	for now := machine.Time(0); now < machine.Second; now += machine.Millisecond {
		a.Advance(now)
		b.Advance(now)
		for len(a.Ready(nil))+len(b.Ready(nil)) > 0 {
			if n := a.Transmit(now, 1, buf[:]); n > 0 {
				b.Receive(now, 1, buf[:n])
			}
			if n := b.Transmit(now, 1, buf[:]); n > 0 {
				a.Receive(now, 1, buf[:n])
			}
		}
	}
	for _, c := range a.Changes(nil) {
		fmt.Println(c.Prefix, "by face", c.Face, "in", c.Hops)
	}
	// Output: /b by face 1 in 1
}

// TestAnycast: with several origins the nearest counts, through each neighbour, and the next one when it goes.
func TestAnycast(t *testing.T) {
	w := newWorld(1)
	for i := range 6 {
		w.plain(true, fmt.Sprintf("/%d", i))
		if i > 0 {
			w.join(w.hosts[i-1], w.hosts[i])
		}
	}
	w.join(w.hosts[5], w.hosts[0])
	w.hosts[1].announce("/any")
	w.hosts[3].announce("/any")
	agree(t, w, 2*machine.Second)
	any := string(name("/any"))
	h := w.hosts[0]
	if h.table[route{any, 1}] != 1 || h.table[route{any, 2}] != 3 {
		t.Fatalf("%s", h)
	}
	w.hosts[1].withdraw("/any")
	agree(t, w, 2*machine.Second)
	if h.table[route{any, 1}] != 3 || h.table[route{any, 2}] != 3 {
		t.Fatalf("%s", h)
	}
	w.hosts[3].withdraw("/any")
	agree(t, w, 2*machine.Second)
	if h.table[route{any, 1}] != 0 {
		t.Fatalf("%s", h)
	}
}

// TestOnlyChanges: what is reported is the difference to what was reported before, and no more.
func TestOnlyChanges(t *testing.T) {
	r := newRig(t, Config{})
	s, other := r.linked(1, 2), r.linked(2, 3)
	tell := func(what string, want string) {
		t.Helper()
		for range 20 {
			s.send()
			other.send()
			r.run(10 * ms)
		}
		if got := fmt.Sprint(r.r.Changes(nil)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
	}
	s.send(says(node(2, 1, []uint64{1}, "/a", "/b"), 0))
	tell("a neighbour", "[{/a 1 1} {/b 1 1}]")
	s.send(says(node(2, 2, []uint64{1}, "/a", "/b"), 0))
	tell("refreshed", "[]")
	s.send(says(node(2, 3, []uint64{1, 3}, "/b", "/c"), 0))
	tell("other prefixes", "[{/a 1 0} {/c 1 1}]")
	other.send(says(node(3, 1, []uint64{1, 2}, "/d"), 0))
	tell("another neighbour, linked to the first", "[{/d 1 2} {/d 2 1} {/b 2 2} {/c 2 2}]")
	if len(r.r.table.prefixes) != 3 {
		t.Errorf("the number of /a isn't used again: %d", len(r.r.table.prefixes))
	}
	s.send(says(node(2, 4, []uint64{1, 3}), 0))
	s.send(says(node(2, 5, []uint64{1, 3}, "/b", "/c"), 0))
	tell("there and back", "[]")
	r.r.FaceDown(r.now, 2)
	if got := fmt.Sprint(r.r.Changes(nil)); got != "[{/d 2 0} {/b 2 0} {/c 2 0}]" {
		t.Errorf("a face goes: %s", got)
	}
	tell("and its link is ours no more, but the first neighbour's", "[]")
}

// TestRootPrefix: the empty name is a prefix like others.
func TestRootPrefix(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	for seq, want := range []string{"[{/ 1 1}]", "[{/ 1 0}]", "[{/ 1 1}]"} {
		a := node(2, uint64(seq+1), []uint64{1})
		if seq != 1 {
			a = node(2, uint64(seq+1), []uint64{1}, "/")
		}
		s.send(says(a, 0))
		r.run(20 * ms)
		if got := fmt.Sprint(r.r.Changes(nil)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
