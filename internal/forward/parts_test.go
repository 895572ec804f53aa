package forward

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestWheel compares the timing wheel with the obvious: every entry fires once, never early, at most a tick late.
func TestWheel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w wheel
		due := map[*entry]machine.Time{}
		now := machine.Time(0)
		entries := make([]*entry, 0, 50)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "action") {
			case 0:
				e := &entry{expiry: now + machine.Time(rapid.Int64Range(0, int64(30*machine.Second)).Draw(t, "life"))}
				entries = append(entries, e)
				due[e] = e.expiry
				w.arm(e)
			case 1:
				if len(entries) > 0 {
					e := rapid.SampledFrom(entries).Draw(t, "entry")
					if e.armed { // renewed
						e.expiry += machine.Time(rapid.Int64Range(0, int64(5*machine.Second)).Draw(t, "more"))
						due[e] = e.expiry
						w.arm(e)
					}
				}
			case 2:
				if len(entries) > 0 {
					e := rapid.SampledFrom(entries).Draw(t, "entry")
					w.disarm(e)
					delete(due, e)
				}
			default:
				now += machine.Time(rapid.Int64Range(0, int64(12*machine.Second)).Draw(t, "pause"))
			}
			w.advance(now, func(e *entry) {
				if at, ok := due[e]; !ok || at > now {
					t.Fatalf("fired at %v, due %v (%v)", now, at, ok)
				}
				delete(due, e)
			})
			next := machine.Never
			for e, at := range due {
				if at+2*wheelTick <= now {
					t.Fatalf("due %v, not fired at %v", at, now)
				}
				next = min(next, at)
				_ = e
			}
			if w.n != len(due) || w.deadline() < now-wheelTick || (next != machine.Never && w.deadline() > next+2*wheelTick) {
				t.Fatalf("%d armed, %d due; deadline %v, next %v", w.n, len(due), w.deadline(), next)
			}
		}
	})
}

// TestReassembly: fragments of several packets, written or lent, in any order, with duplicates: each packet comes out once and
// whole, and what was lent goes home once.
func TestReassembly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r reassembler
		var bufs pool
		type piece struct {
			p    wire.Packet
			tail machine.Part
		}
		lend, home := rapid.Bool().Draw(t, "lent"), 0
		var lents []*machine.Lent
		var pieces []piece
		var bodies [][]byte
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		seq := rapid.Uint64().Draw(t, "sequence")
		for k := range rapid.IntRange(1, reassemblySlots).Draw(t, "packets") {
			body := make([]byte, rapid.IntRange(2, 8800).Draw(t, "size"))
			for i := range body {
				body[i] = byte(rng.Uint32())
			}
			bodies = append(bodies, body)
			lent := &machine.Lent{Bytes: body, Home: func(*machine.Lent) { home++ }}
			lents = append(lents, lent.Hold())
			n := rapid.IntRange(2, min(len(body), wire.MaxFragments)).Draw(t, "fragments")
			for i := range n {
				p := wire.Packet{Sequence: seq, HasSequence: true, FragIndex: uint64(i), FragCount: uint64(n)}
				p.Fragment = body[i*len(body)/n : (i+1)*len(body)/n]
				p.PitToken = []byte{byte(k)}
				var tail machine.Part
				if lend && rng.IntN(20) > 0 {
					tail = machine.Part{Of: lent, From: i * len(body) / n, To: (i + 1) * len(body) / n}
				}
				pieces = append(pieces, piece{p, tail})
				seq++
			}
		}
		if rapid.Bool().Draw(t, "duplicates") {
			pieces = append(pieces, pieces[rng.IntN(len(pieces))])
		}
		if rapid.Bool().Draw(t, "shuffled") {
			rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		}
		seen := make([]bool, len(bodies))
		for _, p := range pieces {
			hdr, whole, _ := r.add(0, &p.p, p.tail, &bufs)
			if hdr == nil {
				continue
			}
			k := int(hdr.PitToken[0])
			if seen[k] || !bytes.Equal(whole.wire, bodies[k]) {
				t.Fatalf("packet %d came out wrong or twice", k)
			}
			seen[k] = true
			bufs.drop(whole)
		}
		for k, ok := range seen {
			if !ok {
				t.Fatalf("packet %d never came out", k)
			}
		}
		r.reset(&bufs) // what a duplicate began
		for _, l := range lents {
			l.Release()
		}
		if home != len(lents) {
			t.Fatalf("%d of %d came home", home, len(lents))
		}
	})
}

// TestReassemblyBounds: packets that never end cost a bounded number of buffers, and are forgotten in time.
func TestReassemblyBounds(t *testing.T) {
	var r reassembler
	var bufs pool
	for i := range uint64(1000) {
		p := wire.Packet{Sequence: i * 10, HasSequence: true, FragIndex: 0, FragCount: 2, Fragment: []byte("half")}
		r.add(machine.Time(i)*machine.Millisecond, &p, machine.Part{}, &bufs)
	}
	used := 0
	for i := range r.slots {
		if r.slots[i].used {
			used++
		}
	}
	if used != reassemblySlots || len(bufs.free) > 1 {
		t.Errorf("%d slots in use, %d buffers free", used, len(bufs.free))
	}
	p := wire.Packet{Sequence: 9991, HasSequence: true, FragIndex: 1, FragCount: 2, Fragment: []byte("late")}
	if hdr, _, _ := r.add(2*machine.Second, &p, machine.Part{}, &bufs); hdr != nil {
		t.Error("a packet was completed after its time-out")
	}
}

// TestFIB: longest prefix first; next hops by hops, then face; withdrawal.
func TestFIB(t *testing.T) {
	f := newFIB()
	n := wire.MustParseName
	f.add(nil, NextHop{Face: 9, Hops: 1})
	f.add(n("/a"), NextHop{Face: 2, Hops: 3})
	f.add(n("/a"), NextHop{Face: 1, Hops: 3})
	f.add(n("/a"), NextHop{Face: 3, Hops: 1})
	f.add(n("/a/b/c"), NextHop{Face: 4, Hops: 1})
	for _, c := range []struct {
		name string
		want []NextHop
	}{
		{"/x", []NextHop{{Face: 9, Hops: 1}}},
		{"/a", []NextHop{{Face: 3, Hops: 1}, {Face: 1, Hops: 3}, {Face: 2, Hops: 3}}},
		{"/a/b", []NextHop{{Face: 3, Hops: 1}, {Face: 1, Hops: 3}, {Face: 2, Hops: 3}}},
		{"/a/b/c/d", []NextHop{{Face: 4, Hops: 1}}},
	} {
		got := f.lookup(n(c.name))
		if len(got) != len(c.want) {
			t.Errorf("%s → %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s → %v, want %v", c.name, got, c.want)
			}
		}
	}
	f.add(n("/a"), NextHop{Face: 3, Hops: 7}) // replaced, not doubled
	f.remove(n("/a"), 1)
	if got := f.lookup(n("/a")); len(got) != 2 || got[1] != (NextHop{Face: 3, Hops: 7}) {
		t.Errorf("after a change: %v", got)
	}
	f.remove(n("/a/b/c"), 4)
	f.remove(nil, 9)
	if got := f.lookup(n("/x")); got != nil {
		t.Errorf("after withdrawal: %v", got)
	}
}

// TestConfiguredRouteStays: a configured route is a candidate for what a longer prefix leads elsewhere, but the last one; not beside
// an application here, and not when its face has a way of its own.
func TestConfiguredRouteStays(t *testing.T) {
	f := newFIB()
	n := wire.MustParseName
	f.add(nil, NextHop{Face: 1, Hops: 2, Static: true})
	f.add(nil, NextHop{Face: 2, Hops: 2, Static: true})
	f.add(n("/a"), NextHop{Face: 3, Hops: 4})
	f.add(n("/a"), NextHop{Face: 2, Hops: 5})
	f.add(n("/own"), NextHop{Face: 9})
	for _, c := range []struct {
		name string
		want []NextHop
	}{
		{"/a/b", []NextHop{{Face: 3, Hops: 4}, {Face: 2, Hops: 5}, {Face: 1, Hops: unknownHops, Static: true}}},
		{"/own/b", []NextHop{{Face: 9}}},
		{"/x", []NextHop{{Face: 1, Hops: 2, Static: true}, {Face: 2, Hops: 2, Static: true}}},
	} {
		if got := f.lookup(n(c.name)); !slices.Equal(got, c.want) {
			t.Errorf("%s → %v, want %v", c.name, got, c.want)
		}
	}
	f.remove(nil, 1)
	f.add(nil, NextHop{Face: 2, Hops: 2})
	if got := f.lookup(n("/a")); len(got) != 2 || f.statics != 0 {
		t.Errorf("%v, %d configured", got, f.statics)
	}
	d := newDiscovery(1, 1, topLabel, true, []NextHop{{Face: 3, Hops: 4}, {Face: 1, Hops: unknownHops, Static: true}}, Config{})
	if p := d.find(1); p == nil || p.tier != 1 || !d.open(p, 5) || d.room != stretch(4, Detours) {
		t.Errorf("discovery has %+v", d.probes)
	}
}
