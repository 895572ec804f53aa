package sim

import (
	"cmp"
	"fmt"

	"mars/internal/machine"
)

// headerBytes is what IPv4 and UDP add to a datagram.
const headerBytes = 28

// router is a host that forwards IP packets and does nothing else.
type router struct {
	table []int32 // by address: the link to take; −1: none
}

// port is a face of a host's Machine: a link that it leaves by, and the face of the peer that it reaches.
type port struct {
	link   int32
	addr   int32          // of the peer
	face   machine.FaceID // at the peer
	config machine.Face
	header uint8 // bytes that IP and UDP add; 0: headerBytes
	stage  int   // bytes that wait in the link's queue at most before the face blocks, like a socket's send buffer; 0: no bound
}

// turner is an application layer: it does what engines ask for after their Machine has been called.
type turner interface {
	turn(now machine.Time)
}

// host is one node of the network: a router, or a Machine with ports.
type host struct {
	name   string
	router *router
	m      machine.Machine
	lender machine.Lender // the same, if it is one
	app    turner         // nil: none
	ports  []port         // by FaceID−1
	ready  []machine.FaceID
	wake   machine.Time // a blocked face may go on
	clock  clock
}

// run makes m the host's Machine.
func (h *host) run(m machine.Machine) {
	h.m = m
	h.lender, _ = m.(machine.Lender)
}

// event is a moment of the plan: a flow starts, a fault begins or ends.
type event struct {
	at machine.Time
	do func(now machine.Time)
}

// network is hosts, links and time. It is built once and run once.
type network struct {
	hosts  []host
	links  []link
	addrs  []int32 // by address: the host that has it
	bufs   buffers
	tree   tree
	now    machine.Time
	plan   []event // in order of time
	seed   uint64
	hash   uint64 // of everything that arrived
	events int64
	done   func() bool // nil: run to the limit
	acted  bool        // something has happened that may end the run
	trace  *tracer
	late   late           // packets that faults hold back
	watch  func(host int) // called when a host has acted; nil: nobody looks
}

// seal makes the network ready to run: every host, link and port is there. No Machine touches more than the first touched bytes of a
// packet.
func (n *network) seal(mtu, touched int) {
	n.bufs.mtu, n.bufs.stride = mtu, min(touched, mtu)
	for i := range n.links {
		n.links[i].router = n.hosts[n.links[i].to].router
	}
	n.tree = newTree(len(n.links) + len(n.hosts) + 2)
	for i := range n.hosts {
		if n.hosts[i].m != nil {
			n.pump(i)
		}
	}
	n.tree.set(n.planLeaf(), n.planned())
}

func (n *network) planLeaf() int { return len(n.links) + len(n.hosts) }

// at adds an event to the plan. Events of one moment run in the order in which they were added.
func (n *network) at(t machine.Time, do func(now machine.Time)) {
	i := len(n.plan)
	for i > 0 && n.plan[i-1].at > t {
		i--
	}
	n.plan = append(n.plan, event{})
	copy(n.plan[i+1:], n.plan[i:])
	n.plan[i] = event{t, do}
	if n.tree.size > 0 {
		n.tree.set(n.planLeaf(), n.planned())
	}
}

func (n *network) planned() machine.Time {
	if len(n.plan) == 0 {
		return machine.Never
	}
	return n.plan[0].at
}

// maxStuck bounds the events of one moment: a Machine that is always due would stop time.
const maxStuck = 10_000_000

// run plays events until limit, or until done says so.
func (n *network) run(limit machine.Time) {
	links, hosts := len(n.links), len(n.hosts)
	stuck := 0
	for {
		at, leaf := n.tree.next()
		if at > limit {
			n.now = max(n.now, min(limit, at))
			return
		}
		if at == n.now {
			if stuck++; stuck > maxStuck {
				panic(fmt.Sprintf("sim: time stands still at %v ns (leaf %d)", n.now, leaf))
			}
		} else {
			stuck = 0
		}
		n.now = at
		switch {
		case leaf < links:
			n.arrive(&n.links[leaf])
		case leaf < links+hosts:
			h := leaf - links
			n.hosts[h].m.Advance(n.hosts[h].local(at))
			n.pump(h)
			n.acted = true
		case leaf == n.lateLeaf():
			n.arriveLate()
		default:
			e := n.plan[0]
			n.plan = n.plan[1:]
			e.do(at)
			n.tree.set(leaf, n.planned())
			n.acted = true
		}
		if n.acted { // a router's events end nothing
			if n.acted = false; n.done != nil && n.done() {
				return
			}
		}
	}
}

// arrive hands the packet at the head of a link to the host at its end.
func (n *network) arrive(l *link) {
	p := l.take()
	n.tree.set(int(l.id), l.next())
	n.events++
	n.hash = (n.hash ^ uint64(n.now)<<12 ^ uint64(l.id)<<1 ^ uint64(p.size)<<40 ^ uint64(p.ecn)<<62) * 0x9e3779b97f4a7c15
	n.hash ^= n.hash >> 29
	if n.trace != nil {
		n.trace.packet(n.now, l, p)
	}
	if p.lost {
		l.losses++
		n.bufs.put(p.buf)
		return
	}
	if l.mischief != nil && !n.meddle(l, p) {
		return
	}
	n.deliver(l, p)
}

// deliver hands a packet to the host at the end of a link.
func (n *network) deliver(l *link, p *packet) {
	if l.router != nil {
		n.forward(l.router, p)
		return
	}
	h := &n.hosts[l.to]
	if n.addrs[p.addr] != l.to { // no router, and not for it
		n.bufs.put(p.buf)
		return
	}
	n.receive(h, p)
	n.bufs.put(p.buf)
	n.pump(int(l.to))
	n.acted = true
}

// receive hands a packet to a Machine: what is lent of it is lent on to those that know how to take it.
func (n *network) receive(h *host, p *packet) {
	now, size := h.local(n.now), int(p.size)-int(p.header)
	if tail := n.bufs.tail(p.buf); tail.Of != nil && h.lender != nil {
		h.lender.ReceiveLent(now, machine.FaceID(p.face), p.ecn, n.bufs.bytes(p.buf)[:size-tail.Len()], tail)
		return
	}
	h.m.Receive(now, machine.FaceID(p.face), p.ecn, n.bufs.flat(p.buf, size)[:size])
}

// transmit takes the next datagram of a face into a slot; its length, or as Transmit.
func (n *network) transmit(h *host, face machine.FaceID, slot int32) (int, machine.ECN) {
	if h.lender == nil {
		return h.m.Transmit(h.local(n.now), face, n.bufs.bytes(slot))
	}
	size, tail, ecn := h.lender.TransmitLent(h.local(n.now), face, n.bufs.bytes(slot))
	n.bufs.lend(slot, tail)
	return size + tail.Len(), ecn
}

func (n *network) forward(r *router, p *packet) {
	out := int32(-1)
	if int(p.addr) < len(r.table) {
		out = r.table[p.addr]
	}
	if out < 0 || !n.links[out].send(n.now, p) {
		n.bufs.put(p.buf)
		return
	}
	if l := &n.links[out]; l.n == 1 {
		n.tree.set(int(l.id), l.next())
	}
}

// pump moves packets from a host's Machine to its links until it has none, then sets its timer.
func (n *network) pump(i int) {
	h := &n.hosts[i]
	h.wake = machine.Never
	now := h.local(n.now)
	for {
		if h.app != nil {
			h.app.turn(now)
		}
		h.ready = h.m.Ready(h.ready[:0])
		sent := false
		for _, face := range h.ready {
			sent = n.drain(h, face) || sent
		}
		if !sent {
			break
		}
	}
	n.tree.set(len(n.links)+i, max(min(h.clock.when(h.m.Deadline()), h.wake), n.now))
	if n.watch != nil {
		n.watch(i)
	}
}

// drain moves what one face has to send to its link; it tells whether there was anything.
func (n *network) drain(h *host, face machine.FaceID) bool {
	p := &h.ports[face-1]
	l := &n.links[p.link]
	header := cmp.Or(p.header, headerBytes)
	sent := false
	for {
		if p.stage > 0 {
			if at := l.room(n.now, p.stage); at > n.now {
				h.wake = min(h.wake, at)
				return sent
			}
		}
		slot := n.bufs.get()
		size, ecn := n.transmit(h, face, slot)
		if size <= 0 {
			n.bufs.put(slot)
			if size < 0 {
				panic(fmt.Sprintf("sim: %s wants to send %d bytes by a face whose MTU is %d", h.name, -size, n.bufs.mtu))
			}
			return sent
		}
		sent = true
		if !l.send(n.now, &packet{buf: slot, size: uint16(size + int(header)), header: header, addr: p.addr, face: uint16(p.face), ecn: ecn}) {
			n.bufs.put(slot)
		} else if l.n == 1 {
			n.tree.set(int(l.id), l.next())
		}
	}
}
