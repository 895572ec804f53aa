package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Link-side defaults.
const (
	// DefaultDataQueue is the capacity of a face's Data queue, packets, where the drain rate is not known. Where it is, the
	// capacity is dataQueueTime of chunks at that rate, but no less than minDataQueue: at Algorithm 1's q_high a chunk
	// then waits 40 ms whatever the rate.
	DefaultDataQueue = 100
	dataQueueTime    = 50 * machine.Millisecond
	minDataQueue     = 16
	// controlQueue bounds Nacks and unshaped Interests waiting on one face.
	controlQueue = 1024
	// drainBurst is how much drain credit an idle face may save up.
	drainBurst = machine.Millisecond
	// A face that is kept waiting for credit catches up on time lost to coarse timers and busy processors, so that a rate is
	// met on average: up to catchUp, and catchUpBytes, which a receiver's default socket buffer still holds.
	catchUp      = 20 * machine.Millisecond
	catchUpBytes = 128 << 10
)

// link is the link side of one face: what leaves it, in which order and how fast, and what arrives in pieces.
type link struct {
	machine.Face
	control fifo // Nacks and Interests of strategies that don't shape: they go first, being small
	data    fifo // the Data queue (MARS paper §III-A1): first in, first out, limited only by the drain rate

	current  *packet     // being sent, in fragments; nil: none is
	head     wire.Packet // header of its next fragment; the hop fields ride on the first one only
	room     int         // bytes of it that the next fragment may carry
	offset   int
	count    int // fragments
	sequence uint64

	credit   float64 // bytes
	creditAt machine.Time
	backlog  bool // packets wait for credit
	resume   machine.Time

	repair repair
	mended uint64 // fragments sent again

	in    reassembler
	codel *codel // marks the Data queue; nil: nothing does
}

// dataCapacity is the occupancy that feedback reports as 1, packets.
func (l *link) dataCapacity() int {
	switch {
	case l.DataQueue > 0:
		return l.DataQueue
	case l.Rate > 0:
		return max(int(l.Rate*dataQueueTime.Seconds()/wire.ChunkSize), minDataQueue)
	}
	return DefaultDataQueue
}

// pushData admits a Data packet to the Data queue; false: the queue is full and the packet is dropped. It holds twice what
// feedback calls full: senders learn of a full queue a round trip late, and a chunk dropped costs its consumer 350 ms.
func (l *link) pushData(p *packet) bool {
	if l.data.len() >= 2*l.dataCapacity() {
		return false
	}
	l.data.push(p)
	return true
}

func (l *link) pushControl(p *packet) bool {
	if l.control.len() >= controlQueue {
		return false
	}
	l.control.push(p)
	return true
}

// affords tells whether the drain rate allows a datagram now, and if not, when.
func (l *link) affords(now machine.Time) (bool, machine.Time) {
	if l.Rate <= 0 {
		return true, 0
	}
	burst := max(burst(l.Rate, l.backlog, drainBurst), float64(l.MTU))
	l.credit = min(l.credit+float64(l.Rate*(now-l.creditAt).Seconds()), burst)
	l.creditAt = now
	if l.credit > 0 && now >= l.resume {
		return true, 0
	}
	if now >= l.resume {
		l.backlog = true
		l.resume = now + wait(l.Rate, l.credit)
	}
	return false, l.resume
}

// batch is for how long credit is saved up before sending goes on: a wake-up and a system call for every datagram would cost
// far more than sending it.
const batch = machine.Millisecond / 2

// wait is how long it takes until credit, now negative or 0, is worth a batch at a rate.
func wait(rate, credit float64) machine.Time {
	return batch + machine.Time((1-credit)/rate*1e9) + 1
}

// burst is how much credit may be saved up at a rate, bytes: little when idle, more while packets wait for it.
func burst(rate float64, backlog bool, idle machine.Time) float64 {
	least := float64(rate * idle.Seconds())
	if !backlog {
		return least
	}
	return max(least, min(float64(rate*catchUp.Seconds()), catchUpBytes))
}

// load makes p the packet being sent and computes its fragments.
func (l *link) load(now machine.Time, p *packet) {
	if p.data && l.codel != nil && l.codel.marks(now, now-p.queued, l.data.len()) {
		p.hdr.CongestionMark = 1
	}
	if p.data && p.feedback {
		p.hdr.HasFeedback = true
		fb := &p.hdr.Feedback
		fb.DataItems, fb.DataCapacity = uint32(l.data.len()), uint32(l.dataCapacity())
		fb.DataSojourn = micros(now - p.queued)
		fb.Depart, fb.HasDepart = uint32(now/machine.Microsecond), true
	}
	l.current, l.offset, l.count, l.room = p, 0, 1, len(p.wire)
	l.head = p.hdr
	l.head.PitToken = p.tok.bytes()
	l.head.HasTxSequence = l.repair.on
	if whole := l.head.HeaderLen(len(p.wire)) + len(p.wire); l.MTU > 0 && whole > l.MTU {
		// Fragmented headers are longer: they carry Sequence, FragIndex and FragCount.
		l.head.HasSequence, l.head.FragCount = true, 2
		rest := wire.Packet{HasSequence: true, FragCount: 2, HasTxSequence: l.repair.on}
		l.room = l.holds(&l.head)
		l.count = 1 + (len(p.wire)-l.room+l.holds(&rest)-1)/l.holds(&rest)
		l.count = max(l.count, 2)
		l.head.FragCount = uint64(l.count)
	}
}

// holds is how many bytes of a network packet fit behind a header.
func (l *link) holds(h *wire.Packet) int { return max(l.MTU-h.HeaderLen(l.MTU), 1) }

// emit writes the next fragment of the current packet into buf: its length, or −n when buf is too small. Where tail isn't nil
// the bytes of Data are lent there, instead of being written behind their header.
func (l *link) emit(now machine.Time, buf []byte, bufs *pool, tail *machine.Part) int {
	h := &l.head
	h.TxSequence, h.Acks = l.repair.next, nil
	rest := l.current.wire[l.offset:]
	rest = rest[:min(len(rest), l.room)]
	h.Sequence = l.sequence
	if l.repair.on && l.MTU > 0 {
		l.repair.carry(h, l.MTU-h.HeaderLen(len(rest))-len(rest)-4)
	}
	n := h.HeaderLen(len(rest)) + len(rest)
	if n > len(buf) {
		return -n
	}
	out := h.AppendHeader(buf[:0], len(rest))
	if p := l.current; tail != nil && p.data && len(out) > 0 {
		if p.lent == nil {
			bufs.lend(p)
		}
		*tail = machine.Part{Of: p.lent.Hold(), From: p.at + l.offset, To: p.at + l.offset + len(rest)}
	} else {
		copy(buf[len(out):], rest)
	}
	if l.head.HasTxSequence {
		l.repair.sent(fragment{
			p: l.current, born: now, at: now, from: l.offset, to: l.offset + len(rest), index: int(h.FragIndex), count: l.count, sequence: h.Sequence,
		}, bufs)
	}
	l.offset += len(rest)
	l.sequence++
	l.credit -= float64(n)
	switch {
	case l.count == 1:
	case h.FragIndex == 0:
		l.head = wire.Packet{HasSequence: true, FragIndex: 1, FragCount: uint64(l.count), HasTxSequence: l.head.HasTxSequence}
		l.room = l.holds(&l.head)
	default:
		h.FragIndex++
	}
	return n
}

// sent tells whether all of the current packet has been.
func (l *link) sent() bool { return l.offset >= len(l.current.wire) }

// reset drops everything queued, returning buffers to the pool.
func (l *link) reset(bufs *pool) {
	for l.control.len() > 0 {
		bufs.drop(l.control.pop())
	}
	for l.data.len() > 0 {
		bufs.drop(l.data.pop())
	}
	if l.current != nil {
		bufs.drop(l.current)
		l.current = nil
	}
	l.repair.reset(bufs)
	l.in.reset(bufs)
}
