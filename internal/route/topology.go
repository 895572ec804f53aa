package route

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Node is a node of the map, as operators see it.
type Node struct {
	ID       uint64
	Boot     uint32 // nonce of its run
	Seq      uint64 // of its newest advertisement; 0: of this node, which says nothing (a leaf without prefixes)
	Relay    bool
	Age      machine.Time // since it was issued
	Hops     int          // fewest from here; 0: this node, −1: out of reach
	Links    []Link       // by id
	Prefixes []wire.Name  // that it announces, ascending
}

// Link is a link as one of its ends advertises it.
type Link struct {
	ID   uint64 // of the other end
	Both bool   // the other end advertises it too; if not, it isn't used
}

// Topology returns the map, by node id, with this node in it. The caller may keep it, but not write to the names.
func (r *Router) Topology() []Node {
	hops, ours := r.nearest(), r.links()
	nodes := make([]Node, 0, len(r.order))
	for _, at := range r.order {
		s := &r.slots[at]
		n := Node{
			ID: s.origin, Boot: s.boot, Seq: s.seq, Relay: s.relay, Age: r.now - s.born, Hops: hops[at],
			Links: make([]Link, 0, len(s.links)), Prefixes: s.advert.prefixes,
		}
		for _, id := range s.links {
			o, ok := r.slotOf[id]
			both := ok && r.slots[o].linkedTo(s.origin)
			if id == r.cfg.ID && !ok {
				both = slices.Contains(ours, s.origin)
			}
			n.Links = append(n.Links, Link{id, both})
		}
		nodes = append(nodes, n)
	}
	if _, ok := r.slotOf[r.cfg.ID]; !ok {
		nodes = slices.Insert(nodes, r.place(r.cfg.ID), r.unsaid(ours))
	}
	return nodes
}

// unsaid is this node while it says nothing of itself.
func (r *Router) unsaid(links []uint64) Node {
	n := Node{ID: r.cfg.ID, Boot: r.cfg.Boot, Relay: r.cfg.Relay, Links: make([]Link, 0, len(links))}
	for _, id := range links {
		o, ok := r.slotOf[id]
		n.Links = append(n.Links, Link{id, ok && r.slots[o].linkedTo(r.cfg.ID)})
	}
	return n
}

// nearest returns the fewest hops to every slot.
func (r *Router) nearest() []int {
	hops := make([]int, len(r.slots))
	for i := range hops {
		hops[i] = -1
	}
	hops[self] = 0
	for _, n := range r.neighbours {
		from, ok := r.slotOf[n.id]
		if !ok || r.slots[from].boot != n.boot {
			continue
		}
		r.graph.search(r.slots, from)
		for i, d := range r.graph.dist {
			if d >= 0 && (hops[i] < 0 || int(d)+1 < hops[i]) {
				hops[i] = int(d) + 1
			}
		}
	}
	return hops
}
