package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// Loss detection of one path: RFC 9002, whose names are kept.
const (
	packetThreshold = 3
	granularity     = machine.Millisecond
	initialRTT      = 333 * machine.Millisecond
	// congestionThreshold: losses that span so many probe timeouts are persistent congestion (§7.6.1).
	congestionThreshold = 3
)

// sentState is what is known of a packet.
type sentState uint8

const (
	quicSettled sentState = iota // acknowledged, lost, or never to be acknowledged
	quicFlying
	quicAcked
)

// What a packet carried that must be sent again if it is lost.
const (
	carriesMaxData uint8 = 1 << iota
	carriesMaxStreamData
	carriesDone
	carriesIDs
	carriesMark // it is ECN-capable
)

// quicSent is one packet that was sent.
type quicSent struct {
	at      machine.Time
	data    gap   // of the stream
	crypto  gap   // of the handshake
	acks    int64 // the largest number that it acknowledges; −1: none
	size    int32
	carries uint8
	state   sentState
	rescued bool // what it carried is to be sent again already
}

// outNumbers is one packet number space at the sender: what is under way, in a ring.
type outNumbers struct {
	ring        []quicSent // by number; a power of two
	first, next int64      // numbers of those that may be under way: [first, next)
	acked       int64      // largest that the peer has acknowledged; −1: none
	flying      int        // bytes
	eliciting   int        // packets under way
	limited     int64      // the window was full when what is before this had been sent
	lastSent    machine.Time

	latest, srtt, rttvar, minRTT, firstRTT machine.Time
	timeouts                               int // in a row
	lossAt                                 machine.Time
	due                                    machine.Time // of the timer
	probes                                 int          // packets that may go whatever the window
	ce                                     uint64       // marks that the peer has told of
	ect0                                   uint64
	noECN                                  bool // something on the path doesn't leave marks alone
}

func newOutNumbers() outNumbers {
	return outNumbers{acked: -1, due: machine.Never, lossAt: machine.Never}
}

func (o *outNumbers) at(n int64) *quicSent { return &o.ring[n&int64(len(o.ring)-1)] }

// add records a packet; its number is next.
func (o *outNumbers) add(s quicSent) {
	if int(o.next-o.first) == len(o.ring) {
		old := o.ring
		o.ring = make([]quicSent, max(2*len(old), 64))
		for n := o.first; n < o.next; n++ {
			*o.at(n) = old[n&int64(len(old)-1)]
		}
	}
	*o.at(o.next) = s
	o.next++
	if s.state == quicFlying {
		o.flying += int(s.size)
		o.eliciting++
		o.lastSent = s.at
	}
	o.trim()
}

// trim forgets the packets at the beginning that nothing more will be heard of.
func (o *outNumbers) trim() {
	for o.first < o.next && o.at(o.first).state != quicFlying {
		o.first++
	}
}

// settle takes a packet out of those under way.
func (o *outNumbers) settle(s *quicSent, as sentState) {
	s.state = as
	o.flying -= int(s.size)
	o.eliciting--
}

// pto is the probe timeout (§6.2.1).
func (o *outNumbers) pto() machine.Time {
	if o.srtt == 0 {
		return 3 * initialRTT
	}
	return o.srtt + max(4*o.rttvar, granularity) + quicAckDelay
}

// sample takes a sample of the round-trip time (§5.3) and returns it without the delay of the acknowledgement.
func (o *outNumbers) sample(now, rtt, delay machine.Time) machine.Time {
	o.latest = rtt
	if o.srtt == 0 {
		o.minRTT, o.srtt, o.rttvar, o.firstRTT = rtt, rtt, rtt/2, now
		return rtt
	}
	o.minRTT = min(o.minRTT, rtt)
	if delay = min(delay, quicAckDelay); rtt >= o.minRTT+delay {
		rtt -= delay
	}
	off := o.srtt - rtt
	if off < 0 {
		off = -off
	}
	o.rttvar += (off - o.rttvar) / 4
	o.srtt += (rtt - o.srtt) / 8
	return rtt
}

// quicAckSum is what one acknowledgement has told.
type quicAckSum struct {
	bytes, packets int
	marked         int // packets that were sent ECN-capable
	newest         int64
	sentAt         machine.Time // of the newest
}

// onAck takes an acknowledgement of packets of this path.
func (p *quicPath) onAck(now machine.Time, f *frame) bool {
	o := &p.out
	if f.ranges[0].to > o.next {
		return false // of what was never sent
	}
	sum := quicAckSum{newest: -1}
	before := o.flying
	for _, r := range f.ranges[:f.count] {
		for n := max(r.from, o.first); n < r.to; n++ {
			if s := o.at(n); s.state == quicFlying {
				p.acked(s, n, &sum)
			}
		}
	}
	largest := f.ranges[0].to - 1
	o.acked = max(o.acked, largest)
	if sum.packets == 0 {
		return true
	}
	rtt := machine.Time(0)
	if sum.newest == largest {
		rtt = max(o.sample(now, now-sum.sentAt, f.delay), 1)
	}
	o.timeouts, o.probes = 0, 0
	if p.failed {
		p.failed = false
	}
	a := cc.Ack{
		Bytes: sum.bytes, Sent: sum.sentAt, RTT: rtt, Delay: o.latest, InFlight: o.flying, AppLimited: sum.newest > o.limited,
	}
	a.Marked = p.marks(f, &sum)
	if p.controlled {
		p.control.OnAck(now, p.flow, a)
	}
	p.detect(now, before)
	o.trim()
	p.setTimer(now)
	return true
}

// acked settles a packet that has come.
func (p *quicPath) acked(s *quicSent, n int64, sum *quicAckSum) {
	p.out.settle(s, quicAcked)
	sum.bytes += int(s.size)
	sum.packets++
	if s.carries&carriesMark != 0 {
		sum.marked++
	}
	if n > sum.newest {
		sum.newest, sum.sentAt = n, s.at
	}
	if s.acks >= 0 {
		p.in.forget(s.acks + 1)
	}
	p.c.out.ack(s.data)
	p.c.crypto.ack(s.crypto)
}

// marks are the bytes of an acknowledgement that were marked (§7.1). Counts that can't be end the use of ECN on the path (RFC 9000
// §13.4.2.1).
func (p *quicPath) marks(f *frame, sum *quicAckSum) int {
	o := &p.out
	if sum.marked == 0 || sum.newest < o.acked || o.noECN {
		return 0
	}
	fresh := f.marks.ce - o.ce
	if !f.ecn || f.marks.ce < o.ce || f.marks.ect0 < o.ect0 || f.marks.ect0-o.ect0+fresh < uint64(sum.marked) {
		o.noECN = true
		return 0
	}
	o.ce, o.ect0 = f.marks.ce, f.marks.ect0
	if fresh == 0 {
		return 0
	}
	p.c.sum.Marked++
	return sum.bytes / sum.packets * int(min(fresh, uint64(sum.packets)))
}

// detect finds the packets that are lost: three numbers, or 9/8 of a round trip, behind one that has come (§6.1).
func (p *quicPath) detect(now machine.Time, before int) {
	o := &p.out
	o.lossAt = machine.Never
	delay := max(max(o.latest, o.srtt)*9/8, granularity)
	var l cc.Loss
	var from, span machine.Time // of losses in a row
	run := false
	for n := o.first; n < min(o.acked, o.next); n++ {
		s := o.at(n)
		switch {
		case s.state == quicAcked:
			run = false
			continue
		case s.state == quicSettled:
			continue
		case s.at+delay > now && o.acked-n < packetThreshold:
			o.lossAt = min(o.lossAt, s.at+delay)
			continue
		}
		if !run && s.at > o.firstRTT {
			run, from = true, s.at
		}
		if run {
			span = max(span, s.at-from)
		}
		p.lose(s, &l)
	}
	if l.Bytes == 0 || !p.controlled {
		return
	}
	l.InFlight = before
	window := p.window()
	p.control.OnLoss(now, p.flow, l)
	if p.window() < window {
		o.probes = max(o.probes, 1) // the first to be sent again needn't wait for the window to have room (§7.3.2)
	}
	if span > congestionThreshold*o.pto() {
		p.control.OnTimeout(now, p.flow)
	}
}

// lose takes a packet for lost.
func (p *quicPath) lose(s *quicSent, l *cc.Loss) {
	p.out.settle(s, quicSettled)
	l.Bytes += int(s.size)
	l.Sent = max(l.Sent, s.at)
	p.c.sum.Lost++
	p.lostPackets++
	if !s.rescued {
		p.c.lostFrames(s)
	}
}

// setTimer sets the timer for what comes first: a packet that is late, or a probe (§A.8).
func (p *quicPath) setTimer(now machine.Time) {
	o := &p.out
	o.due = o.lossAt
	if o.due == machine.Never {
		base := o.lastSent
		if o.eliciting == 0 {
			// The server may be held by its limit on unvalidated addresses (§6.2.2.1), or an answer to a challenge may be lost.
			if waits := p.index == 0 && p.c.client && !p.c.confirmed || p.index > 0 && p.state == pathOpening; !waits || o.next == 0 {
				return
			}
			base = now
		}
		wait := o.pto() << min(o.timeouts, 10)
		if p.failed || p.index > 0 && p.state == pathOpening {
			wait = min(wait, probeEvery)
		}
		o.due = base + wait
	}
	p.c.arm(o.due)
}

// fire is the timer: losses by time, or a probe (§6.2.4).
func (p *quicPath) fire(now machine.Time) {
	o := &p.out
	if o.lossAt != machine.Never {
		p.detect(now, o.flying)
		o.trim()
		p.setTimer(now)
		return
	}
	o.timeouts++
	p.c.sum.Timeouts++
	o.probes = 2
	switch {
	case p.state == pathOpening && p.index > 0:
		p.asks = true
	case o.timeouts >= failAfter && !p.failed && p.others():
		p.fail(now)
	}
	if p.failed {
		o.probes = 1
	}
	for n, k := o.first, 0; n < o.next && k < o.probes; n++ {
		if s := o.at(n); s.state == quicFlying && !s.rescued {
			p.rescue(s)
			k++
		}
	}
	o.lastSent = now // until the probe goes
	p.setTimer(now)
}
