package route

import "slices"

// graph searches the map without ourselves. Its slices are kept for the next time.
type graph struct {
	dist  []int32 // by slot, of the last search; −1: out of reach
	queue []int32
}

// relink brings the peers of slot at, and it among theirs, up to its advertisement. A link counts when both ends
// advertise it.
func (d *database) relink(at int32) {
	s := &d.slots[at]
	for _, o := range s.peers {
		p := &d.slots[o].peers
		*p = slices.DeleteFunc(*p, func(x int32) bool { return x == at })
	}
	s.peers = s.peers[:0]
	if s.advert == nil {
		return
	}
	for _, id := range s.links {
		if o, ok := d.slotOf[id]; ok && d.slots[o].linkedTo(s.origin) {
			s.peers = append(s.peers, o)
			d.slots[o].peers = append(d.slots[o].peers, at)
		}
	}
}

func (a *advert) linkedTo(id uint64) bool {
	_, ok := slices.BinarySearch(a.links, id)
	return ok
}

// search computes the distances from a slot, breadth first. Leaves are endpoints: no path leads on from one.
func (g *graph) search(slots []slot, from int32) {
	g.dist = slices.Grow(g.dist[:0], len(slots))[:len(slots)]
	for i := range g.dist {
		g.dist[i] = -1
	}
	g.dist[from] = 0
	g.queue = append(g.queue[:0], from)
	for i := 0; i < len(g.queue); i++ {
		at := g.queue[i]
		if !slots[at].relay {
			continue
		}
		for _, o := range slots[at].peers {
			if g.dist[o] < 0 && o != self {
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
	for _, n := range r.neighbours {
		at, ok := r.slotOf[n.id]
		if !ok || r.slots[at].boot != n.boot {
			n.hops = nil // not in the map yet, or what is there is a former life of it, or a double
			continue
		}
		r.graph.search(r.slots, at)
		n.hops = r.table.hops(r.graph.dist)
	}
	r.table.computed()
	r.changed = true
}
