package sim

import (
	"slices"

	"mars/internal/scenario"
)

// unreachable is the distance of what can't be reached.
const unreachable = 1 << 20

// graph is the topology as routing sees it.
type graph struct {
	w     *scenario.World
	links [][]int // by node: its links, in the order of the file
}

func newGraph(w *scenario.World) *graph {
	g := &graph{w: w, links: make([][]int, len(w.Nodes))}
	for i := range w.Links {
		l := &w.Links[i]
		g.links[l.A] = append(g.links[l.A], i)
		g.links[l.B] = append(g.links[l.B], i)
	}
	return g
}

// transit tells whether a node carries others' packets.
func (g *graph) transit(node int) bool {
	r := g.w.Nodes[node].Role
	return r == scenario.Relay || r == scenario.Router
}

// peer is the node at the other end of a link.
func (g *graph) peer(link, node int) int {
	if l := &g.w.Links[link]; l.A == node {
		return l.B
	}
	return g.w.Links[link].A
}

// hops is the number of hops from every node to dest, by ways that avoid the node without (−1: none).
func (g *graph) hops(dest, without int) []int {
	dist := make([]int, len(g.w.Nodes))
	for i := range dist {
		dist[i] = unreachable
	}
	dist[dest] = 0
	queue := []int{dest}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if u != dest && !g.transit(u) {
			continue
		}
		for _, l := range g.links[u] {
			v := g.peer(l, u)
			if v == without || dist[v] != unreachable {
				continue
			}
			dist[v] = dist[u] + 1
			queue = append(queue, v)
		}
	}
	return dist
}

// nextHop is one way of routing toward a node: the link to take, and the hops to go by it.
type nextHop struct{ link, hops int }

// nextHops lists for node the ways to dest through each of its neighbours, with node itself removed from their ways.
func (g *graph) nextHops(node, dest int) []nextHop {
	dist := g.hops(dest, node)
	var all []nextHop
	for _, l := range g.links[node] {
		v := g.peer(l, node)
		if dist[v] != unreachable && (v == dest || g.transit(v)) {
			all = append(all, nextHop{l, dist[v] + 1})
		}
	}
	return all
}

// shortest is the next hop with the fewest hops; the least delay, then the order in the file, break ties.
func (g *graph) shortest(node, dest int) (nextHop, bool) {
	best, ok := nextHop{}, false
	for _, h := range g.nextHops(node, dest) {
		if !ok || h.hops < best.hops || h.hops == best.hops && g.w.Links[h.link].AB.Delay < g.w.Links[best.link].AB.Delay {
			best, ok = h, true
		}
	}
	return best, ok
}

// directed is the number of a scenario link's direction that leaves node.
func (g *graph) directed(link, node int) int32 {
	if g.w.Links[link].A == node {
		return int32(2 * link)
	}
	return int32(2*link + 1)
}

// address is the address of node's end of a link.
func (g *graph) address(link, node int) int32 { return g.directed(link, node) }

// maxEqual bounds the equally short routes that are looked at, as routers do.
const maxEqual = 64

// equal lists the routes with the fewest links, in the order of the file; at least one, since scenarios without are refused.
func (g *graph) equal(node, dest int) (all [][]int) {
	dist := g.hops(dest, -1)
	var walk func(at int, route []int)
	walk = func(at int, route []int) {
		if at == dest {
			all = append(all, slices.Clone(route))
			return
		}
		for _, l := range g.links[at] {
			if v := g.peer(l, at); len(all) < maxEqual && dist[v] == dist[at]-1 && (v == dest || g.transit(v)) {
				walk(v, append(route, l))
			}
		}
	}
	walk(node, nil)
	return all
}

// disjoint lists for each of node's links the shortest route that leaves by it, the shortest first, of those that have fewer than
// twice the links of the shortest.
func (g *graph) disjoint(node, dest int) (all [][]int) {
	hops := g.nextHops(node, dest)
	slices.SortStableFunc(hops, func(a, b nextHop) int { return a.hops - b.hops })
	for _, h := range hops {
		if h.hops > 1 && h.hops >= 2*hops[0].hops {
			break
		}
		route, at := []int{h.link}, g.peer(h.link, node)
		for dist := g.hops(dest, node); at != dest; {
			for _, l := range g.links[at] {
				if v := g.peer(l, at); v != node && dist[v] == dist[at]-1 && (v == dest || g.transit(v)) {
					route, at = append(route, l), v
					break
				}
			}
		}
		all = append(all, route)
	}
	return all
}
