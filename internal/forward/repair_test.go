package forward

import (
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/wire"
)

// hop is two forwarders on one link that loses datagrams: a consumer's and a producer's.
type hop struct {
	t      *rapid.T
	now    machine.Time
	near   *Forwarder // its face 1 leads to far, 2 is an application
	far    *Forwarder // its face 1 leads to near, 2 is the producer
	flying []flying
	lose   func() bool
	sent   int
	got    map[string]int
}

type flying struct {
	at       machine.Time
	to       *Forwarder
	datagram []byte
}

const hopDelay = 5 * machine.Millisecond

func newHop(t *rapid.T, near Profile, lose func() bool) *hop {
	h := &hop{t: t, lose: lose, got: map[string]int{}}
	make := func(seed uint64, profile Profile) *Forwarder {
		fw := New(Config{Seed: seed, ID: seed, Relay: true, Strategy: BestRoute, Profile: profile})
		fw.FaceUp(0, 1, machine.Face{MTU: 1400})
		fw.FaceUp(0, 2, machine.Face{Local: true})
		return fw
	}
	h.near, h.far = make(1, near), make(2, ProfileMARS)
	h.near.AddRoute(wire.Name(nil).AppendString(wire.TypeGeneric, "a"), NextHop{Face: 1, Hops: 1})
	h.far.AddRoute(wire.Name(nil).AppendString(wire.TypeGeneric, "a"), NextHop{Face: 2})
	return h
}

// pump moves what is ready.
func (h *hop) pump() {
	buf := make([]byte, 9200)
	for _, fw := range []*Forwarder{h.near, h.far} {
		for again := true; again; {
			again = false
			for _, id := range fw.Ready(nil) {
				n, _ := fw.Transmit(h.now, id, buf)
				if n <= 0 {
					continue
				}
				again = true
				datagram := append([]byte(nil), buf[:n]...)
				switch {
				case id == 2 && fw == h.near:
					h.arrived(datagram)
				case id == 2:
					h.produce(datagram)
				default:
					h.sent++
					to := h.far
					if fw == h.far {
						to = h.near
					}
					if !h.lose() {
						h.flying = append(h.flying, flying{h.now + hopDelay, to, datagram})
					}
				}
			}
		}
	}
}

// produce answers an Interest with five fragments' worth of Data.
func (h *hop) produce(datagram []byte) {
	var p wire.Packet
	var i wire.Interest
	if p.Decode(datagram) != nil || i.Decode(p.Fragment) != nil {
		h.t.Fatal("the producer got no Interest")
	}
	d := wire.Data{Name: i.Name, Content: make([]byte, 6000), SignatureType: wire.SignatureNull}
	out := wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}
	h.far.Receive(h.now, 2, 0, out.Append(nil))
}

func (h *hop) arrived(datagram []byte) {
	var p wire.Packet
	var d wire.Data
	if p.Decode(datagram) == nil && d.Decode(p.Fragment) == nil {
		h.got[d.Name.String()]++
	}
}

// until runs the clock.
func (h *hop) until(end machine.Time) {
	for h.now < end {
		next := min(end, h.near.Deadline(), h.far.Deadline())
		for _, f := range h.flying {
			next = min(next, f.at)
		}
		h.now = max(next, h.now)
		rest := h.flying
		h.flying = nil
		for _, f := range rest {
			if f.at <= h.now {
				f.to.Receive(h.now, 1, 0, f.datagram)
			} else {
				h.flying = append(h.flying, f)
			}
		}
		h.near.Advance(h.now)
		h.far.Advance(h.now)
		h.pump()
	}
}

func (h *hop) ask(name wire.Name) {
	i := wire.Interest{Name: name, HasNonce: true, Nonce: uint32(h.now) + uint32(len(name)), Lifetime: 4000}
	p := wire.Packet{SizeHint: 6100, Fragment: i.Append(nil)}
	h.near.Receive(h.now, 2, 0, p.Append(nil))
	h.pump()
}

// TestRepair: on a hop that loses a tenth of all datagrams every answer comes, once, though nobody asks twice; afterwards nothing is held
// any more.
func TestRepair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.Uint64().Draw(t, "seed") | 1<<40
		lossless := true
		h := newHop(t, ProfileMARS, func() bool {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			return !lossless && random%10 == 0
		})
		prefix := wire.Name(nil).AppendString(wire.TypeGeneric, "a")
		h.ask(prefix.Clone().AppendNumber(wire.TypeSegment, 0)) // now the two know each other
		h.until(50 * machine.Millisecond)
		lossless = false
		const count = 40
		for n := range count {
			h.ask(prefix.Clone().AppendNumber(wire.TypeSegment, uint64(n+1)))
			h.until(h.now + machine.Millisecond)
		}
		h.until(h.now + 3*machine.Second)
		once := 0
		for name, n := range h.got {
			if n != 1 {
				t.Fatalf("%s came %d times", name, n)
			}
			once++
		}
		// After four losses of one fragment in a row nothing is left to repair: once in 10,000 fragments, so that one run in forty misses an
		// answer, and one in 400,000 three.
		if once < count-1 {
			t.Fatalf("%d of %d answers came", once, count+1)
		}
		for _, fw := range []*Forwarder{h.near, h.far} {
			r := &fw.faces.get(1).link.repair
			if len(r.resend) > 0 || r.n > 8 {
				t.Fatalf("%d fragments are remembered, %d to be sent again", r.n, len(r.resend))
			}
		}
	})
}

// TestRepairSpares: without losses nothing is sent again, and acknowledgements travel with what leaves anyway, or few in a packet.
func TestRepairSpares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHop(t, ProfileMARS, func() bool { return false })
		prefix := wire.Name(nil).AppendString(wire.TypeGeneric, "a")
		h.ask(prefix.Clone().AppendNumber(wire.TypeSegment, 0))
		h.until(50 * machine.Millisecond)
		h.sent = 0
		count := rapid.IntRange(1, 60).Draw(t, "count")
		for n := range count {
			h.ask(prefix.Clone().AppendNumber(wire.TypeSegment, uint64(n+1)))
			h.until(h.now + machine.Time(rapid.IntRange(0, 4).Draw(t, "ms"))*machine.Millisecond)
		}
		h.until(h.now + machine.Second)
		for _, fw := range []*Forwarder{h.near, h.far} {
			if l := &fw.faces.get(1).link; l.mended > 0 || l.repair.n > 0 {
				t.Fatalf("%d fragments were sent again, %d aren't acknowledged", l.mended, l.repair.n)
			}
		}
		// An Interest, five fragments, and at most an acknowledgement for each of these by itself.
		if h.sent > 8*count+8 {
			t.Fatalf("%d datagrams for %d chunks", h.sent, count)
		}
	})
}

// TestRepairDeaf: a neighbour of profile paper acknowledges nothing. Every answer comes once all the same, nothing is held for it in the
// end, and few fragments were sent twice before that was clear.
func TestRepairDeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHop(t, ProfilePaper, func() bool { return false })
		prefix := wire.Name(nil).AppendString(wire.TypeGeneric, "a")
		count := rapid.IntRange(deafAfter/5, deafAfter).Draw(t, "count")
		for n := range count {
			i := wire.Interest{Name: prefix.Clone().AppendNumber(wire.TypeSegment, uint64(n)), HasNonce: true, Nonce: uint32(n + 1), Lifetime: 4000}
			h.near.Receive(h.now, 2, 0, (&wire.Packet{SizeHint: 6100, Fragment: i.Append(nil)}).Append(nil))
			h.pump()
			h.until(h.now + machine.Time(rapid.IntRange(0, 20).Draw(t, "ms"))*machine.Millisecond)
		}
		h.until(h.now + machine.Second)
		if len(h.got) != count {
			t.Fatalf("%d of %d answers came", len(h.got), count)
		}
		l := &h.far.faces.get(1).link
		if count*5 > 2*deafAfter && (l.repair.on || l.repair.n > 0 || len(l.repair.resend) > 0) {
			t.Fatalf("%d fragments are held", l.repair.n)
		}
		if l.mended > 16 {
			t.Fatalf("%d fragments were sent twice", l.mended)
		}
	})
}
