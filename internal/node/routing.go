package node

import (
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/route"
	"mars/internal/wire"
)

// routing joins the router to the forwarder: its messages travel as control messages, and what it learns goes into the RIB.
type routing struct {
	router  *route.Router
	self    wire.Name // that we answer about ourselves by
	relay   bool
	control []forward.Control
	changes []route.Change
	ready   []machine.FaceID
	buf     [route.MaxMessage]byte
}

// EnableRouting makes the node learn routes from its neighbours and announce its own prefixes to them, and answer about itself.
// Call it before any face is up.
func (n *Node) EnableRouting(cfg route.Config) {
	n.routing = &routing{router: route.New(cfg), self: NodeName(cfg.ID), relay: cfg.Relay}
	n.Attach(0, &inspector{node: n}, NodeName(cfg.ID), NeighbourPing)
}

// Announce tells the overlay that this node reaches prefix; Withdraw ends that.
func (n *Node) Announce(now machine.Time, prefix wire.Name) {
	if n.routing != nil {
		n.routing.announce(now, prefix)
		n.pump(now)
	}
}

// Withdraw ends Announce.
func (n *Node) Withdraw(now machine.Time, prefix wire.Name) {
	if n.routing != nil {
		n.routing.withdraw(now, prefix)
		n.pump(now)
	}
}

// Reannounce announces again what is announced: its signature has changed.
func (n *Node) Reannounce(now machine.Time) {
	if n.routing != nil {
		n.routing.router.Reannounce(now)
		n.pump(now)
	}
}

// Tell has all nodes of the overlay know a notice; see route.Router.Tell.
func (n *Node) Tell(now machine.Time, notice route.Notice) {
	if n.routing != nil {
		n.routing.router.Tell(now, notice)
		n.pump(now)
	}
}

// announce announces a prefix, and with a leaf's first one the name by which the leaf answers about itself: a leaf that only fetches
// is on the way of no flow, and the overlay needn't know of it.
func (r *routing) announce(now machine.Time, prefix wire.Name) {
	if !r.relay && prefix.Equal(r.self) {
		return
	}
	r.router.Announce(now, prefix)
	if !r.relay {
		r.router.Announce(now, r.self)
	}
}

// withdraw ends announce.
func (r *routing) withdraw(now machine.Time, prefix wire.Name) {
	r.router.Withdraw(now, prefix)
	if !r.relay && r.router.Announced() == 1 {
		r.router.Withdraw(now, r.self)
	}
}

// Topology is the map that routing has; nil without routing.
func (n *Node) Topology() []route.Node {
	if n.routing == nil {
		return nil
	}
	return n.routing.router.Topology()
}

// exchange moves routing messages and changes between router and forwarder; it tells whether there were any.
func (n *Node) exchange(now machine.Time) bool {
	r := n.routing
	if r == nil {
		n.fw.DropControl()
		return false
	}
	r.control = n.fw.TakeControl(r.control[:0])
	for _, c := range r.control {
		r.router.Receive(now, c.Face, c.Message)
	}
	moved := len(r.control) > 0
	r.ready = r.router.Ready(r.ready[:0])
	for _, face := range r.ready {
		for {
			size := r.router.Transmit(now, face, r.buf[:])
			if size <= 0 {
				break
			}
			n.fw.SendControl(now, face, r.buf[:size])
			moved = true
		}
	}
	r.changes = r.router.Changes(r.changes[:0])
	for _, c := range r.changes {
		if c.Hops == 0 {
			n.unsetRoute(now, c.Prefix, c.Face, wire.OriginRouting)
		} else {
			n.setRoute(now, c.Prefix, ribRoute{face: c.Face, origin: wire.OriginRouting, cost: c.Hops, expires: machine.Never})
		}
	}
	return moved || len(r.changes) > 0
}
