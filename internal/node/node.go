// Package node composes one MARS node, once, for every driver: a forwarder and the applications attached to it (consumer
// and producer engines), as one machine.Machine. The UDP driver and the simulator run this same value.
package node

import (
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// App is an application on this node: fetch.Engine and publish.Engine are.
type App interface {
	machine.Machine
	// Accepts tells whether the application takes another packet now. While it doesn't, Interests for it wait in
	// their flow's queue, where downstream nodes see them.
	Accepts() bool
}

// localBase is the first FaceID of applications; drivers number their faces from 1.
const localBase machine.FaceID = 1 << 31

// appFace is the one face that an application itself knows.
const appFace machine.FaceID = 1

// Node is a MARS node. See the package comment.
type Node struct {
	fw      *forward.Forwarder
	apps    []attached
	nextApp machine.FaceID
	id      uint64
	routing *routing // nil: static routes alone
	rib     rib
	manage  management
	profile string // answers ProfileName
	buf     [wire.MaxPacket + 512]byte

	onDemand map[machine.FaceID]bool
}

type attached struct {
	app  App
	face machine.FaceID
}

// New returns a node without faces, routes or applications.
func New(cfg forward.Config) *Node {
	n := &Node{fw: forward.New(cfg), nextApp: localBase, id: cfg.ID, rib: newRIB(), onDemand: make(map[machine.FaceID]bool), profile: PaceConsumer}
	if cfg.Profile == forward.ProfileMARS && cfg.Strategy == forward.Mars {
		n.profile = PaceWindows
	}
	return n
}

// Attach connects an application; it is the producer of the given prefixes.
func (n *Node) Attach(now machine.Time, app App, prefixes ...wire.Name) machine.FaceID {
	id := n.nextApp
	n.nextApp++
	n.apps = append(n.apps, attached{app, id})
	n.fw.FaceUp(now, id, machine.Face{Local: true, DataQueue: appQueue})
	for _, p := range prefixes {
		n.setRoute(now, p, ribRoute{face: id, origin: wire.OriginApp, flags: wire.FlagChildInherit, expires: machine.Never})
	}
	n.pump(now)
	return id
}

// appQueue is the Data queue toward an application, packets. The node empties it at once while the application accepts.
const appQueue = 4096

// AddRoute installs a static route.
func (n *Node) AddRoute(now machine.Time, prefix wire.Name, h forward.NextHop) {
	n.setRoute(now, prefix, ribRoute{face: h.Face, origin: wire.OriginStatic, cost: h.Hops, expires: machine.Never})
	n.pump(now)
}

// ID is the node's identifier in routing and labels.
func (n *Node) ID() uint64 { return n.id }

// Forwarder gives read access to counters and state.
func (n *Node) Forwarder() *forward.Forwarder { return n.fw }

// FaceUp implements machine.Machine.
func (n *Node) FaceUp(now machine.Time, face machine.FaceID, f machine.Face) {
	n.fw.FaceUp(now, face, f)
	if f.OnDemand {
		n.onDemand[face] = true
	}
	if n.routing != nil && !f.Local {
		if f.OnDemand {
			n.routing.router.FaceFound(now, face)
		} else {
			n.routing.router.FaceUp(now, face)
		}
	}
	n.pump(now)
}

// FaceDown implements machine.Machine. An on-demand face never comes back, nor does one of an application: its routes and
// all that is known of it go with it. Those by other faces stay, for the faces do.
func (n *Node) FaceDown(now machine.Time, face machine.FaceID) {
	if _, local := n.fw.Face(face); local || n.onDemand[face] {
		delete(n.onDemand, face)
		n.fw.FaceGone(now, face)
		n.dropRoutes(now, face)
	} else {
		n.fw.FaceDown(now, face)
	}
	if n.routing != nil {
		n.routing.router.FaceDown(now, face)
	}
	n.pump(now)
}

// Receive implements machine.Machine.
func (n *Node) Receive(now machine.Time, face machine.FaceID, _ machine.ECN, datagram []byte) {
	n.ReceiveLent(now, face, machine.NotECT, datagram, machine.Part{})
}

// ReceiveLent implements machine.Lender.
func (n *Node) ReceiveLent(now machine.Time, face machine.FaceID, _ machine.ECN, head []byte, tail machine.Part) {
	if n.fw.Take(now, face, head, tail) { // of a part of a packet there is nothing for anybody yet
		n.pump(now)
	}
}

// Advance implements machine.Machine.
func (n *Node) Advance(now machine.Time) {
	n.fw.Advance(now)
	n.expireRoutes(now)
	if n.routing != nil {
		n.routing.router.Advance(now)
	}
	for i := range n.apps {
		n.apps[i].app.Advance(now)
	}
	n.pump(now)
}

// Touch moves the packets that application calls made ready; call it after using an engine.
func (n *Node) Touch(now machine.Time) { n.pump(now) }

// Transmit implements machine.Machine.
func (n *Node) Transmit(now machine.Time, face machine.FaceID, buf []byte) (int, machine.ECN) {
	return n.fw.Transmit(now, face, buf)
}

// TransmitLent implements machine.Lender.
func (n *Node) TransmitLent(now machine.Time, face machine.FaceID, buf []byte) (int, machine.Part, machine.ECN) {
	return n.fw.TransmitLent(now, face, buf)
}

// Ready implements machine.Machine: faces to other nodes only.
func (n *Node) Ready(dst []machine.FaceID) []machine.FaceID {
	from := len(dst)
	dst = n.fw.Ready(dst)
	others := dst[:from]
	for _, id := range dst[from:] {
		if id < localBase {
			others = append(others, id)
		}
	}
	return others
}

// Deadline implements machine.Machine.
func (n *Node) Deadline() machine.Time {
	at := min(n.fw.Deadline(), n.rib.deadline())
	if n.routing != nil {
		at = min(at, n.routing.router.Deadline())
	}
	for i := range n.apps {
		at = min(at, n.apps[i].app.Deadline())
	}
	return at
}

// pump moves packets between the forwarder and the applications until neither has any for the other. It ends: an
// application's output is bounded by its window, a producer's by what it was asked.
func (n *Node) pump(now machine.Time) {
	for moved := true; moved; {
		moved = n.exchange(now)
		moved = n.command(now) || moved
		for i := range n.apps {
			a := &n.apps[i]
			for {
				size, _ := a.app.Transmit(now, appFace, n.buf[:])
				if size <= 0 {
					break
				}
				n.fw.Receive(now, a.face, machine.NotECT, n.buf[:size])
				moved = true
			}
			for a.app.Accepts() {
				size, _ := n.fw.Transmit(now, a.face, n.buf[:])
				if size <= 0 {
					break
				}
				a.app.Receive(now, appFace, machine.NotECT, n.buf[:size])
				moved = true
			}
		}
	}
}
