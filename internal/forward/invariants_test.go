package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
)

// paperTopology is the MARS paper's emulation topology: 5 consumers, 5 cores in full mesh, edges and producers; con_i asks a
// producer behind core_i. It returns the graph, the consumer and the producer for group i.
func paperTopology(seed uint64, mode DiscoveryMode) (g *graph, consumers []int, producer func(group int) int) {
	g = newGraph(seed, 5+5+5+5, mode) // consumers, cores, edges, producers (one per core)
	core := func(i int) int { return 5 + i }
	for c := range 5 {
		g.nodes[c].relay = false
		for k := range 5 {
			g.link(c, core(k))
		}
	}
	for a := range 5 {
		for b := range a {
			g.link(core(a), core(b))
		}
		g.link(core(a), 10+a)
		g.link(10+a, 15+a)
		g.nodes[15+a].relay = false
	}
	return g, []int{0, 1, 2, 3, 4}, func(i int) int { return 15 + i }
}

func TestPaperTopology(t *testing.T) {
	for _, mode := range []DiscoveryMode{Direct, Detours} {
		g, consumers, producer := paperTopology(1, mode)
		g.start([]int{producer(0)})
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
		for v, peers := range g.edges(con, d.boot, d.epoch) {
			for _, p := range peers {
				if v >= 6 && v < 10 && p >= 6 && p < 10 {
					detours++
				}
			}
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
		g.start([]int{producer(0)})
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

// randomGraph draws one of several kinds of connected multigraph.
func randomGraph(seed uint64, mode DiscoveryMode, most int) *graph {
	g := newGraph(seed, 0, mode)
	n := 2 + g.rng.IntN(most-1)
	for i := range n {
		g.nodes = append(g.nodes, &vertex{id: i, relay: true})
	}
	switch g.rng.IntN(6) {
	case 0: // ring
		for i := range n {
			if n > 2 || i == 0 {
				g.link(i, (i+1)%n)
			}
		}
	case 1: // full mesh, small
		for i := range min(n, 7) {
			for j := range i {
				g.link(i, j)
			}
		}
		for i := 7; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
	case 2: // grid
		w := 1
		for w*w < n {
			w++
		}
		for i := range n {
			if i%w > 0 {
				g.link(i, i-1)
			}
			if i >= w {
				g.link(i, i-w)
			}
		}
	case 3: // tree with a few extra links
		for i := 1; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
		for range n / 4 {
			g.extra()
		}
	default: // random, parallel links included
		for i := 1; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
		for range n + g.rng.IntN(n+1) {
			g.extra()
		}
	}
	return g
}

func (g *graph) extra() {
	a, b := g.rng.IntN(len(g.nodes)), g.rng.IntN(len(g.nodes))
	if a != b && len(g.nodes[a].faces) < 12 && len(g.nodes[b].faces) < 12 {
		g.link(a, b)
	}
}

// invariantCase runs one random graph under one random schedule and returns what broke.
func invariantCase(seed uint64, mode DiscoveryMode, most int) (*graph, string) {
	g := randomGraph(seed, mode, most)
	n := len(g.nodes)
	producers := []int{g.rng.IntN(n)}
	if g.rng.IntN(5) == 0 {
		producers = append(producers, g.rng.IntN(n)) // two producers of one prefix
	}
	if g.rng.IntN(2) == 0 {
		g.loss = g.rng.Float64() * 0.1
	}
	if g.rng.IntN(2) == 0 {
		g.dup = g.rng.Float64() * 0.1
	}
	if g.rng.IntN(2) == 0 {
		g.jitter = 5 * machine.Millisecond
	}
	g.start(producers)
	var apps []int
	for range 1 + g.rng.IntN(3) {
		c := g.rng.IntN(n)
		if c == producers[0] || c == producers[len(producers)-1] || g.nodes[c].app {
			continue
		}
		g.nodes[c].app = true
		apps = append(apps, c)
	}
	for k := range uint64(3) {
		for _, c := range apps {
			g.ask(c, k)
		}
		g.run(machine.Time(g.rng.IntN(40))*machine.Millisecond, true)
		if g.rng.IntN(6) == 0 { // a node restarts: its labels and epochs are gone
			v := g.nodes[g.rng.IntN(n)]
			g.boot(v, v.id == producers[0] || v.id == producers[len(producers)-1])
		}
	}
	g.run(400*machine.Millisecond, true)
	if g.broken != "" {
		return g, g.broken
	}
	g.loss, g.dup, g.jitter = 0, 0, 0 // heal: everything converges now, or never will
	g.run(3500*machine.Millisecond, false)
	g.acyclic()
	return g, g.settled(apps)
}

// settled checks liveness: every flow's discovery ended, and a source with a route has a valid upstream.
func (g *graph) settled(apps []int) string {
	if g.broken != "" {
		return g.broken
	}
	for _, c := range apps {
		f := g.flowAt(g.nodes[c], c)
		if f == nil || len(f.epochs) == 0 {
			if len(g.nodes[c].hops) > 0 && g.nodes[c].boot == 1 {
				return fmt.Sprintf("node %d has a route and no epoch", c)
			}
			continue
		}
		d := f.epochs[len(f.epochs)-1]
		if d.finished == 0 {
			return fmt.Sprintf("node %d: discovery never ended: index %d, probes %+v", c, d.index, d.probes)
		}
		if f.epochs[0].upstreams() == 0 {
			return fmt.Sprintf("node %d has a route and no valid upstream: %+v", c, f.epochs[0].probes)
		}
	}
	return ""
}

func TestInvariants(t *testing.T) {
	cases := uint64(10_000)
	if testing.Short() || raceEnabled {
		cases = 500
	}
	for seed := range cases {
		most := 12
		if seed%100 == 0 {
			most = 60
		}
		if g, broken := invariantCase(seed, Detours, most); broken != "" {
			t.Fatalf("seed %d (%d nodes): %s", seed, len(g.nodes), broken)
		}
	}
	t.Logf("%d cases", cases)
}
