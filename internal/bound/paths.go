package bound

import (
	"cmp"
	"math"
	"slices"

	"mars/internal/scenario"
)

// Paths returns up to k loop-free routes of a flow, as indices of links from the consumer to the producer: the shortest by
// hops, then delay there and back, then indices, and those that follow it (Yen, 1971). Only relays and routers carry others'
// traffic. flow is an index into w.Flows; k > 0.
func Paths(w *scenario.World, flow, k int) [][]int {
	g := newGraph(w)
	f := &w.Flows[flow]
	return g.shortest(f.Consumer, f.Producer, k)
}

// graph is the World as adjacency lists, ascending by link.
type graph struct {
	w     *scenario.World
	edges [][]edge
}

type edge struct{ link, to int }

func newGraph(w *scenario.World) *graph {
	g := &graph{w, make([][]edge, len(w.Nodes))}
	for i, l := range w.Links {
		g.edges[l.A] = append(g.edges[l.A], edge{i, l.B})
		g.edges[l.B] = append(g.edges[l.B], edge{i, l.A})
	}
	return g
}

// carries reports whether n forwards for others.
func (g *graph) carries(n int) bool {
	r := g.w.Nodes[n].Role
	return r == scenario.Relay || r == scenario.Router
}

// route is a path with its nodes, one more than links.
type route struct {
	links, nodes []int
	delay        int64 // ns, there and back
}

func (a route) compare(b route) int {
	return cmp.Or(cmp.Compare(len(a.links), len(b.links)), cmp.Compare(a.delay, b.delay), slices.Compare(a.links, b.links))
}

func (g *graph) delay(link int) int64 {
	return int64(g.w.Links[link].AB.Delay + g.w.Links[link].BA.Delay)
}

// shortest is Yen's algorithm: each next route leaves one of those before at some node, by a link that none of them took
// from there.
func (g *graph) shortest(from, to, k int) [][]int {
	first, ok := g.best(from, to, nil, nil)
	if !ok || k < 1 {
		return nil
	}
	found := []route{first}
	var candidates []route
	for len(found) < k {
		last := found[len(found)-1]
		for i := range last.links {
			closed := map[int]bool{}
			for _, r := range found {
				if len(r.links) > i && slices.Equal(r.links[:i], last.links[:i]) {
					closed[r.links[i]] = true
				}
			}
			visited := map[int]bool{}
			for _, n := range last.nodes[:i] {
				visited[n] = true
			}
			spur, ok := g.best(last.nodes[i], to, closed, visited)
			if !ok {
				continue
			}
			whole := route{
				links: slices.Concat(last.links[:i], spur.links),
				nodes: slices.Concat(last.nodes[:i], spur.nodes),
			}
			for _, l := range whole.links {
				whole.delay += g.delay(l)
			}
			if at, there := slices.BinarySearchFunc(candidates, whole, route.compare); !there {
				candidates = slices.Insert(candidates, at, whole)
			}
		}
		if len(candidates) == 0 {
			break
		}
		found, candidates = append(found, candidates[0]), candidates[1:]
	}
	var all [][]int
	for _, r := range found {
		all = append(all, r.links)
	}
	return all
}

// best returns the best route that avoids closed links at its first node and visited nodes everywhere. It goes through the
// nodes by hops; within a hop count every node keeps its best way so far, ties by the links' indices.
func (g *graph) best(from, to int, closed, visited map[int]bool) (route, bool) {
	level := []route{{nodes: []int{from}}}
	reached := map[int]bool{from: true}
	for len(level) > 0 {
		var next []route
		at := map[int]int{}
		for _, r := range level {
			n := r.nodes[len(r.nodes)-1]
			if n != from && !g.carries(n) {
				continue
			}
			for _, e := range g.edges[n] {
				if visited[e.to] || reached[e.to] || n == from && closed[e.link] {
					continue
				}
				longer := route{
					links: append(slices.Clone(r.links), e.link),
					nodes: append(slices.Clone(r.nodes), e.to),
					delay: r.delay + g.delay(e.link),
				}
				i, there := at[e.to]
				switch {
				case !there:
					at[e.to] = len(next)
					next = append(next, longer)
				case longer.compare(next[i]) < 0:
					next[i] = longer
				}
			}
		}
		for _, r := range next {
			if r.nodes[len(r.nodes)-1] == to {
				return r, true
			}
			reached[r.nodes[len(r.nodes)-1]] = true
		}
		level = next
	}
	return route{}, false
}

// cheapest returns a route of at most so many hops whose links cost least; price is never negative. (Bellman and Ford, by
// hops; a walk that meets itself would be no cheaper without the round.)
func (g *graph) cheapest(from, to, hops int, price func(at, link int) float64) ([]int, float64) {
	type reached struct {
		cost float64
		node int // where it came from
		link int
	}
	never := reached{math.Inf(1), -1, -1}
	levels := [][]reached{slices.Repeat([]reached{never}, len(g.edges))}
	levels[0][from].cost = 0
	best := 0
	for h := range hops {
		next := slices.Repeat([]reached{never}, len(g.edges))
		for n, r := range levels[h] {
			if math.IsInf(r.cost, 1) || n == to || n != from && !g.carries(n) {
				continue
			}
			for _, e := range g.edges[n] {
				if c := r.cost + price(n, e.link); e.to != from && c < next[e.to].cost {
					next[e.to] = reached{c, n, e.link}
				}
			}
		}
		levels = append(levels, next)
		if next[to].cost < levels[best][to].cost {
			best = h + 1
		}
	}
	var nodes, links []int
	at := to
	for h := best; h > 0; h-- {
		r := levels[h][at]
		if i := slices.Index(nodes, at); i >= 0 { // a round: leave it out
			nodes, links = nodes[:i], links[:i]
		}
		nodes, links = append(nodes, at), append(links, r.link)
		at = r.node
	}
	slices.Reverse(links)
	return links, levels[best][to].cost
}

// hopsTo returns how many links each node is from a node, through relays; −1: it can't get there.
func (g *graph) hopsTo(to int) []int {
	hops := slices.Repeat([]int{-1}, len(g.edges))
	hops[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if n != to && !g.carries(n) {
			continue
		}
		for _, e := range g.edges[n] {
			if hops[e.to] < 0 {
				hops[e.to] = hops[n] + 1
				queue = append(queue, e.to)
			}
		}
	}
	return hops
}
