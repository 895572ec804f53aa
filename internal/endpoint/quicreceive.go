package endpoint

import (
	"encoding/binary"

	"mars/internal/machine"
)

// receive takes a packet.
func (c *quicConn) receive(now machine.Time, path int, ecn machine.ECN, datagram []byte) {
	p := c.all[path]
	var h quicHeader
	rest, err := h.decode(datagram)
	if err != nil || h.dest != c.ids[p.id].own && (h.kind == packetShort || c.client) {
		return
	}
	if c.closed {
		if c.after++; !c.left && c.after&(c.after-1) == 0 { // the peer hasn't heard of the end (RFC 9000 §10.2.1)
			c.bye = path
		}
		return
	}
	frames := h.open(rest, p.in.largest)
	p.wireIn += int64(len(datagram))
	if !p.in.add(now, h.number) {
		p.in.now = true
		return
	}
	c.heardAt = now
	p.in.mark(ecn)
	switch {
	case h.kind == packetHandshake && !c.client:
		p.valid = true // it has got what was sent to its address (RFC 9000 §8.1)
	case h.kind != packetShort && c.client:
		c.ids[0].peer = h.source
	}
	var f frame
	elicits := false
	for len(frames) > 0 && !c.closed {
		if frames, err = f.next(frames); err != nil {
			c.close(closeEncoding)
			c.fail(err)
			return
		}
		elicits = elicits || f.kind != framePadding && f.kind != frameAck && f.kind != frameClose
		c.take(now, p, &f)
	}
	if elicits {
		p.in.want(now, h.number, ecn == machine.CE)
		p.in.now = p.in.now || c.done || !c.secured
		c.arm(p.in.at)
	}
}

// take takes a frame.
func (c *quicConn) take(now machine.Time, p *quicPath, f *frame) {
	switch f.kind {
	case frameAck:
		if q := c.path(int(f.path)); q != nil && !q.onAck(now, f) {
			c.close(closeViolation)
			c.fail(errQUIC)
		}
	case frameCrypto:
		c.takeCrypto(now, f)
	case frameStream:
		c.takeStream(now, p, f)
	case frameMaxData:
		c.allLimit = max(c.allLimit, int64(f.value))
		c.out.limit = min(c.streamLimit, c.allLimit)
	case frameMaxStreamData:
		c.streamLimit = max(c.streamLimit, int64(f.value))
		c.out.limit = min(c.streamLimit, c.allLimit)
	case frameChallenge:
		p.answers, p.response = true, f.value
	case frameResponse:
		if p.state == pathOpening && p.index > 0 && f.value == p.challenge {
			p.asks = false
			p.stand(now)
		}
	case framePathConnID:
		if f.path > 0 && f.path < uint64(len(c.ids)) {
			c.ids[f.path].peer, c.ids[f.path].known = f.id, true
			c.openPaths()
		}
	case frameDone:
		c.confirmed = true
	case frameClose:
		c.closed, c.left, c.due = true, true, machine.Never
		c.fail(ErrReset)
	}
}

// takeCrypto takes a piece of the handshake: when a flight is whole, the next may go.
func (c *quicConn) takeCrypto(now machine.Time, f *frame) {
	c.hello.add(int64(f.offset), int64(f.offset)+int64(len(f.data)))
	if !c.client && f.offset == 0 && len(f.data) > 0 && len(c.ids) == 1 { // the transport parameter initial_max_path_id
		for len(c.ids) < min(int(f.data[0]), mostPaths) {
			c.addID()
		}
		c.issue()
	}
	switch {
	case c.secured:
	case c.client && c.hello.next >= serverFlightSize:
		c.secured = true
		c.crypto.size += finishedSize
		c.issue()
		c.all[0].stand(now)
		c.openPaths()
	case !c.client && c.hello.next >= clientHelloSize+finishedSize:
		c.secured, c.confirmed = true, true
		c.tells |= carriesDone
		c.all[0].stand(now)
	case !c.client && c.hello.next >= clientHelloSize:
		c.crypto.size = serverFlightSize
	}
}

// issue has connection IDs for further paths sent.
func (c *quicConn) issue() {
	if len(c.ids) > 1 {
		c.tells |= carriesIDs
	}
}

// takeStream takes a piece of the request or the object.
func (c *quicConn) takeStream(now machine.Time, p *quicPath, f *frame) {
	from, to := int64(f.offset), int64(f.offset)+int64(len(f.data))
	if f.stream != 0 || to > c.forStream.limit || to > c.forAll.limit {
		c.close(closeFlow)
		c.fail(errQUIC)
		return
	}
	p.gotBytes += to - from
	if !c.client {
		if from == 0 && to == requestSize && c.out.size < 0 {
			c.in.add(from, to)
			c.object = binary.BigEndian.Uint64(f.data)
			if c.out.size = c.host.size(c.object, c); c.out.size <= 0 {
				c.close(closeRefused)
			}
		}
		return
	}
	if len(f.data) >= stampSize && binary.BigEndian.Uint64(f.data) != f.offset {
		c.close(closeNone)
		c.fail(ErrContent)
		return
	}
	before := c.in.next
	c.in.add(from, to)
	if f.fin {
		c.end = to
	}
	if got := c.in.next - before; got > 0 {
		c.got(int(got))
		c.read(now)
	}
	if c.end >= 0 && c.in.next >= c.end && !c.done {
		c.finish()
	}
}

// read tells flow control that the application has what is in order.
func (c *quicConn) read(now machine.Time) {
	rtt := machine.Time(0) // the longest: the window has to last until what goes by the slowest path is there
	for _, p := range c.all {
		rtt = max(rtt, p.out.srtt)
	}
	if c.forAll.read(now, c.in.next, rtt) {
		c.tells |= carriesMaxData
	}
	if c.forStream.read(now, c.in.next, rtt) && c.end < 0 {
		c.tells |= carriesMaxStreamData
	}
}

// lostFrames has what a lost packet carried sent again.
func (c *quicConn) lostFrames(s *quicSent) {
	c.out.lose(s.data)
	c.crypto.lose(s.crypto)
	c.tells |= s.carries & (carriesMaxData | carriesMaxStreamData | carriesDone | carriesIDs)
}
