package endpoint

import (
	"encoding/binary"

	"mars/cc"
	"mars/internal/machine"
)

// conn is one end of a TCP or MPTCP connection. TCP is a connection with one subflow whose sequence is that of the data. Data
// are numbered from 0: byte 0 of the request or of the object.
type conn struct {
	transfer
	how    *Transport
	multi  bool
	client bool
	ctrl   cc.Controller
	token  uint32 // names it to joins
	key    uint64
	subs   []*subflow // by path
	due    machine.Time

	size   int64  // bytes to send; −1: not known yet
	next   int64  // the first that no subflow has got
	acked  int64  // what the peer has in order
	edge   int64  // where its window ends
	again  []span // to send by another subflow than the one that has them
	turn   int    // of the round robin
	burst  int    // bytes that the mainline scheduler still gives to the subflow chosen last
	chosen *subflow

	in     ranges // what has come
	end    int64  // its length; −1: not known yet
	closed bool
	sum    Stats
}

// span is a range of data on its way by a subflow.
type span struct {
	from   int64
	length int
	by     *subflow
}

// requestSize is the length of a request: the number of the object.
const requestSize = 8

// stampSize is what a piece of an object begins with: its offset.
const stampSize = 8

func newConn(h *Host, t transfer, how *Transport, client bool) *conn {
	c := &conn{transfer: t, how: how, multi: how.Protocol == MPTCP, client: client, size: -1, end: -1, due: machine.Never}
	c.key = h.random.Uint64()
	c.token = uint32(c.key >> 32)
	if client {
		c.size = requestSize
	}
	return c
}

// newClient opens a connection by the first face of a request; the others join when it stands.
func newClient(_ machine.Time, h *Host, t transfer, r Request) *conn {
	c := newConn(h, t, r.Transport, true)
	for i, id := range r.Faces {
		if i == 0 || c.multi {
			c.subs = append(c.subs, newSubflow(c, i, id))
		}
	}
	return c
}

// acceptTCP lets a SYN open a connection or join one.
func (h *Host) acceptTCP(now machine.Time, id machine.FaceID, how *Transport, datagram []byte) bool {
	var s segment
	if _, err := s.decode(datagram); err != nil || s.flags&(flagSYN|flagACK|flagRST) != flagSYN {
		return false
	}
	var c *conn
	if s.mp.join {
		for _, k := range h.conns {
			if k, ok := k.(*conn); ok && k.multi && !k.client && k.token == s.mp.token {
				c = k
			}
		}
		if c == nil {
			return false
		}
	} else {
		c = newConn(h, transfer{host: h}, how, false)
		c.multi = c.multi && s.mp.capable
		h.add(c)
	}
	sub := newSubflow(c, len(c.subs), id)
	sub.state = synReceived
	c.subs = append(c.subs, sub)
	h.bind(now, id, c, sub.path)
	return true
}

// control makes the controller when the size of segments is known.
func (c *conn) control(mss int) cc.Controller {
	if c.ctrl == nil {
		ctrl, err := c.how.Control.New(mss)
		if err != nil {
			panic(err) // a face's MTU is never that large or small
		}
		c.ctrl = ctrl
	}
	return c.ctrl
}

// kernel is a time of the kernel in this world.
func (c *conn) kernel(t machine.Time) machine.Time {
	if c.how.Dilation > 1 {
		return machine.Time(float64(t) / c.how.Dilation)
	}
	return t
}

func (c *conn) buffer() int64 {
	if c.how.Buffer > 0 {
		return int64(c.how.Buffer)
	}
	return DefaultBuffer
}

func (c *conn) arm(at machine.Time) { c.due = min(c.due, at) }

// established is called when a subflow stands: the first lets the others join.
func (c *conn) established(now machine.Time, s *subflow) {
	s.control = c.control(s.mss).AddSubflow(now)
	s.controlled = true
	s.rewindow()
	c.sum.Paths++
	if c.client && c.sum.Paths == 1 {
		for _, o := range c.subs {
			o.open(now)
		}
	}
}

// arrived takes data that a subflow has in order.
func (c *conn) arrived(from int64, n int, stamp []byte) {
	if !c.client {
		if from == 0 && n == requestSize && c.size < 0 && len(stamp) >= requestSize {
			c.in.add(0, requestSize)
			c.object = binary.BigEndian.Uint64(stamp)
			if c.size = c.host.size(c.object, c); c.size <= 0 {
				c.reset()
			}
		}
		return
	}
	before := c.in.next
	c.in.add(from, from+int64(n))
	if got := c.in.next - before; got > 0 {
		c.got(int(got))
	}
	c.finished()
}

func (c *conn) finished() {
	if c.client && c.end >= 0 && c.in.next >= c.end && !c.done {
		c.finish()
	}
}

// ends is told where the data end.
func (c *conn) ends(at int64) {
	if c.end < 0 {
		c.end = at
	}
	c.finished()
}

// heard takes the peer's word on the data: what it has, and how much more it takes.
func (c *conn) heard(acked, window int64) {
	acked = min(acked, c.next) // FIN and DATA_FIN count too
	c.acked = max(c.acked, acked)
	c.edge = max(c.edge, acked+window)
}

// push gives data to subflows, as long as there are some that the peer takes and a subflow with room.
func (c *conn) push(now machine.Time) {
	for !c.closed && c.pushAgain() {
	}
	for !c.closed && c.size >= 0 && c.next < c.size {
		s := c.pick(nil)
		if s == nil {
			return
		}
		n := int(min(c.size-c.next, int64(s.mss)))
		if c.next+int64(n) > c.edge {
			if c.quiet() {
				s.persist(now)
			}
			c.stuck(now, s)
			return
		}
		s.assign(c.next, n)
		c.next += int64(n)
	}
}

// quiet tells that nothing is under way, so that no acknowledgement will open the peer's window.
func (c *conn) quiet() bool {
	for _, s := range c.subs {
		if s.first != s.last {
			return false
		}
	}
	return true
}

// pushAgain gives what has to be sent by another subflow to one, unless the peer has it by now.
func (c *conn) pushAgain() bool {
	if len(c.again) == 0 {
		return false
	}
	a := &c.again[0]
	if had := int(c.acked - a.from); had > 0 {
		a.from, a.length = c.acked, a.length-had
	}
	if a.length > 0 {
		s := c.pick(a.by)
		if s == nil {
			return false
		}
		n := min(a.length, s.mss)
		s.assign(a.from, n)
		a.from += int64(n)
		if a.length -= n; a.length > 0 {
			return true
		}
	}
	c.again = append(c.again[:0], c.again[1:]...)
	return true
}

func (c *conn) pathUp(now machine.Time, path, mtu int) {
	c.subs[path].up(now, mtu)
	c.push(now)
}

func (c *conn) pathDown(now machine.Time, path int) {
	c.subs[path].down(now)
	c.push(now)
}

func (c *conn) receive(now machine.Time, path int, ecn machine.ECN, datagram []byte) {
	var s segment
	payload, err := s.decode(datagram)
	if err != nil {
		return
	}
	c.subs[path].receive(now, ecn, &s, payload)
	c.push(now)
}

func (c *conn) advance(now machine.Time) {
	for _, s := range c.subs {
		s.advance(now)
	}
	c.push(now)
	c.due = machine.Never
	for _, s := range c.subs {
		c.arm(s.deadline(now))
	}
}

func (c *conn) ready(now machine.Time, path int) bool { return c.subs[path].ready(now) }

func (c *conn) transmit(now machine.Time, path int, buf []byte) (int, machine.ECN) {
	return c.subs[path].transmit(now, buf)
}

func (c *conn) deadline() machine.Time         { return c.due }
func (c *conn) faceOf(path int) machine.FaceID { return c.subs[path].face }
func (c *conn) paths() int                     { return len(c.subs) }

func (c *conn) abort(machine.Time) {
	c.told = true
	c.reset()
}

// reset ends the connection by RST.
func (c *conn) reset() {
	c.closed = true
	for _, s := range c.subs {
		s.reset = s.state != shut
		s.stop()
	}
}

// dead is told that a subflow has given up; without any other the connection has failed.
func (c *conn) dead(err error) {
	for _, s := range c.subs {
		if s.state != gone {
			return
		}
	}
	c.closed = true
	c.fail(err)
}

func (c *conn) stats() Stats {
	s := c.sum
	s.PerPath = nil
	for _, f := range c.subs {
		s.PerPath = append(s.PerPath, PathStats{
			Window: f.window(), InFlight: f.flying, RTT: f.srtt, Sent: f.sentBytes, Received: f.gotBytes, Lost: f.lostSegments,
		})
	}
	return s
}

func (c *conn) over() bool {
	if c.closed {
		for _, s := range c.subs {
			if s.reset {
				return false
			}
		}
		return true
	}
	for _, s := range c.subs {
		if s.first != s.last || s.ackNow || s.ackAt != machine.Never {
			return false
		}
	}
	return c.client && c.done || !c.client && c.size >= 0 && c.acked >= c.size
}
