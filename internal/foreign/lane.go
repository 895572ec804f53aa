package foreign

import (
	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// lane is one way to the producer: what is asked for over it, and how much may be. A plain consumer has one, whose face the node
// chooses; one with a controller for several faces has one for each.
type lane struct {
	index uint64         // among the window's lanes
	face  machine.FaceID // that its Interests leave by; 0: the node chooses
	pilot
	rtt      rtt
	inflight int
	flights  []flight // in the order of sending
	nextSeq  uint64
	recover  uint64       // what was sent before belongs to the last congestion event (RFC 6675, RecoveryPoint)
	top      uint64       // last of those sent once that came
	came     machine.Time // when something last came
	opens    machine.Time // nothing is sent before: pacing, and pauses that a Nack asks for

	probing bool   // it fell silent, and is asked for a segment that is here already
	probe   uint64 // that segment
	probed  machine.Time
}

// pilot sets the window of a lane. A window of segments.
type pilot interface {
	// window is how many Interests may be in flight.
	window() float64
	// pace is the time between two Interests; 0: none.
	pace() machine.Time
	onAck(now machine.Time, a arrival)
	onMark(now machine.Time, a arrival)
	onLoss(now, sent machine.Time)
	onTimeout(now machine.Time)
	// every tells that the pilot wants to hear of each loss and mark, and itself knows which belong together.
	every() bool
}

// arrival is what one segment tells.
type arrival struct {
	sent     machine.Time
	rtt      machine.Time // sample; 0: none
	smoothed machine.Time
	inflight int
	limited  bool // the window is what limits the rate
}

// alone is a pilot for one lane that is coupled with no other.
type alone struct{ controller }

// controller is a window algorithm of package cc that doesn't know of others.
type controller interface {
	Window() float64
	OnRTT(rtt machine.Time)
	OnAck(now machine.Time, acked float64)
	OnLoss(now machine.Time)
	OnECN(now machine.Time)
	OnTimeout(now machine.Time)
}

func (p alone) window() float64            { return p.Window() }
func (alone) pace() machine.Time           { return 0 }
func (p alone) onLoss(now, _ machine.Time) { p.OnLoss(now) }
func (p alone) onTimeout(now machine.Time) { p.OnTimeout(now) }
func (alone) every() bool                  { return false }
func (p alone) onMark(now machine.Time, a arrival) {
	p.hear(a)
	p.OnECN(now)
}

func (p alone) onAck(now machine.Time, a arrival) {
	p.hear(a)
	if a.limited {
		p.OnAck(now, 1)
	}
}

func (p alone) hear(a arrival) {
	if a.rtt > 0 {
		p.OnRTT(a.smoothed)
	}
}

// coupled is the pilot of one of several lanes under one controller, which counts a segment as wire.ChunkSize bytes.
type coupled struct {
	cc.Controller
	sub cc.Subflow
}

func (p coupled) window() float64            { return float64(p.Cwnd(p.sub)) / wire.ChunkSize }
func (p coupled) onTimeout(now machine.Time) { p.OnTimeout(now, p.sub) }
func (coupled) every() bool                  { return true }

func (p coupled) pace() machine.Time {
	rate := p.PacingRate(p.sub)
	if rate <= 0 {
		return 0
	}
	return machine.Time(wire.ChunkSize / rate * 1e9)
}

func (p coupled) onLoss(now, sent machine.Time) {
	p.OnLoss(now, p.sub, cc.Loss{Bytes: wire.ChunkSize, Sent: sent})
}

func (p coupled) onAck(now machine.Time, a arrival) { p.OnAck(now, p.sub, a.ack()) }

func (p coupled) onMark(now machine.Time, a arrival) {
	ack := a.ack()
	ack.Marked = ack.Bytes
	p.OnAck(now, p.sub, ack)
}

func (a arrival) ack() cc.Ack {
	return cc.Ack{Bytes: wire.ChunkSize, Sent: a.sent, RTT: a.rtt, InFlight: a.inflight * wire.ChunkSize, AppLimited: !a.limited}
}

// congested lets the pilot react to what happened to the Interest seq; unless it wants to hear of every loss, once per round trip.
// It tells whether this is the first of the round trip.
func (l *lane) congested(seq uint64, react func()) (first bool) {
	if first = seq > l.recover; first {
		l.recover = l.nextSeq
	}
	if first || l.every() {
		react()
	}
	return first
}

// room tells whether the lane's window has room.
func (l *lane) room() bool { return float64(l.inflight+1) <= l.window() }

// paced notes that an Interest leaves now. An idle lane saves up burst, no more.
func (l *lane) paced(now machine.Time) {
	if gap := l.pace(); gap > 0 {
		l.opens = max(l.opens, now-burst) + gap
	}
}
