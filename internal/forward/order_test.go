package forward

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/machine"
)

// outcome runs discovery for one consumer on graph number seed, lossless, under one schedule, and returns the valid hops.
func outcome(seed, schedule uint64, most int) (g *graph, edges []uint64) {
	g = randomGraph(seed, Detours, most)
	producer := g.rng.IntN(len(g.nodes))
	g.start(producer)
	src := (producer + 1 + g.rng.IntN(len(g.nodes)-1)) % len(g.nodes)
	g.nodes[src].app = true
	g.rng = rand.New(rand.NewPCG(seed, schedule))
	g.jitter = machine.Time(schedule) * 3 * machine.Millisecond
	g.ask(src, 1)
	g.run(2900*machine.Millisecond, false)
	f := g.flowAt(g.nodes[src], src)
	if f == nil || len(f.epochs) == 0 || f.epochs[0].finished == 0 {
		return g, nil
	}
	return g, reachable(g.edges(src, epochKey{f.epochs[0].boot, f.epochs[0].epoch}, false), src)
}

// reachable keeps what a walk from a node can meet.
func reachable(edges []uint64, from int) []uint64 {
	kept := make([]uint64, len(edges))
	for todo := []int{from}; len(todo) > 0; {
		u := todo[0]
		todo = todo[1:]
		for v := range edges {
			if edges[u]&(1<<v) != 0 && kept[v] == 0 && v != from {
				todo = append(todo, v)
			}
		}
		kept[u] = edges[u]
	}
	return kept
}

// TestInvariantsOrder checks invariant 7: on a static lossless topology the outcome doesn't depend on the order of messages.
func TestInvariantsOrder(t *testing.T) {
	cases := uint64(300)
	if testing.Short() || raceEnabled {
		cases = 40
	}
	differ := 0
	for seed := range cases {
		g, want := outcome(seed, 0, orderSize(seed))
		for schedule := range uint64(4) {
			if _, got := outcome(seed, schedule+1, orderSize(seed)); !slices.Equal(got, want) {
				differ++
				if differ < 5 {
					t.Errorf("seed %d (%d nodes), schedule %d: %s", seed, len(g.nodes), schedule, difference(want, got))
				}
			}
		}
	}
	t.Logf("%d graphs, 5 schedules each; %d outcomes differ", cases, differ)
}

// orderSize is the most nodes of a case: larger graphs than elsewhere, where probes reach a node by ways of different length.
func orderSize(seed uint64) int { return 12 + int(seed%4)*11 }

func difference(a, b []uint64) (text string) {
	if len(a) != len(b) {
		return fmt.Sprintf("%d nodes, then %d", len(a), len(b))
	}
	for v := range a {
		if a[v] != b[v] {
			text += fmt.Sprintf("node %d may use %s, then %s; ", v, members(a[v]), members(b[v]))
		}
	}
	return text
}

// TestInvariantsSecondConsumer checks invariant 6: what other consumers do never takes a face from the first one's flow.
func TestInvariantsSecondConsumer(t *testing.T) {
	cases := uint64(500)
	if testing.Short() || raceEnabled {
		cases = 40
	}
	shared := 0
	for seed := range cases {
		g, before := outcome(seed, 1, graphSize(seed))
		first := slices.IndexFunc(g.nodes, func(v *vertex) bool { return v.app })
		f := g.flowAt(g.nodes[first], first)
		epoch := epochKey{f.epochs[0].boot, f.epochs[0].epoch}
		for i := range min(len(g.nodes), 5) {
			if i != first && i != g.producers[0] {
				g.ask(i, 1)
				shared++
			}
		}
		g.run(machine.Second, false)
		after := g.edges(first, epoch, false)
		for v := range before {
			if lost := before[v] &^ after[v]; lost != 0 {
				t.Fatalf("seed %d: node %d lost upstreams %s of node %d's flow", seed, v, members(lost), first)
			}
		}
	}
	t.Logf("%d graphs, %d further consumers", cases, shared)
}

// TestInvariantsWrongRoutes: labels keep invariants 1 and 3 whatever hop counts routing gives, even if no two nodes agree.
func TestInvariantsWrongRoutes(t *testing.T) {
	cases := uint64(1000)
	if testing.Short() || raceEnabled {
		cases = 60
	}
	refused := uint64(0)
	for seed := range cases {
		g := randomGraph(seed, Detours, graphSize(seed))
		g.rerouted = true // hops that nobody has acknowledged may point anywhere
		g.impair()
		apps := g.cast()
		for _, v := range g.nodes {
			for f := range v.faces {
				v.hops[f] = 1 + g.rng.IntN(6)
			}
			g.route(v)
		}
		for k := range uint64(4) {
			for _, c := range apps {
				g.ask(c, k)
			}
			g.run(100*machine.Millisecond, true)
		}
		if g.broken != "" {
			t.Fatalf("seed %d: %s", seed, g.broken)
		}
		for _, v := range g.nodes {
			refused += v.fw.Dropped(DropLoop)
		}
	}
	if refused == 0 {
		t.Error("no Interest was ever refused: the routes weren't wrong")
	}
	t.Logf("%d cases, %d Interests refused", cases, refused)
}
