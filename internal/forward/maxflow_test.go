package forward

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"mars/internal/wire"
)

// Evidence for the choice of label (docs/adr/0006): how much of the max-flow that is possible within the stretch budget is
// left once links may be used downhill only. Links carry one unit each; the flow is that of the valid graph, without regard to
// rates.

// order is one candidate for the label: whether v is below u.
type order struct {
	name string
	less func(v, u *rank) bool
}

// rank is what a label may be made of.
type rank struct {
	toDest, toSource, id int
	hash                 uint64
}

var orders = []order{
	{"(hops to dest, hash keyed per flow)", func(v, u *rank) bool {
		return cmp.Or(cmp.Compare(v.toDest, u.toDest), cmp.Compare(v.hash, u.hash)) < 0
	}},
	{"(hops to dest − hops to src, hops to dest, hash)", func(v, u *rank) bool {
		return cmp.Or(cmp.Compare(v.toDest-v.toSource, u.toDest-u.toSource), cmp.Compare(v.toDest, u.toDest), cmp.Compare(v.hash, u.hash)) < 0
	}},
	{"(hops to dest, raw id)", func(v, u *rank) bool {
		return cmp.Or(cmp.Compare(v.toDest, u.toDest), cmp.Compare(v.id, u.id)) < 0
	}},
}

// capacities gives the links between each two nodes: parallel links add up.
type capacities [][]int

func (g *graph) capacities() capacities {
	c := make(capacities, len(g.nodes))
	for i, v := range g.nodes {
		c[i] = make([]int, len(g.nodes))
		for _, e := range v.faces {
			c[i][e.peer]++
		}
	}
	return c
}

// hops is the distance of every node from one.
func (c capacities) hops(from int) []int {
	dist := make([]int, len(c))
	for i := range dist {
		dist[i] = len(c)
	}
	dist[from] = 0
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for v, n := range c[todo[0]] {
			if n > 0 && dist[v] > dist[todo[0]]+1 {
				dist[v] = dist[todo[0]] + 1
				todo = append(todo, v)
			}
		}
	}
	return dist
}

// within keeps the directed links that lie on a walk of at most budget hops from src to dest, of those that allow admits.
func (c capacities) within(src, dest, budget int, allow func(u, v int) bool) capacities {
	directed, reversed := make(capacities, len(c)), make(capacities, len(c))
	for i := range c {
		directed[i], reversed[i] = make([]int, len(c)), make([]int, len(c))
	}
	for u := range c {
		for v, n := range c[u] {
			if n > 0 && allow(u, v) {
				directed[u][v], reversed[v][u] = n, n
			}
		}
	}
	from, to := directed.hops(src), reversed.hops(dest)
	for u := range c {
		for v := range c[u] {
			if from[u]+1+to[v] > budget {
				directed[u][v] = 0
			}
		}
	}
	return directed
}

// maxFlow by augmenting paths.
func (c capacities) maxFlow(src, dest int) (flow int) {
	left := make(capacities, len(c))
	for i := range c {
		left[i] = append([]int(nil), c[i]...)
	}
	for {
		seen := make([]bool, len(c))
		var visit func(int) bool
		visit = func(u int) bool {
			seen[u] = true
			if u == dest {
				return true
			}
			for v, n := range left[u] {
				if n > 0 && !seen[v] && visit(v) {
					left[u][v]--
					left[v][u]++
					return true
				}
			}
			return false
		}
		if !visit(src) {
			return flow
		}
		flow++
	}
}

// kept is which part of the possible max-flow an order keeps between two nodes; the source may use any neighbour.
func (c capacities) kept(ranks []rank, o order, src, dest int) (flow, possible int) {
	budget := stretch(ranks[src].toDest, Detours)
	possible = c.within(src, dest, budget, func(u, v int) bool { return v != src && u != dest }).maxFlow(src, dest)
	flow = c.within(src, dest, budget, func(u, v int) bool {
		return v != src && u != dest && (u == src || o.less(&ranks[v], &ranks[u]))
	}).maxFlow(src, dest)
	return flow, possible
}

func (c capacities) ranks(src, dest int) []rank {
	toDest, toSource := c.hops(dest), c.hops(src)
	flow := wire.MustParseName(fmt.Sprintf("/p%d/s%d", dest, src))
	ranks := make([]rank, len(c))
	for i := range ranks {
		ranks[i] = rank{toDest[i], toSource[i], i, flow.Hash(uint64(i + 1))} // the hash that join takes
	}
	return ranks
}

// TestLabelKeepsMaxFlow measures the candidates on grids, meshes, rings, trees and random graphs, between nodes that more than one
// path joins.
func TestLabelKeepsMaxFlow(t *testing.T) {
	const graphs = 400
	n, most := 0, 0
	flows := make([]int, len(orders))
	shares, worst := make([]float64, len(orders)), []float64{1, 1, 1}
	for seed := uint64(0); n < graphs; seed++ {
		c := randomGraph(seed, Detours, 30).capacities()
		rng := rand.New(rand.NewPCG(seed, 3))
		src := rng.IntN(len(c))
		dest := (src + 1 + rng.IntN(len(c)-1)) % len(c)
		ranks := c.ranks(src, dest)
		for i, o := range orders {
			flow, possible := c.kept(ranks, o, src, dest)
			if possible < 2 {
				break
			}
			share := float64(flow) / float64(possible)
			shares[i] += share
			worst[i] = min(worst[i], share)
			flows[i] += flow
			if i == 0 {
				most += possible
				n++
			}
		}
	}
	for i, o := range orders {
		t.Logf("%-50s kept %.1f%% on average, %.0f%% at worst; max-flow %.2f of %.2f",
			o.name, 100*shares[i]/graphs, 100*worst[i], float64(flows[i])/graphs, float64(most)/graphs)
	}
	if kept := shares[0] / graphs; kept < 0.9 {
		t.Errorf("our label keeps %.3f of the possible max-flow, wanted 0.9", kept)
	}
}
