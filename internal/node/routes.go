package node

import (
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// setRoute adds a route of some origin, or replaces it.
func (n *Node) setRoute(now machine.Time, prefix wire.Name, r ribRoute) {
	n.rib.set(prefix, r)
	n.installed(prefix, r.face)
	if _, local := n.fw.Face(r.face); local {
		n.announce(now, prefix)
	}
}

// unsetRoute removes the route of one origin.
func (n *Node) unsetRoute(now machine.Time, prefix wire.Name, face machine.FaceID, origin uint64) {
	n.rib.unset(prefix, face, origin)
	n.removed(now, prefix, face)
}

// dropRoutes removes every route by the face of an application that has ended.
func (n *Node) dropRoutes(now machine.Time, face machine.FaceID) {
	for _, p := range n.rib.of(face) {
		for r, ok := n.rib.best(p, face); ok; r, ok = n.rib.best(p, face) {
			n.rib.unset(p, face, r.origin)
		}
		n.installed(p, face)
		n.withdraw(now, p)
	}
}

func (n *Node) expireRoutes(now machine.Time) {
	for prefix, face, ok := n.rib.expired(now); ok; prefix, face, ok = n.rib.expired(now) {
		n.removed(now, prefix, face)
	}
}

// removed follows the loss of a route by face, of which others may remain.
func (n *Node) removed(now machine.Time, prefix wire.Name, face machine.FaceID) {
	n.installed(prefix, face)
	if _, local := n.fw.Face(face); local {
		n.withdraw(now, prefix)
	}
}

// installed makes the FIB's route to prefix by face that of the RIB.
func (n *Node) installed(prefix wire.Name, face machine.FaceID) {
	if r, ok := n.rib.best(prefix, face); ok {
		n.fw.AddRoute(prefix, forward.NextHop{Face: face, Hops: r.cost, Static: r.origin == wire.OriginStatic})
		return
	}
	n.fw.RemoveRoute(prefix, face)
}

var localScope = [...]wire.Name{wire.MustParseName("/localhost"), wire.MustParseName("/localhop")}

// announced tells whether the overlay is told of a prefix that applications here produce. Everything, and what is meant for
// this node or its neighbours alone, is not.
func announced(prefix wire.Name) bool {
	for _, scope := range localScope {
		if prefix.HasPrefix(scope) {
			return false
		}
	}
	return len(prefix) > 0
}

func (n *Node) announce(now machine.Time, prefix wire.Name) {
	if n.routing != nil && announced(prefix) {
		n.routing.announce(now, prefix)
	}
}

// withdraw ends announce when no application here produces the prefix any more.
func (n *Node) withdraw(now machine.Time, prefix wire.Name) {
	for _, r := range n.rib.byPrefix[string(prefix)] {
		if _, local := n.fw.Face(r.face); local {
			return
		}
	}
	if n.routing != nil && announced(prefix) {
		n.routing.withdraw(now, prefix)
	}
}
