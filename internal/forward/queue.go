package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// maxToken is the longest PitToken that a peer may use, bytes (NDNLPv2).
const maxToken = 32

// token is a PitToken by value: packets outlive the datagram that brought it.
type token struct {
	n uint8
	b [maxToken]byte
}

func makeToken(b []byte) (t token) {
	t.n = uint8(copy(t.b[:], b))
	return t
}

func (t *token) bytes() []byte { return t.b[:t.n] }

// packet is a network packet on its way out of a face. It goes from place to place by its address, and back to the pool.
type packet struct {
	buf      []byte        // from the pool; nil: lent
	lent     *machine.Lent // held; nil: not lent
	at       int           // where wire begins in what is lent
	wire     []byte        // the Interest or Data TLV; it lies within buf or lent
	hdr      wire.Packet
	tok      token
	data     bool // Data: feedback is completed and the departure stamped when it leaves
	urgent   bool // Data that doesn't wait in the Data queue: answers to probes
	feedback bool // this node adds its own feedback (a strategy that copies headers through doesn't)
	queued   machine.Time
	held     int  // by repair, for sending it again
	left     bool // it has been sent, and is held by repair alone
}

// fifo is a ring of packets that grows up to what its user admits.
type fifo struct {
	ring []*packet
	head int
	n    int
}

func (q *fifo) len() int { return q.n }

func (q *fifo) push(p *packet) {
	if q.n == len(q.ring) {
		grown := make([]*packet, max(8, 2*len(q.ring)))
		for i := range q.n {
			grown[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = p
	q.n++
}

func (q *fifo) pop() *packet {
	p := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return p
}

func micros(d machine.Time) uint32 {
	const most = 1<<32 - 1
	return uint32(min(max(d/machine.Microsecond, 0), most))
}

// bufferSize holds the largest NDN packet (8800 B) and is what every packet buffer has.
const bufferSize = wire.MaxPacket

// pool recycles packets and their buffers: none is allocated in steady state.
type pool struct {
	free    [][]byte
	packets []*packet
	lents   []*machine.Lent
	home    func(*machine.Lent) // unlend, made once
}

// packet is an empty packet that holds encoded, in a buffer of the pool.
func (p *pool) packet(encoded []byte) *packet {
	n := len(p.packets)
	if n == 0 {
		return &packet{buf: encoded, wire: encoded}
	}
	q := p.packets[n-1]
	p.packets = p.packets[:n-1]
	q.buf, q.wire = encoded, encoded
	return q
}

// release ends one hold of repair on a packet.
func (p *pool) release(q *packet) {
	if q.held--; q.held == 0 && q.left {
		p.drop(q)
	}
}

// drop takes a packet back with its buffer, when nothing holds it any more.
func (p *pool) drop(q *packet) {
	if q.held > 0 {
		q.left = true
		return
	}
	if q.lent != nil {
		q.lent.Release()
	}
	p.put(q.buf)
	*q = packet{}
	p.packets = append(p.packets, q)
}

func (p *pool) get() []byte {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, bufferSize)
}

func (p *pool) put(b []byte) {
	if cap(b) >= bufferSize {
		p.free = append(p.free, b)
	}
}

// lend makes the buffer of a packet one that others may hold, too.
func (p *pool) lend(q *packet) {
	if n := len(p.lents); n > 0 {
		q.lent, p.lents = p.lents[n-1], p.lents[:n-1]
	} else {
		if p.home == nil {
			p.home = p.unlend
		}
		q.lent = &machine.Lent{Home: p.home}
	}
	q.lent.Bytes, q.buf, q.at = q.buf, nil, 0
	q.lent.Hold()
}

// unlend takes back what nobody holds any more.
func (p *pool) unlend(l *machine.Lent) {
	p.put(l.Bytes)
	l.Bytes = nil
	p.lents = append(p.lents, l)
}
