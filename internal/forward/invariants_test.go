package forward

import (
	"fmt"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// The invariants of protocol.md §5.5, by number, on random graphs of real forwarders: every test here counts as cases.

// impair draws how bad the links are: perfect half of the time in each way.
func (g *graph) impair() {
	if g.rng.IntN(2) == 0 {
		g.loss = g.rng.Float64() * 0.1
	}
	if g.rng.IntN(2) == 0 {
		g.dup = g.rng.Float64() * 0.1
	}
	if g.rng.IntN(2) == 0 {
		g.jitter = 5 * machine.Millisecond
	}
}

// cast draws producers and consumers; all may be relays too. It starts the graph.
func (g *graph) cast() (apps []int) {
	n := len(g.nodes)
	producers := []int{g.rng.IntN(n)}
	if g.rng.IntN(5) == 0 {
		producers = append(producers, g.rng.IntN(n)) // two producers of one prefix
	}
	g.start(producers...)
	for range 1 + g.rng.IntN(3) {
		if c := g.rng.IntN(n); !slices.Contains(producers, c) && !g.nodes[c].app {
			g.nodes[c].app = true
			apps = append(apps, c)
		}
	}
	return apps
}

// disturb restarts a node, or cuts or mends a link, now and then.
func (g *graph) disturb() {
	v := g.nodes[g.rng.IntN(len(g.nodes))]
	switch g.rng.IntN(12) {
	case 0, 1: // its labels and epochs are gone
		g.boot(v)
	case 2:
		if len(v.faces) > 0 {
			f := g.rng.IntN(len(v.faces))
			g.setLink(v.id, f, !v.faces[f].up)
		}
	}
}

// invariantCase runs one random graph under one random schedule and returns what broke.
func invariantCase(seed uint64, most int, planted faults) (*graph, string) {
	g := randomGraph(seed, Detours, most)
	g.cfg.faults = planted
	if g.rng.IntN(4) == 0 {
		g.cfg.InterestQueue = 1 + g.rng.IntN(4)
	}
	g.impair()
	apps := g.cast()
	for k := range uint64(4) {
		for _, c := range apps {
			for burst := range uint64(1 + g.rng.IntN(4)) {
				g.ask(c, 10*k+burst)
			}
		}
		g.run(machine.Time(g.rng.IntN(40))*machine.Millisecond, true)
		g.disturb()
	}
	g.run(400*machine.Millisecond, true)
	if g.broken != "" {
		return g, g.broken
	}
	g.loss, g.dup, g.jitter = 0, 0, 0 // heal: everything converges now, or never will
	for i, v := range g.nodes {
		for f := range v.faces {
			g.setLink(i, f, true)
		}
	}
	for _, c := range apps {
		g.ask(c, 100)
	}
	g.run(4500*machine.Millisecond, false)
	g.acyclic()
	return g, g.settled(apps)
}

// settled checks liveness: every flow's discovery ended, and a source with a route has a valid upstream (invariants 2, 4); no
// Interest for Data is left, and the books balance (8).
func (g *graph) settled(apps []int) string {
	if g.broken != "" {
		return g.broken
	}
	for _, c := range apps {
		f := g.flowAt(g.nodes[c], c)
		if f == nil || len(f.epochs) == 0 {
			if len(g.nodes[c].hops) > 0 {
				return fmt.Sprintf("node %d has a route and no epoch", c)
			}
			continue
		}
		d := f.epochs[len(f.epochs)-1]
		if d.finished == 0 {
			return fmt.Sprintf("node %d: discovery never ended: index %d, probes %+v", c, d.index, d.probes)
		}
		if len(d.probes) > 0 && f.epochs[0].upstreams() == 0 {
			return fmt.Sprintf("node %d has a route and no valid upstream: %+v", c, f.epochs[0].probes)
		}
	}
	for _, v := range g.nodes {
		for _, e := range v.fw.flows.pit.entries {
			if e.live && !e.probe {
				return fmt.Sprintf("node %d: %v never ended", v.id, e.interest.Name)
			}
		}
	}
	return ""
}

func TestInvariants(t *testing.T) {
	cases := uint64(10_000)
	if testing.Short() || raceEnabled {
		cases = 150
	}
	largest := 0
	for seed := range cases {
		g, broken := invariantCase(seed, graphSize(seed), 0)
		if broken != "" {
			t.Fatalf("seed %d (%d nodes): %s", seed, len(g.nodes), broken)
		}
		for _, v := range g.nodes {
			(&rig{t: t, fw: v.fw}).check()
		}
		largest = max(largest, g.largest)
	}
	t.Logf("%d cases; largest discovery packet %d bytes", cases, largest)
}

// graphSize is the most nodes of a case: a few are large.
func graphSize(seed uint64) int {
	if seed%100 == 0 {
		return 60
	}
	return 12
}

// TestInvariantsCatchFaults plants bugs, each of which the invariants must notice.
func TestInvariantsCatchFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faults
		check func(seed uint64, planted faults) string
	}{
		{"label check off", faultLabel, randomCase},
		{"source accepts its own flow", faultSource, ownFlowReturns},
		{"first index ignored", faultFirst, randomCase},
		{"flags fall", faultFlags, lateAnswer},
		{"no stretch budget", faultStretch, randomCase},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(400) {
				if broken := c.check(seed, 0); seed < 3 && broken != "" {
					t.Fatalf("case %d without the fault: %s", seed, broken)
				}
				if broken := c.check(seed, c.fault); broken != "" {
					t.Logf("caught by case %d: %s", seed, broken)
					return
				}
			}
			t.Error("not caught in 400 cases")
		})
	}
}

func randomCase(seed uint64, planted faults) string {
	_, broken := invariantCase(seed, graphSize(seed), planted)
	return broken
}

// lateAnswer lets a face answer after its three tries, when the node has already said that it had converged.
func lateAnswer(_ uint64, planted faults) string {
	d := newDiscovery(1, 1, wire.Label{Hops: 2}, false, []NextHop{{Face: 1, Hops: 2}, {Face: 2, Hops: 2}}, Config{faults: planted})
	timeout := func(machine.FaceID) machine.Time { return 1 }
	for now := range machine.Time(3) {
		d.onProbe(2*now, 9, 0, maxHops, timeout)
		d.onProbe(2*now, 9, 0, maxHops, timeout)
		d.onData(1, 0, maxHops, wire.Convergence{Tier: true, Node: true})
	}
	d.onProbe(100, 9, 0, maxHops, timeout)
	before := d.flags(0, maxHops)
	d.onData(2, 0, maxHops, wire.Convergence{})
	if after := d.flags(0, maxHops); !before.Tier || !before.Node || after != before {
		return fmt.Sprintf("flags %+v became %+v", before, after)
	}
	return ""
}

// ownFlowReturns lets neighbours send Interests of a source's flow back to it, as lost ones that look for other ways would: PIT
// nonces don't catch those.
func ownFlowReturns(seed uint64, planted faults) string {
	g := randomGraph(seed, Detours, 8)
	g.cfg.faults = planted
	apps := g.cast()
	for _, c := range apps {
		g.ask(c, 1)
		g.run(20*machine.Millisecond, true)
		f := g.flowAt(g.nodes[c], c)
		for i := range g.nodes[c].faces {
			if f == nil || len(f.epochs) == 0 {
				continue
			}
			it := wire.Interest{Name: wire.AppendTransmission(nil, g.dest, f.src, wire.MustParseName("/o")).AppendChunk(1, uint64(50+i)), Nonce: 7, HasNonce: true, HopLimit: 9, HasHopLimit: true}
			p := wire.Packet{Label: f.epochs[0].label, HasLabel: true, Fragment: it.Append(nil)}
			g.deliver(message{to: c, face: i, data: p.Append(nil), trail: trail{1 << c, 1}})
		}
	}
	return g.broken
}
