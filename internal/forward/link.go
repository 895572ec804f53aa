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

	current  packet // being sent in fragments
	busy     bool
	offset   int
	fragment int
	count    int
	sequence uint64

	credit   float64 // bytes
	creditAt machine.Time
	backlog  bool // packets wait for credit
	resume   machine.Time

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
func (l *link) pushData(p packet) bool {
	if l.data.len() >= 2*l.dataCapacity() {
		return false
	}
	l.data.push(p)
	return true
}

func (l *link) pushControl(p packet) bool {
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
func (l *link) load(now machine.Time, p packet) {
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
	l.current, l.busy, l.offset, l.fragment = p, true, 0, 0
	l.current.hdr.PitToken = nil // set from tok at each use: a packet is copied by value
	l.count = 1
	h := l.header(0)
	if whole := h.HeaderLen(len(p.wire)) + len(p.wire); l.MTU > 0 && whole > l.MTU {
		l.count = 2 // fragmented headers are longer: they carry Sequence, FragIndex and FragCount
		first, rest := l.room(0), l.room(1)
		l.count = 1 + (len(p.wire)-first+rest-1)/rest
		l.count = max(l.count, 2)
	}
}

// room is how many bytes of the network packet fragment i may carry.
func (l *link) room(i int) int {
	h := l.header(i)
	return max(l.MTU-h.HeaderLen(l.MTU), 1)
}

// header is the link header of fragment i. Hop fields ride on the first one only.
func (l *link) header(i int) wire.Packet {
	var h wire.Packet
	if i == 0 {
		h = l.current.hdr
		h.PitToken = l.current.tok.bytes()
	}
	if l.count > 1 {
		h.Sequence, h.HasSequence = l.sequence, true
		h.FragIndex, h.FragCount = uint64(i), uint64(l.count)
	}
	return h
}

// emit writes the next fragment of the current packet into buf: its length, or −n when buf is too small.
func (l *link) emit(buf []byte) int {
	h := l.header(l.fragment)
	rest := l.current.wire[l.offset:]
	if l.count > 1 {
		rest = rest[:min(len(rest), l.room(l.fragment))]
	}
	n := h.HeaderLen(len(rest)) + len(rest)
	if n > len(buf) {
		return -n
	}
	out := h.AppendHeader(buf[:0], len(rest))
	out = append(out, rest...)
	l.offset += len(rest)
	l.fragment++
	l.sequence++
	if l.offset >= len(l.current.wire) {
		l.busy = false
	}
	l.credit -= float64(len(out))
	return len(out)
}

// reset drops everything queued, returning buffers to the pool.
func (l *link) reset(bufs *pool) {
	for l.control.len() > 0 {
		bufs.put(l.control.pop().buf)
	}
	for l.data.len() > 0 {
		bufs.put(l.data.pop().buf)
	}
	if l.busy {
		bufs.put(l.current.buf)
		l.busy, l.current = false, packet{}
	}
	l.in.reset(bufs)
}
