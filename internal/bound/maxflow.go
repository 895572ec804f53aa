package bound

import "mars/internal/scenario"

// isolated returns the max-flow of one flow's Data if it were alone, over every route, in Mbit/s (Edmonds and Karp, 1972).
func (n *network) isolated(f *scenario.Flow) (total float64) {
	w, g := n.w, n.g
	left := append([]float64(nil), n.capacity...)
	for {
		via := make([]int, len(w.Nodes)) // the direction by which a node was reached
		reached := make([]bool, len(w.Nodes))
		reached[f.Producer] = true
		for queue := []int{f.Producer}; len(queue) > 0 && !reached[f.Consumer]; queue = queue[1:] {
			n := queue[0]
			if n != f.Producer && !g.carries(n) {
				continue
			}
			for _, e := range g.edges[n] {
				if d := toward(w, e); !reached[e.to] && left[d] > epsilon {
					reached[e.to], via[e.to] = true, d
					queue = append(queue, e.to)
				}
			}
		}
		if !reached[f.Consumer] {
			return total
		}
		least := left[via[f.Consumer]]
		for n := f.Consumer; n != f.Producer; n = tail(w, via[n]) {
			least = min(least, left[via[n]])
		}
		for n := f.Consumer; n != f.Producer; n = tail(w, via[n]) {
			left[via[n]] -= least
			left[via[n]^1] += least
		}
		total += least
	}
}

// toward is the direction of e's link that leads to e.to.
func toward(w *scenario.World, e edge) int {
	if w.Links[e.link].B == e.to {
		return 2 * e.link
	}
	return 2*e.link + 1
}

// tail is the node where a direction begins.
func tail(w *scenario.World, direction int) int {
	if direction%2 == 0 {
		return w.Links[direction/2].A
	}
	return w.Links[direction/2].B
}
