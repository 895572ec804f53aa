package endpoint

import (
	"encoding/binary"

	"mars/internal/machine"
)

// leastPacket is the least that must be left of the limit toward unvalidated addresses for something to be sent, bytes.
const leastPacket = 100

// ready tells whether a path has something to send now.
func (c *quicConn) ready(now machine.Time, path int) bool {
	p := c.all[path]
	if c.closed {
		return c.bye == path
	}
	ready := p.up && p.state != pathShut && p.allowed() >= leastPacket && (p.urgent() || c.gives(now, p))
	switch {
	case !ready:
		p.offered = 0
	case p.offered == 0:
		p.offered = max(now, 1)
	}
	return ready
}

// urgent tells whether a path has something to send whatever its window.
func (p *quicPath) urgent() bool {
	c := p.c
	return p.in.now || p.asks || p.answers || p.out.probes > 0 || p.index == 0 && c.crypto.wants() ||
		c.tells != 0 && c.teller() == p
}

// transmit writes the next packet of a path.
func (c *quicConn) transmit(now machine.Time, path int, buf []byte) (int, machine.ECN) {
	p := c.all[path]
	if !c.ready(now, path) {
		return 0, machine.NotECT
	}
	p.offered = 0
	if len(buf) < p.mtu {
		return -p.mtu, machine.NotECT
	}
	if c.closed {
		c.bye = -1
		w := newPacking(p, buf[:p.mtu])
		w.b = appendClose(w.b, c.code)
		return w.finish(now), machine.NotECT
	}
	w := newPacking(p, buf[:min(p.allowed(), p.mtu)])
	w.fill(now)
	ecn := machine.NotECT
	if c.how.ECN && c.secured && w.elicits && !p.out.noECN {
		ecn = machine.ECT0
		w.sent.carries |= carriesMark
	}
	return w.finish(now), ecn
}

// packing is a packet that is being written.
type packing struct {
	p       *quicPath
	head    quicHeader
	buf     []byte
	b       []byte // header and frames
	most    int    // that b may become
	sent    quicSent
	elicits bool // the peer has to acknowledge it
	padded  bool // it is filled up to leastInitial
}

func newPacking(p *quicPath, buf []byte) packing {
	c := p.c
	w := packing{p: p, buf: buf, most: len(buf) - quicTag, sent: quicSent{acks: -1}}
	w.head = quicHeader{dest: c.ids[p.id].peer, source: c.ids[p.id].own, number: p.out.next, numBytes: numberSize(p.out.next, p.out.acked)}
	switch {
	case c.client && c.hello.next == 0 && p.index == 0:
		w.head.kind, w.padded = packetInitial, true
	case !c.secured || p.index == 0 && c.crypto.wants():
		w.head.kind = packetHandshake
	}
	w.b = buf[:w.head.size()]
	return w
}

func (w *packing) room() int { return w.most - len(w.b) }

// fill puts into a packet what has to go and what else there is room for.
func (w *packing) fill(now machine.Time) {
	p, c := w.p, w.p.c
	data := c.gives(now, p)
	if p.in.now || p.in.unacked > 0 {
		w.acknowledge(now)
	}
	w.validate()
	if p.index == 0 && c.crypto.wants() {
		w.handshake()
	}
	if c.tells != 0 && c.teller() == p {
		w.tell()
	}
	probe := p.out.probes > 0
	if !w.padded && (data || probe && p.usable() && c.hasData()) {
		w.stream()
	}
	if !w.elicits && (probe || p.lonely()) {
		w.b, w.elicits = append(w.b, framePing), true
	}
	if probe {
		p.out.probes--
	}
	least := len(w.buf[:w.head.size()]) + 4 - w.head.numBytes // header protection samples what follows (RFC 9001 §5.4.2)
	if w.padded {
		least = max(least, min(leastInitial-quicTag, w.most))
	}
	if n := len(w.b); n < least {
		w.b = w.b[:least]
		clear(w.b[n:])
	}
}

// lonely tells whether it is time for a packet that only acknowledges to ask for an answer.
func (p *quicPath) lonely() bool {
	if p.in.bare++; p.in.bare < pingEvery || len(p.in.got) < 2 {
		return false
	}
	p.in.bare = 0
	return true
}

// acknowledge tells what has come by the path.
func (w *packing) acknowledge(now machine.Time) {
	in := &w.p.in
	marks := &in.marks
	if !in.marked {
		marks = nil
	}
	w.b = appendAck(w.b, w.room(), uint64(w.p.id), in.got, now-in.largestAt, marks)
	w.sent.acks = in.largest
	in.told()
}

// validate asks whether the peer is at the other end of the path, and answers.
func (w *packing) validate() {
	p := w.p
	if p.asks && w.room() >= 9 {
		w.b = appendWord(w.b, frameChallenge, p.challenge)
		p.asks, w.elicits, w.padded = false, true, true
	}
	if p.answers && w.room() >= 9 {
		w.b = appendWord(w.b, frameResponse, p.response)
		p.answers, w.elicits, w.padded = false, true, true
	}
}

// handshake puts a piece of the handshake in.
func (w *packing) handshake() {
	const head = 1 + 2 + 2 // the type, offset and length below 16,384
	c := w.p.c
	g := c.crypto.take(w.room() - head)
	if g.from >= g.to {
		return
	}
	at := len(w.b)
	w.b = appendCrypto(w.b, g.from, int(g.to-g.from))
	if g.from == 0 {
		w.b[at+1+1+varintSize(uint64(g.to))] = byte(len(c.ids))
	}
	w.sent.crypto, w.elicits = g, true
}

// tell puts the frames in that any path may carry.
func (w *packing) tell() {
	c := w.p.c
	add := func(what uint8, size int, put func([]byte) []byte) {
		if c.tells&what != 0 && w.room() >= size {
			w.b = put(w.b)
			c.tells &^= what
			w.sent.carries |= what
			w.elicits = true
		}
	}
	add(carriesDone, 1, func(b []byte) []byte { return append(b, frameDone) })
	add(carriesMaxData, 9, func(b []byte) []byte { return appendLimit(b, frameMaxData, c.forAll.limit) })
	add(carriesMaxStreamData, 10, func(b []byte) []byte { return appendLimit(b, frameMaxStreamData, c.forStream.limit) })
	add(carriesIDs, (len(c.ids)-1)*pathIDFrameSize, func(b []byte) []byte {
		for id := 1; id < len(c.ids); id++ {
			b = appendPathID(b, id, c.ids[id].own)
		}
		return b
	})
}

// stream fills the packet with data.
func (w *packing) stream() {
	c, p := w.p.c, w.p
	head := streamHead(0, max(c.out.size, 1))
	fresh := c.out.next
	g := c.out.take(w.room() - head)
	if g.from >= g.to {
		return
	}
	w.b = appendStream(w.b, 0, g.from, g.to == c.out.size)
	n := int(g.to - g.from)
	at := len(w.b)
	w.b = w.b[:at+n]
	stamp := uint64(g.from)
	if c.client {
		stamp = c.object
	}
	if n >= stampSize {
		binary.BigEndian.PutUint64(w.b[at:], stamp)
	}
	w.sent.data, w.elicits = g, true
	p.sentBytes += int64(n)
	c.turn = (p.index + 1) % len(c.all)
	if g.from >= fresh {
		c.sum.Segments++
	} else {
		c.sum.Resent++
	}
}

// finish writes the header and the tag, and records the packet. It returns the length.
func (w *packing) finish(now machine.Time) int {
	p := w.p
	size := len(w.b) + quicTag
	w.head.append(w.buf[:0], size-w.head.size())
	w.sent.at, w.sent.size = now, int32(size)
	if w.elicits {
		w.sent.state = quicFlying
		if p.controlled {
			p.pace(now, size)
		}
	}
	p.out.add(w.sent)
	p.wireOut += int64(size)
	if w.elicits {
		p.setTimer(now)
	}
	return size
}
