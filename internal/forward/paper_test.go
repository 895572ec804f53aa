package forward

import (
	"math/bits"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// One test per rule of the MARS paper's §III-B, named after it. Where we deviate, the test says so and docs/adr/0006 why.

// §III-B1: "takes the upstream faces exposed by the local FIB … and organizes them into tiers according to their
// routing-provided hop counts".
func TestPaperHopTierGrouping(t *testing.T) {
	d := relayDiscovery(Detours, 5, 3, 4, 3, 5)
	for i, want := range []probe{{face: 2, hops: 3, tier: 0}, {face: 4, hops: 3, tier: 0}, {face: 3, hops: 4, tier: 1}, {face: 1, hops: 5, tier: 2}, {face: 5, hops: 5, tier: 2}} {
		if p := d.probes[i]; p.face != want.face || p.hops != want.hops || p.tier != want.tier {
			t.Errorf("candidate %d: %+v, wanted %+v", i, p, want)
		}
	}
	if d.tiers != 3 {
		t.Errorf("%d tiers", d.tiers)
	}
}

// §III-B1: "only nexthops satisfying a configured threshold relative to the minimum hop count are considered": less than
// twice. Deviation: a face one hop longer than the shortest is always considered, or a relay beside a direct path (1 and 2 hops)
// could never be used.
func TestPaperHopCountThreshold(t *testing.T) {
	for shortest := 1; shortest <= 6; shortest++ {
		hops := []int{shortest}
		for h := shortest + 1; h <= 2*shortest+2; h++ {
			hops = append(hops, h)
		}
		for _, p := range relayDiscovery(Detours, hops...).probes {
			if p.hops >= 2*shortest && p.hops != shortest+1 {
				t.Errorf("shortest %d: a face of %d hops is considered", shortest, p.hops)
			}
		}
		if n := len(relayDiscovery(Detours, hops...).probes); n != max(shortest, 2) {
			t.Errorf("shortest %d: %d faces considered", shortest, n)
		}
	}
}

// §III-B1: "upstream faces are probed in order of increasing hop count, always starting from the shortest available paths".
func TestPaperAscendingProbing(t *testing.T) {
	d := relayDiscovery(Detours, 3, 3, 4, 5)
	var order []machine.FaceID
	for index := range 3 {
		for range 3 {
			f := d.probeAt(0, index)
			if d.find(f).tries == 1 && d.find(f).state == inFlight {
				order = append(order, f)
			}
			d.onData(f, index, maxHops, wire.Convergence{Tier: true})
		}
	}
	if want := []machine.FaceID{1, 2, 3, 4}; !slices.Equal(order, want) {
		t.Errorf("probed %v, wanted %v", order, want)
	}
}

// §III-B1: "a face used as ingress for a shorter path is never selected as an upstream candidate for longer-hop probes". With
// labels the ingress is above us and would refuse: it is excluded altogether.
func TestPaperIngressExclusion(t *testing.T) {
	d := relayDiscovery(Literal, 2, 3)
	d.onProbe(0, 2, 0, maxHops, fixedTimeout)
	for index := range 4 {
		if f := d.probeAt(0, index); f != 1 {
			t.Errorf("literal: index %d goes by face %d", index, f)
		}
	}
	d = relayDiscovery(Literal, 2, 2)
	d.onProbe(0, 2, 0, maxHops, fixedTimeout)
	if d.probes[1].ingress {
		t.Error("literal: an ingress is excluded from its own tier")
	}
	d = relayDiscovery(Detours, 2, 2)
	d.onProbe(0, 2, 0, maxHops, fixedTimeout)
	if d.probes[1].state != looped {
		t.Errorf("with labels an ingress of the same tier is %v", d.probes[1].state)
	}
}

// §III-B2: "the consumer embeds a ProbeIdx field in Interest names and advances it only after all nodes in the current tier have
// converged, as indicated by the TierConv flag".
func TestPaperProbeIdxInNames(t *testing.T) {
	r := newRig(t, Config{})
	r.fw.FaceUp(0, appOf, machine.Face{Local: true})
	for f := machine.FaceID(1); f <= 2; f++ {
		r.fw.FaceUp(0, f, machine.Face{MTU: 1400})
		r.fw.AddRoute(wire.MustParseName("/p"), NextHop{Face: f, Hops: 1 + int(f)})
	}
	name := wire.AppendTransmission(nil, wire.MustParseName("/p"), []byte("s"), wire.MustParseName("/o")).AppendChunk(1, 0)
	r.interest(appOf, wire.Interest{Name: name, Nonce: 1, HasNonce: true, Lifetime: 4000}, "t")
	answer := func(tierConv bool) (index uint64) { // the newest probe
		r.fw.Advance(r.now)
		r.drain()
		for _, f := range []machine.FaceID{2, 1} {
			for k := len(r.sent[f]) - 1; k >= 0; k-- {
				if n := wire.SplitFlow(r.sent[f][k].name); n.Kind == wire.Discovery {
					index, _, _ = n.Probe()
					d := wire.Data{Name: r.sent[f][k].name, SignatureType: wire.SignatureNull}
					r.deliver(f, wire.Packet{PitToken: r.sent[f][k].token, Convergence: wire.Convergence{Tier: tierConv}, HasConvergence: true}, d.Append(nil))
					r.sent[f] = nil
					r.now += 20 * machine.Millisecond
					return index
				}
			}
		}
		t.Fatal("no probe was sent")
		return 0
	}
	for _, step := range []struct {
		tierConv bool
		want     uint64
	}{{false, 0}, {false, 0}, {true, 0}, {true, 1}} {
		if got := answer(step.tierConv); got != step.want {
			t.Errorf("a probe with ProbeIdx %d, wanted %d", got, step.want)
		}
	}
}

// §III-B2: NodeConv "serves as the stop criterion".
func TestPaperNodeConvStops(t *testing.T) {
	g, consumers, producer := paperTopology(1, Detours)
	g.start(producer(0))
	g.ask(consumers[0], 1)
	g.run(machine.Second, false)
	f := g.flowAt(g.nodes[consumers[0]], consumers[0])
	sent := g.probes
	g.run(machine.Second, false)
	if d := f.epochs[0]; !d.flags(d.index, d.room).Node || d.finished == 0 || g.probes != sent {
		t.Errorf("NodeConv %v, finished at %v, %d probes after that", d.flags(d.index, d.room).Node, d.finished, g.probes-sent)
	}
}

// §III-B2: "each forwarder … advances only when directed by an updated ProbeIdx from downstream".
func TestPaperAdvancesOnlyWhenDirected(t *testing.T) {
	d := relayDiscovery(Detours, 2, 3)
	for range 20 {
		if f := d.probeAt(0, 0); f != 1 {
			t.Fatalf("face %d is probed at ProbeIdx 0", f)
		}
		d.onData(1, 0, maxHops, wire.Convergence{Tier: true, Node: true})
	}
	if f := d.probeAt(0, 1); f != 2 {
		t.Errorf("face %d is probed at ProbeIdx 1", f)
	}
}

// §III-B3: "updates its convergence status whenever Data arrives from an upstream face, removing that face from
// PendingConverged".
func TestPaperPendingConverged(t *testing.T) {
	d := relayDiscovery(Detours, 2, 2, 2)
	for f := machine.FaceID(1); f <= 3; f++ {
		d.probeAt(0, 0)
	}
	for f := machine.FaceID(1); f <= 3; f++ {
		if d.flags(0, maxHops).Tier {
			t.Errorf("converged while face %d is pending", f)
		}
		d.onData(f, 0, maxHops, wire.Convergence{Tier: true})
	}
	if !d.flags(0, maxHops).Tier {
		t.Error("not converged though no face is pending")
	}
}

// §III-B3: "New Interests are then forwarded round-robin across remaining faces in ValidUpstream". Deviation: while some faces
// haven't said all, the round is over those.
func TestPaperRoundRobin(t *testing.T) {
	d := relayDiscovery(Detours, 2, 2, 2)
	for f := machine.FaceID(1); f <= 3; f++ {
		d.probeAt(0, 0)
		d.onData(f, 0, maxHops, wire.Convergence{Tier: true, Node: true})
	}
	uses := map[machine.FaceID]int{}
	for range 30 {
		uses[d.probeAt(0, 0)]++
	}
	if uses[1] != 10 || uses[2] != 10 || uses[3] != 10 {
		t.Errorf("30 probes went by faces %v", uses)
	}
}

// §III-B3: "if all faces in the current tier are ineligible, the node immediately declares convergence". Deviation: a node
// without any usable face goes on to its next tier instead (TestTierSkipped).
func TestPaperTierSkipping(t *testing.T) {
	d := relayDiscovery(Detours, 3, 4, 5)
	d.probeAt(0, 0)
	d.onData(1, 0, maxHops, wire.Convergence{Tier: true, Node: true})
	d.probeAt(0, 1)
	if d.flags(1, maxHops).Node {
		t.Error("converged before the tier is known to be ineligible")
	}
	d.onNack(2, wire.NackLoop)
	if !d.flags(1, maxHops).Node {
		t.Error("not converged")
	}
}

// §III-B3: flags are "embedded in Data packet metadata and propagated downstream (only on path discovery)".
func TestPaperFlagsOnlyOnDiscovery(t *testing.T) {
	g, consumers, producer := paperTopology(1, Detours)
	g.start(producer(0))
	g.ask(consumers[0], 1)
	discovery, transmission := 0, 0
	for g.step(machine.Second) {
		for _, m := range g.inflight {
			var p wire.Packet
			var d wire.Data
			if p.Decode(m.data) != nil || d.Decode(p.Fragment) != nil {
				continue
			}
			kind := wire.SplitFlow(d.Name).Kind
			if p.HasConvergence != (kind == wire.Discovery) {
				t.Fatalf("%v carries flags: %v", d.Name, p.HasConvergence)
			}
			if kind == wire.Discovery {
				discovery++
			} else {
				transmission++
			}
		}
	}
	if discovery == 0 || transmission == 0 {
		t.Errorf("saw %d and %d Data", discovery, transmission)
	}
}

func TestPaperTopology(t *testing.T) {
	for _, mode := range []DiscoveryMode{Direct, Detours} {
		g, consumers, producer := paperTopology(1, mode)
		g.start(producer(0))
		con := consumers[0]
		g.nodes[con].app = true
		g.ask(con, 1)
		g.run(2*machine.Second, true)
		if g.broken != "" {
			t.Fatal(g.broken)
		}
		f := g.flowAt(g.nodes[con], con)
		d := f.epochs[0]
		if d.finished == 0 || d.upstreams() != 5 {
			t.Errorf("mode %d: %d valid faces, finished %v", mode, d.upstreams(), d.finished)
		}
		detours := 0
		for v, peers := range g.edges(con, epochKey{d.boot, d.epoch}, false)[6:10] {
			detours += bits.OnesCount64(peers & (0b1111 << 6 &^ (1 << (6 + v))))
		}
		if (detours > 0) != (mode == Detours) {
			t.Errorf("mode %d: %d core-to-core detours", mode, detours)
		}
		t.Logf("mode %d: converged after %.1f ms, %d probe packets, %d detour hops", mode, f.found.Seconds()*1e3, g.probes, detours)
	}
}

// TestLiteralRulesCycle shows why labels exist: on a 5-core full mesh the paper's rules alone leave directed cycles.
func TestLiteralRulesCycle(t *testing.T) {
	cycles := 0
	for seed := range uint64(20) {
		g, consumers, producer := paperTopology(seed, Literal)
		g.jitter = machine.Millisecond
		g.start(producer(0))
		g.nodes[consumers[0]].app = true
		g.ask(consumers[0], 1)
		g.run(3*machine.Second, true)
		if g.broken != "" {
			cycles++
			if cycles == 1 {
				t.Log(g.broken)
			}
		}
	}
	if cycles == 0 {
		t.Error("the literal rules formed no cycle in 20 runs")
	}
	t.Logf("a cycle in %d of 20 runs", cycles)
}
