package endpoint

import (
	"math/rand/v2"

	"mars/internal/machine"
)

// Config makes a Host.
type Config struct {
	Seed uint64
	// Size is the length of an object that the Host serves, > 0; 0: there is none. nil: it serves nothing.
	Size func(object uint64) int64
}

// Host is the Machine of a computer whose connections run over its faces.
type Host struct {
	config  Config
	random  *rand.Rand
	faces   []face // by FaceID−1
	conns   []connection
	byID    []connection     // by ID−1: connections that fetch
	served  []served         // connections by what they serve, in the order of their beginning
	hot     []machine.FaceID // faces that may have something to send, in the order in which they got it
	due     machine.Time     // no later than the earliest deadline of the connections
	now     machine.Time     // of the last call
	changed []*transfer      // since Events was called
}

// face is a path of a connection, or one on which connections may be opened.
type face struct {
	conn    connection // nil: none yet
	path    int        // of it
	listens *Transport // nil: not
	mtu     int
	up      bool
	hot     bool // it is in Host.hot
}

type served struct {
	object uint64
	conn   connection
}

// connection is one end of one connection. Its paths are numbered in the order in which it got them.
type connection interface {
	// pathUp tells that a path exists or has come back, and what datagrams it carries; pathDown that it is gone.
	pathUp(now machine.Time, path, mtu int)
	pathDown(now machine.Time, path int)
	receive(now machine.Time, path int, ecn machine.ECN, datagram []byte)
	// advance fires what is due.
	advance(now machine.Time)
	// ready tells whether a path may send a datagram now.
	ready(now machine.Time, path int) bool
	// transmit is Machine.Transmit.
	transmit(now machine.Time, path int, buf []byte) (int, machine.ECN)
	// deadline is no later than the next moment at which advance has something to do; after advance it is exact.
	deadline() machine.Time
	// faceOf is the face of a path; paths says how many there are.
	faceOf(path int) machine.FaceID
	paths() int
	// abort ends it, and tells the peer if it can.
	abort(now machine.Time)
	stats() Stats
	// over tells that it has nothing to do any more, whatever comes: the Host forgets it.
	over() bool
}

// New makes a Host without faces.
func New(c Config) *Host {
	return &Host{config: c, random: rand.New(rand.NewPCG(c.Seed, 0)), due: machine.Never}
}

// Listen lets peers open connections, or paths of them, on a face.
func (h *Host) Listen(id machine.FaceID, t *Transport) { h.face(id).listens = t }

// Fetch begins a transfer. Its faces must be up and carry no other connection.
func (h *Host) Fetch(now machine.Time, r Request) ID {
	h.now = now
	id := ID(len(h.byID) + 1)
	t := transfer{host: h, id: id, object: r.Object}
	var c connection
	switch r.Transport.Protocol {
	case MPQUIC:
		c = newQUICClient(now, h, t, r)
	default:
		c = newClient(now, h, t, r)
	}
	h.byID = append(h.byID, c)
	h.add(c)
	for i := range c.paths() {
		f := h.face(c.faceOf(i))
		f.conn, f.path = c, i
		c.pathUp(now, i, f.mtu)
	}
	h.touch(c)
	return id
}

// Abort ends a transfer; it isn't told of any more.
func (h *Host) Abort(now machine.Time, id ID) {
	h.now = now
	if id < 1 || int(id) > len(h.byID) {
		return
	}
	c := h.byID[id-1]
	c.abort(now)
	h.touch(c)
}

// Stats are the figures of a transfer.
func (h *Host) Stats(id ID) Stats {
	if id < 1 || int(id) > len(h.byID) {
		return Stats{}
	}
	return h.byID[id-1].stats()
}

// Served are the figures of the latest connection by which an object was served.
func (h *Host) Served(object uint64) Stats {
	for i := len(h.served) - 1; i >= 0; i-- {
		if h.served[i].object == object {
			return h.served[i].conn.stats()
		}
	}
	return Stats{}
}

// size is the length of an object, and notes who serves it; 0: there is none.
func (h *Host) size(object uint64, c connection) int64 {
	if h.config.Size == nil {
		return 0
	}
	h.served = append(h.served, served{object, c})
	return h.config.Size(object)
}

func (h *Host) face(id machine.FaceID) *face {
	for int(id) > len(h.faces) {
		h.faces = append(h.faces, face{})
	}
	return &h.faces[id-1]
}

// add takes a connection in.
func (h *Host) add(c connection) { h.conns = append(h.conns, c) }

// bind makes a face the next path of a connection.
func (h *Host) bind(now machine.Time, id machine.FaceID, c connection, path int) {
	f := h.face(id)
	f.conn, f.path = c, path
	c.pathUp(now, path, f.mtu)
}

// touch notes what a connection has to send, and when it is due.
func (h *Host) touch(c connection) {
	for i := range c.paths() {
		h.heat(c.faceOf(i))
	}
	h.due = min(h.due, c.deadline())
}

// heat has Ready look at a face that may send.
func (h *Host) heat(id machine.FaceID) {
	if f := &h.faces[id-1]; !f.hot && f.up && f.conn.ready(h.now, f.path) {
		f.hot = true
		h.hot = append(h.hot, id)
	}
}

// FaceUp implements Machine.
func (h *Host) FaceUp(now machine.Time, id machine.FaceID, c machine.Face) {
	h.now = now
	f := h.face(id)
	f.up, f.mtu = true, c.MTU
	if f.conn != nil {
		f.conn.pathUp(now, f.path, f.mtu)
		h.touch(f.conn)
	}
}

// FaceDown implements Machine.
func (h *Host) FaceDown(now machine.Time, id machine.FaceID) {
	h.now = now
	f := h.face(id)
	f.up = false
	if f.conn != nil {
		f.conn.pathDown(now, f.path)
		h.touch(f.conn)
	}
}

// Receive implements Machine.
func (h *Host) Receive(now machine.Time, id machine.FaceID, ecn machine.ECN, datagram []byte) {
	h.now = now
	f := h.face(id)
	if !f.up {
		return
	}
	if f.conn == nil {
		if f.listens == nil || !h.accept(now, id, f.listens, datagram) {
			return
		}
		f = h.face(id)
	}
	f.conn.receive(now, f.path, ecn, datagram)
	h.touch(f.conn)
}

// accept lets the first datagram on a face open a connection, or a path of one.
func (h *Host) accept(now machine.Time, id machine.FaceID, t *Transport, datagram []byte) bool {
	switch t.Protocol {
	case MPQUIC:
		return h.acceptQUIC(now, id, t, datagram)
	default:
		return h.acceptTCP(now, id, t, datagram)
	}
}

// Advance implements Machine.
func (h *Host) Advance(now machine.Time) {
	h.now = now
	if now < h.due {
		return
	}
	h.due = machine.Never
	kept := h.conns[:0]
	for _, c := range h.conns {
		if c.deadline() <= now {
			c.advance(now)
		}
		h.touch(c)
		if !c.over() {
			kept = append(kept, c)
		}
	}
	clear(h.conns[len(kept):])
	h.conns = kept
}

// Transmit implements Machine.
func (h *Host) Transmit(now machine.Time, id machine.FaceID, buf []byte) (int, machine.ECN) {
	h.now = now
	f := h.face(id)
	if f.conn == nil || !f.up {
		return 0, machine.NotECT
	}
	n, ecn := f.conn.transmit(now, f.path, buf)
	h.due = min(h.due, f.conn.deadline())
	if last := len(h.hot) - 1; n == 0 && last >= 0 && h.hot[last] == id { // Ready needn't look again
		h.hot, f.hot = h.hot[:last], false
	}
	if n == 0 && f.conn.paths() > 1 { // it may be another path's turn
		h.touch(f.conn)
	}
	return n, ecn
}

// Ready implements Machine.
func (h *Host) Ready(dst []machine.FaceID) []machine.FaceID {
	kept := h.hot[:0]
	for _, id := range h.hot {
		f := &h.faces[id-1]
		if f.hot = f.up && f.conn.ready(h.now, f.path); f.hot {
			kept, dst = append(kept, id), append(dst, id)
		}
	}
	h.hot = kept
	return dst
}

// Deadline implements Machine.
func (h *Host) Deadline() machine.Time { return h.due }
