package forward

import (
	"math/bits"
	"testing"

	"mars/internal/machine"
)

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
