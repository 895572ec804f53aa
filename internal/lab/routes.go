package lab

import (
	"mars/internal/bound"
	"mars/internal/scenario"
)

const unreachable = 1 << 20

// carries tells whether a node carries others' packets.
func carries(w *scenario.World, node int) bool {
	r := w.Nodes[node].Role
	return r == scenario.Relay || r == scenario.Router
}

// peer is the node at the other end of a link.
func peer(w *scenario.World, link, node int) int {
	if l := &w.Links[link]; l.A == node {
		return l.B
	}
	return w.Links[link].A
}

// hopsTo is the number of hops from every node to dest by ways that avoid the node without.
func hopsTo(w *scenario.World, dest, without int) []int {
	dist := make([]int, len(w.Nodes))
	for i := range dist {
		dist[i] = unreachable
	}
	dist[dest] = 0
	queue := []int{dest}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at != dest && !carries(w, at) {
			continue
		}
		for i := range w.Links {
			l := &w.Links[i]
			if l.A != at && l.B != at {
				continue
			}
			if next := peer(w, i, at); next != without && dist[next] == unreachable {
				dist[next] = dist[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return dist
}

// candidates is how many of the shortest routes are looked at for ways that leave by different links.
const candidates = 32

// oracle is one route for each way that leaves the consumer by a link of its own: the shortest, of those with fewer than twice the
// links of the shortest of all.
func oracle(w *scenario.World, flow int) (routes [][]int) {
	if given := w.Flows[flow].Paths; len(given) > 0 {
		return given
	}
	first := map[int]bool{}
	for _, r := range bound.Paths(w, flow, candidates) {
		if len(r) > 1 && len(routes) > 0 && len(r) >= 2*len(routes[0]) {
			break
		}
		if !first[r[0]] {
			first[r[0]] = true
			routes = append(routes, r)
		}
	}
	return routes
}

// shortest is the one route that a network without multipath has.
func shortest(w *scenario.World, flow int) [][]int {
	if given := w.Flows[flow].Paths; len(given) > 0 {
		return given[:1]
	}
	return bound.Paths(w, flow, 1)
}

// objectDirections tells which directions carry objects: those that lead toward a consumer on one of a flow's routes.
func objectDirections(w *scenario.World) []bool {
	heavy := make([]bool, 2*len(w.Links))
	for i := range w.Flows {
		for _, route := range oracle(w, i) {
			at := w.Flows[i].Consumer
			for _, l := range route {
				if w.Links[l].A == at {
					heavy[2*l+1] = true // from B to A, where the consumer is nearer
				} else {
					heavy[2*l] = true
				}
				at = peer(w, l, at)
			}
		}
	}
	return heavy
}
