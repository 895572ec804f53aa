package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// quicConn is one end of a QUIC connection with one or more paths (RFC 9000, RFC 9002, RFC 10069). It carries one object on stream 0:
// the client sends its number, the server the object.
//
// The handshake is that of one round trip, as bytes: flights of fixed size that mean nothing, in packets with long headers. All of a
// path's packets are of one number space; real handshakes have three on path 0.
type quicConn struct {
	transfer
	how    *Transport
	client bool
	all    []*quicPath // in the order in which they were made
	ids    []pathIDs   // by path ID
	due    machine.Time

	shared cc.Controller // of all paths; with mp-quic's assignment of all but the first, while that is alone

	crypto    outStream
	hello     ranges // of the peer's crypto stream
	secured   bool   // the handshake is over at this end
	confirmed bool   // and at the other
	heardAt   machine.Time

	out outStream
	in  ranges
	end int64 // of the peer's stream; −1: not known yet

	streamLimit, allLimit int64    // bytes that the peer takes on the stream, and on all
	forStream, forAll     inWindow // and this end

	tells  uint8 // what has to be sent by any path: carries… bits
	turn   int   // of the round robin
	closed bool
	left   bool // the peer has ended it
	code   uint64
	bye    int // CONNECTION_CLOSE goes by this path; −1: nothing to send
	after  int // datagrams that came after the end
	sum    Stats
}

// pathIDs are the connection IDs of a path: what its packets to this end and to the peer are addressed to.
type pathIDs struct {
	own, peer cid
	known     bool // peer's
}

const (
	// Sizes of the flights of the handshake, bytes: ClientHello, ServerHello to Finished with a chain of two ECDSA certificates, and
	// the client's Finished.
	clientHelloSize  = 300
	serverFlightSize = 2400
	finishedSize     = 36

	// mostPaths is how many paths a connection may have: their connection IDs fit in one packet.
	mostPaths = 32

	// quicGiveUp is how long a connection lasts when nothing comes (RFC 9000 §10.1).
	quicGiveUp = 30 * machine.Second
)

// Why connections are closed (RFC 9000 §20.1).
const (
	closeNone      = 0
	closeRefused   = 2
	closeFlow      = 3
	closeEncoding  = 7
	closeViolation = 10
)

func newQUIC(now machine.Time, h *Host, t transfer, how *Transport, client bool) *quicConn {
	c := &quicConn{transfer: t, how: how, client: client, end: -1, due: machine.Never, bye: -1, heardAt: now}
	most := int64(DefaultBuffer)
	if how.Buffer > 0 {
		most = int64(how.Buffer)
	}
	c.forStream, c.forAll = newInWindow(most), newInWindow(most)
	c.streamLimit, c.allLimit = c.forStream.limit, c.forAll.limit // transport parameters: both ends are alike
	c.out, c.crypto = newOutStream(-1, c.streamLimit), newOutStream(0, maxVarint)
	if client {
		c.out.size, c.crypto.size = requestSize, clientHelloSize
	}
	c.arm(now + quicGiveUp)
	return c
}

// addID makes the connection IDs of one more path.
func (c *quicConn) addID() {
	var k pathIDs
	for i := range k.own {
		k.own[i] = byte(c.host.random.Uint32())
	}
	c.ids = append(c.ids, k)
}

// newQUICClient opens a connection by the first face of a request. The other paths are opened when it stands.
func newQUICClient(now machine.Time, h *Host, t transfer, r Request) *quicConn {
	c := newQUIC(now, h, t, r.Transport, true)
	for i, id := range r.Faces[:min(len(r.Faces), mostPaths)] {
		c.addID()
		c.all = append(c.all, newQUICPath(c, i, id))
	}
	for i := range c.ids[0].peer { // until the server names itself (RFC 9000 §7.2)
		c.ids[0].peer[i] = byte(h.random.Uint32())
	}
	c.ids[0].known = true
	c.all[0].state = pathOpening
	return c
}

// acceptQUIC lets an Initial packet open a connection, and a packet with a connection ID that was given out open a path.
func (h *Host) acceptQUIC(now machine.Time, id machine.FaceID, how *Transport, datagram []byte) bool {
	var head quicHeader
	if _, err := head.decode(datagram); err != nil {
		return false
	}
	if head.kind == packetShort {
		for _, k := range h.conns {
			if c, ok := k.(*quicConn); ok && !c.client && c.join(now, id, head.dest) {
				return true
			}
		}
		return false
	}
	if head.kind != packetInitial || len(datagram) < leastInitial {
		return false
	}
	c := newQUIC(now, h, transfer{host: h}, how, false)
	c.addID()
	c.ids[0].peer, c.ids[0].known = head.source, true
	p := newQUICPath(c, 0, id)
	p.state = pathOpening
	c.all = append(c.all, p)
	h.add(c)
	h.bind(now, id, c, 0)
	return true
}

// join makes a path for a packet that came to a connection ID of one that doesn't exist yet.
func (c *quicConn) join(now machine.Time, face machine.FaceID, dest cid) bool {
	for id := range c.ids {
		if c.ids[id].own == dest && c.ids[id].known && c.path(id) == nil && !c.closed {
			p := newQUICPath(c, id, face)
			c.all = append(c.all, p)
			c.host.bind(now, face, c, p.index)
			p.open()
			return true
		}
	}
	return false
}

// path finds a path by its ID; nil: there is none.
func (c *quicConn) path(id int) *quicPath {
	for _, p := range c.all {
		if p.id == id {
			return p
		}
	}
	return nil
}

// openPaths begins to validate the paths that may be.
func (c *quicConn) openPaths() {
	for _, p := range c.all[1:] {
		if c.client && c.secured && c.ids[p.id].known {
			p.open()
		}
	}
}

// stood is called when a path carries data: it gets its congestion control.
func (c *quicConn) stood(now machine.Time, p *quicPath) {
	c.sum.Paths++
	if c.how.Assignment {
		c.assign(now, p)
		return
	}
	c.controlBy(now, p, c.common(p.mtu, c.how.Control))
}

// controlBy gives a path a controller.
func (c *quicConn) controlBy(now machine.Time, p *quicPath, ctrl cc.Controller) {
	if p.controlled {
		p.control.RemoveSubflow(now, p.flow)
	}
	p.control, p.flow, p.controlled = ctrl, ctrl.AddSubflow(now), true
}

// common is the controller of all paths.
func (c *quicConn) common(mtu int, a cc.Algorithm) cc.Controller {
	if c.shared == nil {
		c.shared = newControl(a, mtu)
	}
	return c.shared
}

func newControl(a cc.Algorithm, mtu int) cc.Controller {
	ctrl, err := a.New(mtu)
	if err != nil {
		panic(err) // a face's MTU is never that large or small
	}
	return ctrl
}

func (c *quicConn) arm(at machine.Time) { c.due = min(c.due, at) }

func (c *quicConn) pathUp(now machine.Time, path, mtu int) {
	p := c.all[path]
	back := p.mtu > 0
	p.up = true
	if !back {
		p.mtu = mtu // what was sent keeps its size; a path whose MTU falls isn't modelled
	}
	switch {
	case back && p.state != pathShut: // after an outage: ask at once
		p.out.timeouts, p.out.probes = 0, 1
		p.setTimer(now)
	case p.index > 0:
		c.openPaths()
	}
}

func (c *quicConn) pathDown(now machine.Time, path int) {
	p := c.all[path]
	p.up = false
	if p.state == pathStanding && !p.failed && p.others() {
		p.fail(now)
	}
}

func (c *quicConn) advance(now machine.Time) {
	if !c.closed && now >= c.heardAt+quicGiveUp {
		c.closed = true
		c.fail(ErrTimeout)
	}
	c.due = machine.Never
	if c.closed {
		return
	}
	for _, p := range c.all {
		if now >= p.in.at {
			p.in.now, p.in.at = true, machine.Never
		}
		if now >= p.out.due {
			p.fire(now)
		}
	}
	c.due = c.heardAt + quicGiveUp
	for _, p := range c.all {
		c.arm(min(p.in.at, p.out.due))
		if p.paceAt > now && p.usable() && c.hasData() {
			c.arm(p.paceAt)
		}
	}
}

func (c *quicConn) deadline() machine.Time         { return c.due }
func (c *quicConn) faceOf(path int) machine.FaceID { return c.all[path].face }
func (c *quicConn) paths() int                     { return len(c.all) }

func (c *quicConn) abort(machine.Time) {
	c.told = true
	c.close(closeNone)
}

// close ends the connection, and tells the peer.
func (c *quicConn) close(code uint64) {
	if c.closed {
		return
	}
	c.closed, c.code, c.bye, c.due = true, code, 0, machine.Never
	if p := c.best(); p != nil {
		c.bye = p.index
	}
}

func (c *quicConn) stats() Stats {
	s := c.sum
	s.PerPath = nil
	for _, p := range c.all {
		s.PerPath = append(s.PerPath, PathStats{
			Window: p.window(), InFlight: p.out.flying, RTT: p.out.srtt, Sent: p.sentBytes, Received: p.gotBytes,
		})
	}
	return s
}

func (c *quicConn) over() bool {
	if c.closed {
		return c.bye < 0
	}
	for _, p := range c.all {
		if p.in.now || p.in.at != machine.Never {
			return false
		}
	}
	return c.client && c.done || !c.client && c.out.complete()
}
