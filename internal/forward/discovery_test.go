package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

const testTimeout = 100 * machine.Millisecond

func fixedTimeout(machine.FaceID) machine.Time { return testTimeout }

// relayDiscovery is discovery at a relay, whose face 9 leads downstream, with next hops numbered from 1.
func relayDiscovery(mode DiscoveryMode, hops ...int) *discovery {
	next := make([]NextHop, 0, len(hops))
	for i, h := range hops {
		next = append(next, NextHop{Face: machine.FaceID(i + 1), Hops: h})
	}
	return newDiscovery(1, 1, wire.Label{Hops: uint16(hops[0]), Hash: 50}, false, next, Config{Discovery: mode})
}

// probeAt sends a probe that came from downstream and returns the face that it leaves by.
func (d *discovery) probeAt(now machine.Time, index int) machine.FaceID {
	return d.onProbe(now, 9, index, maxHops, fixedTimeout)
}

// eventTable is the table of protocol.md §5.3: every event in every state of a face. Tries is what the face has had; probe says
// whether the next probe goes by it.
var eventTable = []struct {
	event    string
	from, to probeState
	tries    int
	probe    bool
}{
	{"probe", unsent, inFlight, 0, true},
	{"probe", inFlight, inFlight, 1, true}, // nothing else is known: don't refuse what may succeed
	{"probe", acked, acked, 1, true},       // round robin
	{"probe", dead, dead, 3, false},
	{"probe", looped, looped, 1, false},

	{"probe, face not within what it may go", unsent, unsent, 0, false},
	{"probe, face not within what it may go", inFlight, inFlight, 1, false},
	{"probe, face not within what it may go", acked, acked, 1, false},
	{"probe, face not within what it may go", dead, dead, 3, false},
	{"probe, face not within what it may go", looped, looped, 1, false},

	{"probe from this face", unsent, looped, 0, false}, // its node is above us
	{"probe from this face", inFlight, looped, 1, false},
	{"probe from this face", acked, acked, 1, false},
	{"probe from this face", dead, looped, 3, false},
	{"probe from this face", looped, looped, 1, false},

	{"data", unsent, acked, 0, true}, // after its timeout
	{"data", inFlight, acked, 1, true},
	{"data", acked, acked, 1, true},
	{"data", dead, acked, 3, true}, // very late
	{"data", looped, looped, 1, false},

	{"nack loop", unsent, looped, 0, false},
	{"nack loop", inFlight, looped, 1, false},
	{"nack loop", acked, looped, 1, false},
	{"nack loop", dead, looped, 3, false},
	{"nack loop", looped, looped, 1, false},

	{"nack duplicate", unsent, looped, 0, false},
	{"nack duplicate", inFlight, looped, 1, false},
	{"nack duplicate", acked, looped, 1, false},
	{"nack duplicate", dead, looped, 3, false},
	{"nack duplicate", looped, looped, 1, false},

	{"nack noroute", unsent, dead, 0, false},
	{"nack noroute", inFlight, dead, 1, false},
	{"nack noroute", acked, dead, 1, false},
	{"nack noroute", dead, dead, 3, false},
	{"nack noroute", looped, looped, 1, false},

	{"nack congestion", unsent, unsent, 0, true}, // says nothing of the path
	{"nack congestion", inFlight, inFlight, 1, true},
	{"nack congestion", acked, acked, 1, true},
	{"nack congestion", dead, dead, 3, false},
	{"nack congestion", looped, looped, 1, false},

	{"timeout", unsent, unsent, 0, true},
	{"timeout", inFlight, unsent, 1, true},
	{"timeout", inFlight, unsent, 2, true},
	{"timeout", inFlight, dead, 3, false},
	{"timeout", acked, acked, 1, true},
	{"timeout", dead, dead, 3, false},
	{"timeout", looped, looped, 1, false},

	{"transmission answered", unsent, unsent, 0, true},
	{"transmission answered", inFlight, inFlight, 1, true},
	{"transmission answered", acked, acked, 1, true},
	{"transmission answered", dead, unsent, 3, true},
	{"transmission answered", looped, looped, 1, false},
}

func TestEventsAndStates(t *testing.T) {
	for _, c := range eventTable {
		t.Run(fmt.Sprintf("%s in %v", c.event, c.from), func(t *testing.T) {
			d := relayDiscovery(Detours, 3)
			p := &d.probes[0]
			p.state, p.tries, p.deadline = c.from, c.tries, testTimeout
			sent, probed := apply(d, c.event)
			if p.state != c.to {
				t.Errorf("became %v, wanted %v", p.state, c.to)
			}
			if !probed {
				sent = d.probeAt(1, 0)
			}
			if (sent == 1) != c.probe {
				t.Errorf("a probe leaves by face %d", sent)
			}
		})
	}
}

// apply makes an event of face 1 happen; if it is a probe, it returns the face that it left by.
func apply(d *discovery, event string) (sent machine.FaceID, probed bool) {
	switch event {
	case "probe":
		return d.probeAt(1, 0), true
	case "probe, face not within what it may go":
		return d.onProbe(1, 9, 0, 2, fixedTimeout), true
	case "probe from this face":
		return d.onProbe(1, 1, 0, maxHops, fixedTimeout), true
	case "data":
		d.onData(1, 0, maxHops, wire.Convergence{Tier: true})
	case "nack loop":
		d.onNack(1, wire.NackLoop)
	case "nack duplicate":
		d.onNack(1, wire.NackDuplicate)
	case "nack noroute":
		d.onNack(1, wire.NackNoRoute)
	case "nack congestion":
		d.onNack(1, wire.NackCongestion)
	case "timeout":
		d.expire(testTimeout)
	case "transmission answered":
		d.onTransmission(1)
	default:
		panic(event)
	}
	return 0, false
}

// TestFlagsCombine: a node of two faces in its only tier says TierConv when each is settled and said so, NodeConv likewise.
func TestFlagsCombine(t *testing.T) {
	T, N := wire.Convergence{Tier: true}, wire.Convergence{Tier: true, Node: true}
	type face struct {
		state probeState
		said  wire.Convergence
	}
	for _, c := range []struct {
		a, b face
		want wire.Convergence
	}{
		{face{acked, N}, face{acked, N}, N},
		{face{acked, N}, face{acked, T}, T},
		{face{acked, T}, face{acked, T}, T},
		{face{acked, N}, face{acked, wire.Convergence{}}, wire.Convergence{}},
		{face{acked, wire.Convergence{Node: true}}, face{acked, N}, N}, // NodeConv implies TierConv
		{face{acked, N}, face{unsent, wire.Convergence{}}, wire.Convergence{}},
		{face{acked, N}, face{inFlight, wire.Convergence{}}, wire.Convergence{}},
		{face{acked, N}, face{dead, wire.Convergence{}}, N},   // not waited for
		{face{acked, N}, face{looped, wire.Convergence{}}, N}, // nor this one
		{face{acked, T}, face{looped, wire.Convergence{}}, T},
	} {
		d := relayDiscovery(Detours, 2, 2)
		d.first, d.room = 0, maxHops
		for i, f := range []face{c.a, c.b} {
			if f.state == acked {
				d.onData(machine.FaceID(i+1), 0, maxHops, f.said)
			}
			d.probes[i].state = f.state
		}
		if got := d.flags(0, maxHops); got != c.want {
			t.Errorf("%+v and %+v: %+v, wanted %+v", c.a, c.b, got, c.want)
		}
	}
}

// TestTiersAreLocal: whatever ProbeIdx a node is first reached at, it begins with its shortest tier (firstIdx of §5.3).
func TestTiersAreLocal(t *testing.T) {
	for _, first := range []int{0, 1, 2, 7} {
		d := relayDiscovery(Detours, 2, 3)
		if f := d.probeAt(0, first); f != 1 {
			t.Errorf("first reached at index %d it probes face %d", first, f)
		}
		if f := d.probeAt(0, first); f != 1 {
			t.Errorf("at the same index it probes face %d", f)
		}
		d.onData(1, first, maxHops, wire.Convergence{Tier: true})
		if f := d.probeAt(0, first); f != 1 {
			t.Errorf("before the source advances it probes face %d", f)
		}
		if f := d.probeAt(0, first+1); f != 2 {
			t.Errorf("at index %d it probes face %d", first+1, f)
		}
		if f := d.probeAt(0, first); f == 0 {
			t.Error("a late probe of the earlier index isn't forwarded")
		}
	}
}

// TestBeyondTheLastTier: a node whose tiers are done forwards and answers probes of any later index; nothing changes.
func TestBeyondTheLastTier(t *testing.T) {
	d := relayDiscovery(Detours, 2, 3)
	for index := range 2 {
		d.probeAt(0, index)
		d.onData(machine.FaceID(index+1), index, maxHops, wire.Convergence{Tier: true, Node: true})
	}
	for index := 1; index < 60; index++ {
		if f := d.probeAt(0, index); f == 0 {
			t.Fatalf("index %d isn't forwarded", index)
		}
		if c := d.flags(index, maxHops); !c.Tier || !c.Node {
			t.Fatalf("index %d: %+v", index, c)
		}
		if tier := d.localTier(index); tier != 1 {
			t.Fatalf("index %d is tier %d", index, tier)
		}
	}
}

// TestTierSkipped: if no face of the current tier is eligible the node converges at once and longer tiers are skipped, but only
// if it has a usable one before; else it goes on to the next tier (docs/adr/0006).
func TestTierSkipped(t *testing.T) {
	d := relayDiscovery(Detours, 3, 4, 5)
	d.probeAt(0, 0)
	d.onData(1, 0, maxHops, wire.Convergence{Tier: true, Node: true})
	d.probeAt(0, 1)
	d.onNack(2, wire.NackLoop)
	if c := d.flags(1, maxHops); !c.Tier || !c.Node || d.probes[2].state != unsent {
		t.Errorf("with a usable shorter tier: %+v, %v", c, d.probes[2].state)
	}
	d = relayDiscovery(Detours, 3, 4, 5)
	d.probeAt(0, 0)
	d.onNack(1, wire.NackLoop)
	if f := d.probeAt(0, 0); f != 2 {
		t.Errorf("without one the next probe goes by face %d", f)
	}
	if c := d.flags(0, maxHops); c.Tier || c.Node {
		t.Errorf("without one: %+v", c)
	}
}

// TestRetries: three tries, each of the same face, then it is dead; the second and third wait for the timeout.
func TestRetries(t *testing.T) {
	d := relayDiscovery(Detours, 2)
	for try := range 3 {
		now := machine.Time(try) * testTimeout
		if f := d.probeAt(now, 0); f != 1 || d.probes[0].tries != try+1 || d.probes[0].state != inFlight {
			t.Fatalf("try %d: face %d, %+v", try, f, d.probes[0])
		}
		if d.expire(now + testTimeout - 1); d.probes[0].state != inFlight {
			t.Fatalf("try %d is over early", try)
		}
	}
	if f := d.probeAt(3*testTimeout, 0); f != 0 || d.probes[0].state != dead {
		t.Errorf("after three tries: face %d, %v", f, d.probes[0].state)
	}
}

// TestStretch: the budget by distance and mode, and the faces that are candidates under it.
func TestStretch(t *testing.T) {
	for _, c := range []struct {
		d               int
		detours, direct int
	}{{1, 2, 2}, {2, 3, 3}, {3, 5, 4}, {4, 7, 5}, {40, maxHops, 41}, {unknownHops, maxHops, maxHops}} {
		if got := stretch(c.d, Detours); got != c.detours {
			t.Errorf("%d hops, detours: %d, wanted %d", c.d, got, c.detours)
		}
		if got := stretch(c.d, Direct); got != c.direct {
			t.Errorf("%d hops, direct: %d, wanted %d", c.d, got, c.direct)
		}
	}
	if d := relayDiscovery(Detours, 3, 4, 5, 6, 7); len(d.probes) != 3 || d.tiers != 3 {
		t.Errorf("candidates of 3…7 hops: %+v", d.probes)
	}
	if d := relayDiscovery(Direct, 3, 4, 5, 6, 7); len(d.probes) != 2 {
		t.Errorf("candidates without detours: %+v", d.probes)
	}
	d := relayDiscovery(Detours, 2, 3)
	if f := d.onProbe(0, 9, 5, 1, fixedTimeout); f != 0 {
		t.Errorf("a probe that may go one hop leaves by face %d of two", f)
	}
	if f := d.onProbe(0, 9, 5, 2, fixedTimeout); f != 1 {
		t.Errorf("a probe that may go two hops leaves by face %d", f)
	}
	if c := d.flags(6, maxHops); c.Tier {
		t.Errorf("converged while the only face that fits is in flight: %+v", c)
	}
}

// TestRefuses: the label rule of §5.2 on receipt.
func TestRefuses(t *testing.T) {
	relay := relayDiscovery(Detours, 3)
	source := newDiscovery(1, 1, topLabel, true, []NextHop{{Face: 1, Hops: 3}}, Config{})
	literal := relayDiscovery(Literal, 3)
	for _, c := range []struct {
		at     string
		d      *discovery
		sender wire.Label
		local  bool
		want   bool
	}{
		{"relay, higher", relay, wire.Label{Hops: 4}, false, false},
		{"relay, equal hops, higher hash", relay, wire.Label{Hops: 3, Hash: 51}, false, false},
		{"relay, equal", relay, wire.Label{Hops: 3, Hash: 50}, false, true},
		{"relay, equal hops, lower hash", relay, wire.Label{Hops: 3, Hash: 49}, false, true},
		{"relay, lower", relay, wire.Label{Hops: 2, Hash: 99}, false, true},
		{"relay, the source", relay, topLabel, false, false},
		{"source, its application", source, wire.Label{}, true, false},
		{"source, a neighbour", source, wire.Label{Hops: 2}, false, true},
		{"source, its own label", source, topLabel, false, true},
		{"literal, anything", literal, wire.Label{}, false, false},
	} {
		if got := c.d.refuses(c.sender, c.local); got != c.want {
			t.Errorf("%s: refuses %v", c.at, got)
		}
	}
}

// TestSourceAdvances: ProbeIdx moves on TierConv, by as many tiers as have converged, and stops at NodeConv.
func TestSourceAdvances(t *testing.T) {
	d := newDiscovery(1, 1, topLabel, true, []NextHop{{Face: 1, Hops: 3}, {Face: 2, Hops: 4}, {Face: 3, Hops: 5}}, Config{})
	answer := func(f machine.FaceID, c wire.Convergence) (done bool) {
		if got := d.onProbe(0, selfFace, d.index, d.room, fixedTimeout); got != f {
			t.Fatalf("index %d probes face %d, wanted %d", d.index, got, f)
		}
		d.onData(f, d.index, maxHops, c)
		return d.advance()
	}
	if done := answer(1, wire.Convergence{}); done || d.index != 0 {
		t.Errorf("without TierConv: index %d", d.index)
	}
	if done := answer(1, wire.Convergence{Tier: true}); done || d.index != 1 {
		t.Errorf("with TierConv: index %d", d.index)
	}
	if done := answer(2, wire.Convergence{Tier: true, Node: true}); done || d.index != 1 {
		t.Errorf("face 1 hasn't said TierConv for index 1 yet: index %d", d.index)
	}
	if done := answer(1, wire.Convergence{Tier: true, Node: true}); done || d.index != 2 {
		t.Errorf("with both: index %d", d.index)
	}
	if done := answer(3, wire.Convergence{Tier: true, Node: true}); !done {
		t.Error("NodeConv doesn't end it")
	}
}

// TestAdvanceEnds: an upstream that says TierConv for ever and never NodeConv doesn't keep the source for ever.
func TestAdvanceEnds(t *testing.T) {
	d := newDiscovery(1, 1, topLabel, true, []NextHop{{Face: 1, Hops: 2}}, Config{})
	for range 2 * maxHops {
		d.onProbe(0, selfFace, d.index, d.room, fixedTimeout)
		d.onData(1, d.index, maxHops, wire.Convergence{Tier: true})
		if d.advance() {
			return
		}
	}
	t.Errorf("index %d and no end", d.index)
}

// TestLegacyHop: an upstream that knows no discovery looks converged, so that MARS nodes beside legacy ones work.
func TestLegacyHop(t *testing.T) {
	r := newRig(t, Config{Relay: true})
	r.fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	r.fw.FaceUp(0, 2, machine.Face{MTU: 1400})
	r.fw.AddRoute(wire.MustParseName("/p"), NextHop{Face: 2, Hops: 1})
	name := wire.AppendDiscovery(nil, wire.MustParseName("/p"), []byte("s"), 0, 1)
	r.interest(1, wire.Interest{Name: name, MustBeFresh: true, Nonce: 1, HasNonce: true, Lifetime: 1000, HopLimit: 5, HasHopLimit: true}, "tok")
	r.drain()
	r.data(2, name, 0, nil)
	r.out.Reset()
	r.drain()
	if got, want := r.out.String(), "1> data token=tok tierconv=true nodeconv=true\n"; got != want {
		t.Errorf("answered %q, wanted %q", got, want)
	}
}
