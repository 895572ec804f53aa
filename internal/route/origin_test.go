package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mars/internal/machine"
)

// ours is what the Router says of itself, as its map has it.
func (r *rig) ours() Node {
	for _, n := range r.r.Topology() {
		if n.ID == r.r.cfg.ID {
			return n
		}
	}
	return Node{}
}

func TestAnnounce(t *testing.T) {
	r := newRig(t, Config{})
	for _, n := range []string{"/b", "/a", "/b", "/"} {
		if !r.r.Announce(r.now, name(n)) {
			t.Errorf("%s refused", n)
		}
	}
	r.run(200 * ms)
	if got := fmt.Sprint(r.ours().Prefixes); got != "[/ /a /b]" {
		t.Error(got)
	}
	r.r.Withdraw(r.now, name("/a"))
	r.r.Withdraw(r.now, name("/never"))
	r.run(200 * ms)
	if got := fmt.Sprint(r.ours().Prefixes); got != "[/ /b]" {
		t.Error(got)
	}
	if r.r.Announce(r.now, name("/"+strings.Repeat("n", MaxName))) {
		t.Error("a long name")
	}
	accepted := 0
	for i := range MaxPrefixes + 10 {
		if r.r.Announce(r.now, name(fmt.Sprintf("/%d", i))) {
			accepted++
		}
	}
	if accepted != MaxPrefixes-2 || r.dropped(TooManyPrefixes) != 13 {
		t.Errorf("%d accepted, %d dropped", accepted, r.dropped(TooManyPrefixes))
	}
	r.run(200 * ms)
	if _, why, ok := decodeAdvert(r.r.slots[self].body); !ok {
		t.Error(why)
	}
}

// TestBytesOfPrefixes: names are bounded together too.
func TestBytesOfPrefixes(t *testing.T) {
	r := newRig(t, Config{})
	accepted := 0
	for i := range 20 {
		if r.r.Announce(r.now, name(fmt.Sprintf("/%0400d", i))) {
			accepted++
		}
	}
	if accepted != MaxNames/406 {
		t.Errorf("%d accepted", accepted)
	}
}

func TestTooManyNeighbours(t *testing.T) {
	r := newRig(t, Config{})
	for i := range MaxLinks + 1 {
		r.linked(machine.FaceID(i+1), uint64(i+2))
	}
	r.run(200 * ms)
	if got := len(r.ours().Links); got != MaxLinks || r.dropped(TooManyNeighbours) == 0 {
		t.Errorf("%d links", got)
	}
	if _, why, ok := decodeAdvert(r.r.slots[self].body); !ok {
		t.Error(why)
	}
}

// TestRestart: a node that returns with a new boot nonce overtakes what it said in its former life, even if that
// reached further.
func TestRestart(t *testing.T) {
	w := newWorld(1)
	w.build("ring", 5, relays)
	agree(t, w, 2*machine.Second)
	h := w.hosts[2]
	for i := range 20 { // sequence numbers
		h.announce(fmt.Sprintf("/more/%d", i))
		w.run(150 * ms)
	}
	agree(t, w, 2*machine.Second)
	h.names = []string{"/reborn"}
	w.version++
	h.restart()
	agree(t, w, 2*machine.Second)
	w.run(2 * machine.Second)
	if c := h.router.Counters(); c.Overtaken != 1 || c.Duplicates != 0 {
		t.Errorf("overtaken %d times, %d duplicates", c.Overtaken, c.Duplicates)
	}
}

// TestDuplicates: two nodes with one id are found out, and neither they nor the overlay spend much on it.
func TestDuplicates(t *testing.T) {
	for _, boots := range [][2]uint32{{5, 9}, {9, 5}, {7, 7}} {
		t.Run(fmt.Sprint(boots), func(t *testing.T) {
			w := newWorld(1)
			w.build("ring", 6, relays)
			for i, boot := range boots {
				h := w.add(Config{ID: 42, Boot: boot, Seed: uint64(i), Relay: true}, fmt.Sprintf("/double/%d", i))
				w.join(h, w.hosts[3*i])
			}
			w.run(300 * ms)
			w.hosts[6].announce("/double/more") // else equal nonces stay in step, and unnoticed
			w.run(10 * machine.Second)
			issued := w.total(func(c Counters) uint64 { return c.Issued })
			changes := w.changes
			w.run(300 * machine.Second)
			if again := w.total(func(c Counters) uint64 { return c.Issued }) - issued; again > 30 {
				t.Errorf("%d advertisements in 300 s", again)
			}
			if again := w.changes - changes; again > 500 { // a few of each face and minute
				t.Errorf("%d changes in 300 s", again)
			}
			if w.total(func(c Counters) uint64 { return c.Duplicates }) == 0 {
				t.Error("nobody noticed")
			}
			// The one that has the name goes on with it, and the other lets it.
			w.run(20 * machine.Second)
			for _, h := range w.hosts[6:] {
				h.announce("/double/late")
			}
			issued = w.total(func(c Counters) uint64 { return c.Issued })
			w.run(5 * machine.Second)
			if again := w.total(func(c Counters) uint64 { return c.Issued }) - issued; again > 2 {
				t.Errorf("%d advertisements for one change", again)
			}
			w.run(60 * machine.Second)
			if again := w.total(func(c Counters) uint64 { return c.Issued }) - issued; again > 5 {
				t.Errorf("%d advertisements until the other has asked again", again)
			}
			want := w.hosts[0].router.slots[w.hosts[0].router.slotOf[42]].stamp
			for _, h := range w.hosts {
				if got := h.router.slots[h.router.slotOf[42]].stamp; got != want {
					t.Errorf("host %d holds %v, host 0 %v", h.index, got, want)
				}
			}
			for _, h := range w.hosts[:6] { // among the others, by their faces 1 and 2, all is well
				for k, hops := range h.oracle() {
					if k.face <= 2 && !strings.Contains(k.prefix, "double") && h.table[k] != hops {
						t.Errorf("%s", h)
					}
				}
				for k, hops := range h.table {
					if boots[0] != boots[1] && k.face == 3 && hops != 1 {
						t.Errorf("%d hops to %s by a face that leads to one node alone", hops, k.prefix)
					}
				}
			}
			// When the other is gone, the name is free within a minute.
			w.hosts[7].ends[1].cable.setCut(true)
			w.hosts[7].names = nil
			w.hosts[7].restart()
			w.hosts[7].frozen = true
			w.version++
			agree(t, w, 70*machine.Second)
		})
	}
}

// keep runs for d with a neighbour that acknowledges everything.
func (s *script) keep(d machine.Time) {
	for end := s.now + d; s.now < end; s.run(500 * ms) {
		s.thank(s.drain()...)
		s.send()
	}
}

// TestForgedSequence: a forger who uses up all sequence numbers silences a node for seconds: what nobody honest says lapses soon.
func TestForgedSequence(t *testing.T) {
	for _, seq := range []uint64{highSeq, maxSeq - 1} {
		r := newRig(t, Config{})
		s := r.linked(1, 2)
		s.send(says(node(1, seq, []uint64{2}, "/stolen"), 0))
		s.keep(9 * machine.Second)
		if got := r.ours(); got.Seq != seq {
			t.Errorf("%+v", got)
		}
		s.keep(3 * machine.Second)
		if got := r.ours(); got.Seq == 0 || got.Seq > 3 || len(got.Prefixes) != 0 {
			t.Errorf("%+v", got)
		}
		s.send(says(node(9, seq, []uint64{2}), 0))
		if s.keep(11 * machine.Second); r.r.Counters().Expired != 2 {
			t.Error("another's lapses, too")
		}
	}
}

// TestForgeryLapsesEverywhere: in a network with delays all nodes are back at what the origin says soon after.
func TestForgeryLapsesEverywhere(t *testing.T) {
	w := newWorld(4)
	w.near, w.far = 5*ms, 40*ms
	w.build("ring", 8, relays)
	agree(t, w, 3*machine.Second)
	victim, forger := w.hosts[0], w.hosts[4]
	forged := node(victim.cfg.ID, maxSeq-1, nil, "/stolen")
	forger.router.install(mustAdvert(t, forged), forger.router.now, forger.cfg.ID)
	forger.router.flood(forger.router.slotOf[victim.cfg.ID])
	forger.pump()
	w.run(3 * machine.Second)
	if w.agrees() {
		t.Error("the forgery had no effect")
	}
	w.run(9 * machine.Second)
	agree(t, w, 3*machine.Second)
}

func mustAdvert(t *testing.T, a *advert) *advert {
	got, _, ok := decodeAdvert(a.encoded())
	if !ok {
		t.Fatal("doesn't decode")
	}
	return got
}

// TestSilentLeaf: a leaf without prefixes says nothing of itself, and reaches all the same what others announce; when its last
// prefix goes it says so, and is forgotten within a minute.
func TestSilentLeaf(t *testing.T) {
	w := newWorld(1)
	w.build("ring", 4, relays)
	leaf := w.plain(false)
	w.join(leaf, w.hosts[0])
	agree(t, w, 2*machine.Second)
	known := func() bool {
		_, ok := w.hosts[2].router.slotOf[leaf.cfg.ID]
		return ok
	}
	if known() || leaf.router.Counters().Issued != 0 || len(leaf.table) != 5 {
		t.Errorf("%d advertisements of the leaf; %s", leaf.router.Counters().Issued, leaf)
	}
	leaf.announce("/own")
	if agree(t, w, 2*machine.Second); !known() {
		t.Error("a leaf with a prefix isn't in the map")
	}
	leaf.withdraw("/own")
	agree(t, w, 2*machine.Second)
	if w.run(70 * machine.Second); known() || leaf.router.Deadline() > w.now+machine.Second {
		t.Error("a leaf that announces nothing any more is still in the map")
	}
	leaf.announce("/again")
	if agree(t, w, 2*machine.Second); !known() {
		t.Error("it doesn't come back")
	}
}

// TestIssueRate: however fast we change, what we say of it is bounded.
func TestIssueRate(t *testing.T) {
	r := newRig(t, Config{})
	r.run(500 * ms)
	before := r.r.Counters().Issued
	for i := range 1000 {
		r.r.Announce(r.now, name(fmt.Sprintf("/%d", i%100)))
		r.run(ms)
		r.r.Withdraw(r.now, name(fmt.Sprintf("/%d", i%100)))
	}
	if got := r.r.Counters().Issued - before; got > 11 {
		t.Errorf("%d advertisements in a second", got)
	}
}

// TestReannounce: with another signature the same is announced again, and only then.
func TestReannounce(t *testing.T) {
	signature := "one"
	r := newRig(t, Config{ID: 1, Boot: 1, Relay: true, Sign: func([]byte) []byte { return []byte(signature) }})
	s := r.linked(1, 2)
	// signatures are those of the announcements in the next 600 ms.
	signatures := func() (all []string) {
		for range 6 {
			r.run(100 * ms)
			s.send() // it lives
			list := s.drain()
			for _, m := range list {
				for _, c := range m.adverts {
					_, said, _ := Split(c.body)
					all = append(all, string(said))
				}
			}
			s.thank(list...)
		}
		return all
	}
	signatures()
	signature = "two"
	r.r.Announce(r.now, name("/a"))
	r.r.Withdraw(r.now, name("/a"))
	if got := signatures(); len(got) != 0 {
		t.Errorf("announcements that say nothing new: %q", got)
	}
	r.r.Reannounce(r.now)
	if got := signatures(); !slices.Equal(got, []string{"two"}) {
		t.Errorf("announcements %q", got)
	}
}
