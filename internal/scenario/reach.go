package scenario

import "slices"

// reach knows which nodes are neighbours. Only relays and routers carry others' traffic.
type reach struct {
	w          *World
	neighbours [][]int
}

func newReach(w *World) *reach {
	r := &reach{w, make([][]int, len(w.Nodes))}
	for _, l := range w.Links {
		r.neighbours[l.A] = append(r.neighbours[l.A], l.B)
		r.neighbours[l.B] = append(r.neighbours[l.B], l.A)
	}
	return r
}

func (r *reach) carries(n int) bool { return r.w.Nodes[n].Role == Relay || r.w.Nodes[n].Role == Router }

// hops returns how many links each node is from one; −1: it can't be reached.
func (r *reach) hops(from int) []int {
	hops := slices.Repeat([]int{-1}, len(r.w.Nodes))
	hops[from] = 0
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if n != from && !r.carries(n) {
			continue
		}
		for _, m := range r.neighbours[n] {
			if hops[m] < 0 {
				hops[m] = hops[n] + 1
				queue = append(queue, m)
			}
		}
	}
	return hops
}

// islands numbers the relays and routers so that those with the same number reach each other; others have −1.
func (r *reach) islands() []int {
	island := slices.Repeat([]int{-1}, len(r.w.Nodes))
	for n := range island {
		if island[n] >= 0 || !r.carries(n) {
			continue
		}
		island[n] = n
		for queue := []int{n}; len(queue) > 0; queue = queue[1:] {
			for _, m := range r.neighbours[queue[0]] {
				if island[m] < 0 && r.carries(m) {
					island[m] = n
					queue = append(queue, m)
				}
			}
		}
	}
	return island
}

// reachable wants a route for every flow: a link, or an island that both ends touch.
func (b *builder) reachable(root *value) {
	at := root.at
	if f := root.field("workload"); f != nil {
		at = f.at
	}
	r := newReach(b.w)
	island := r.islands()
	for _, f := range b.w.Flows {
		near := r.neighbours[f.Consumer]
		touches := func(n int) bool {
			return island[n] >= 0 && slices.ContainsFunc(near, func(m int) bool { return island[m] == island[n] })
		}
		if !slices.Contains(near, f.Producer) && !slices.ContainsFunc(r.neighbours[f.Producer], touches) {
			b.d.fail(at, "workload", ErrRoute, "add the links between (consumers and producers carry nobody else's traffic)",
				"flow %s has no route from %s to %s", f.Name, b.w.Nodes[f.Consumer].Name, b.w.Nodes[f.Producer].Name)
		}
	}
}
