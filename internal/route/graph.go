package route

import "slices"

// graph is the map without ourselves, ready for searches. Its slices are kept for the next time.
type graph struct {
	start []int32 // by slot, where its links begin in to; one more at the end
	to    []int32
	dist  []int32 // by slot, of the last search; −1: out of reach
	queue []int32
}

// build reads the map from d. A link counts when both ends advertise it. Leaves are endpoints: no path leads on from
// one, so that their links aren't needed here.
func (g *graph) build(d *database) {
	g.start, g.to = g.start[:0], g.to[:0]
	for at := range d.slots {
		g.start = append(g.start, int32(len(g.to)))
		s := &d.slots[at]
		if s.advert == nil || !s.relay || int32(at) == self {
			continue
		}
		for _, id := range s.links {
			if o, ok := d.slotOf[id]; ok && o != self && d.slots[o].linkedTo(s.origin) {
				g.to = append(g.to, o)
			}
		}
	}
	g.start = append(g.start, int32(len(g.to)))
}

func (a *advert) linkedTo(id uint64) bool {
	_, ok := slices.BinarySearch(a.links, id)
	return ok
}

// search computes the distances from a slot, breadth first.
func (g *graph) search(from int32) {
	g.dist = slices.Grow(g.dist[:0], len(g.start)-1)[:len(g.start)-1]
	for i := range g.dist {
		g.dist[i] = -1
	}
	g.dist[from] = 0
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue); i++ {
		at := g.queue[i]
		for _, o := range g.to[g.start[at]:g.start[at+1]] {
			if g.dist[o] < 0 {
				g.dist[o] = g.dist[at] + 1
				g.queue = append(g.queue, o)
			}
		}
	}
}

// recompute says that the map has changed. The table follows a little later, once for all changes until then.
func (r *Router) recompute() {
	r.computeAt = min(r.computeAt, r.now+r.cfg.Coalesce)
}

// compute brings the hop counts through every neighbour up to date.
func (r *Router) compute() {
	r.count.Computations++
	r.graph.build(&r.database)
	for _, n := range r.neighbours {
		at, ok := r.slotOf[n.id]
		if !ok || r.slots[at].boot != n.boot {
			n.hops = nil // not in the map yet, or what is there is a former life of it, or a double
			continue
		}
		r.graph.search(at)
		n.hops = r.table.hops(r.graph.dist)
	}
	r.table.computed()
	r.changed = true
}
