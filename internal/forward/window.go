package forward

import (
	"slices"

	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// Profile says how Interests are paced and scheduled, and how losses are found.
type Profile uint8

// The profiles.
const (
	ProfilePaper Profile = iota // Algorithm 1: a rate per upstream face, round robin on each
	ProfileMARS                 // delay windows per face and per flow on it, one virtual time per flow
)

const (
	// delayTarget is the queueing that a window aims at.
	delayTarget = 5 * machine.Millisecond
	// firstWindow is W of a face, and firstLaneWindow that of one of several flows on it, chunks. Without the latter the first flow
	// takes everything.
	firstWindow     = 20
	firstLaneWindow = 5
	mostWindow      = 64 << 20 // bytes
	// apartTarget is the queueing of a hop at which the flows on a face that shares its uplink with others begin to give way: where the
	// queue is the uplink's it stays below that, for the uplink's window aims at less.
	apartTarget = 10 * machine.Millisecond
)

// gate bounds what is in flight: on a face, or of one flow on it.
type gate struct {
	cc.DelayWindow
	flight float64 // bytes of Data that are asked for
}

func newGate(chunks float64) *gate {
	return &gate{DelayWindow: cc.NewDelayWindow(cc.DelayWindowConfig{
		Target: delayTarget, Step: DefaultCost, Initial: float64(chunks * DefaultCost), Least: DefaultCost, Most: mostWindow,
	})}
}

// firstShare is W of a new flow on a face, chunks: a lone flow gets all of a face's.
func (s *flows) firstShare() float64 {
	return max(firstWindow/float64(max(len(s.order), 1)), firstLaneWindow)
}

// room tells whether another Interest for cost bytes fits.
func (g *gate) room(cost float64) bool { return g.flight == 0 || g.flight+cost <= g.Bytes() }

// oneWay measures queueing on a hop: the one-way delay of its packets over the least of the last windows, whatever the clocks say.
type oneWay struct {
	least, older int32 // µs, as differences of two clocks modulo 2^32
	known        bool
	at           machine.Time
}

// oneWayLife is how long a least delay counts: clocks drift.
const oneWayLife = 10 * machine.Second

// sample returns the queueing of a packet that left at depart, µs on the peer's clock.
func (o *oneWay) sample(now machine.Time, depart uint32) machine.Time {
	d := int32(uint32(now/machine.Microsecond) - depart)
	switch {
	case !o.known:
		o.least, o.older, o.known, o.at = d, d, true, now
	case now-o.at >= oneWayLife:
		o.older, o.least, o.at = o.least, d, now
	case d-o.least < 0:
		o.least = d
	}
	least := o.least
	if o.older-least < 0 {
		least = o.older
	}
	return max(0, machine.Time(d-least)*machine.Microsecond)
}

// pullWindowed is pull of the default profile: a face takes the Interest of the flow that has had least, as long as its window and
// that of the flow on it have room.
func (s *flows) pullWindowed(now machine.Time, u *upstream) (p *packet, again machine.Time) {
	if u.suspended && now < u.probeAt {
		return nil, u.probeAt
	}
	if now < u.line.resume {
		return nil, u.line.resume
	}
	best, queue, at, entry := u.choose()
	if !u.suspended {
		for _, o := range u.line.faces {
			if o == u || o.suspended || !o.up {
				continue
			}
			if b, q, k, e := o.choose(); b != nil && (best == nil || b.flow.before(best.flow)) {
				best, queue, at, entry = b, q, k, e
			}
		}
	}
	if best == nil {
		return nil, machine.Never
	}
	if best.up != u { // it leaves by the same uplink
		s.wake(best.up.face)
		return nil, machine.Never
	}
	queue.take(at)
	entry.queued = false
	f := best.flow
	f.live--
	s.serve(f, entry.cost)
	if pace := u.line.Pace(); pace > 0 {
		u.line.resume = max(u.line.resume, now-paceBurst) + machine.Time(entry.cost/pace*1e9)
	}
	return s.send(now, u, entry, true), 0
}

// choose finds the lane of a face that has had least of those whose windows have room, and the Interest that it would send.
func (u *upstream) choose() (best *lane, queue *refs, at int, entry *entry) {
	for i := 0; i < len(u.list); i++ {
		l := u.list[i]
		q, k, e := l.flow.next(u.face)
		switch {
		case e == nil:
			if l.flow.live == 0 {
				l.active = false
				u.list = slices.Delete(u.list, i, i+1)
				i--
			}
		case u.suspended: // a probe, whatever the windows say
			best, queue, at, entry = l, q, k, e
		case !l.gate.room(e.cost):
			l.gate.Limited()
		case !u.line.room(e.cost):
			l.gate.Limited()
			u.line.Limited()
		case best == nil || l.flow.before(best.flow):
			best, queue, at, entry = l, q, k, e
		}
	}
	return best, queue, at, entry
}

// paceBurst is how much a face that was kept waiting may catch up.
const paceBurst = machine.Millisecond

// before tells whether f has had less than g.
func (f *flow) before(g *flow) bool {
	if f.owner != g.owner && f.owner.virtual != g.owner.virtual {
		return f.owner.virtual < g.owner.virtual
	}
	return f.virtual < g.virtual
}

// land takes an Interest out of the windows that it is in; it returns how many bytes these were.
func (s *flows) land(o *outRecord) float64 {
	if o.line == nil {
		return 0
	}
	bytes := o.cost
	o.line.flight -= bytes
	if o.lane != nil {
		o.lane.gate.flight -= bytes
	}
	if u := s.ups.get(o.face); u != nil && u.usable() {
		s.wake(o.face) // it looks at all faces of its uplink
	} else {
		for _, other := range o.line.faces {
			s.wake(other.face)
		}
	}
	o.cost, o.line, o.lane = 0, nil, nil
	return bytes
}

// missed gives up what was asked for by the last face of an entry, which is asked for again: nothing of it is in flight any more.
func (s *flows) missed(now machine.Time, e *entry) {
	o := &e.out[len(e.out)-1]
	line, l := o.line, o.lane
	if lost := s.land(o); lost > 0 {
		line.OnLoss(now, lost)
		if l != nil {
			l.gate.OnLoss(now, lost)
		}
	}
}

// serve counts bytes for a flow, and for the face that asks for it.
func (s *flows) serve(f *flow, bytes float64) {
	f.virtual += bytes
	f.owner.virtual += bytes
}

// waken puts a flow that had nothing to ask for at the level of those that have: who was away has no claim to what he missed.
func (s *flows) waken(f *flow) {
	if f.live > 0 {
		return
	}
	f.virtual = max(f.virtual, s.floor(func(o *flow) float64 { return o.virtual }, func(o *flow) bool { return o.owner == f.owner }))
	f.owner.virtual = max(f.owner.virtual, s.floor(func(o *flow) float64 { return o.owner.virtual }, func(o *flow) bool { return o.owner != f.owner }))
}

// floor is the least virtual time of the flows that wait; 0 without one.
func (s *flows) floor(of func(*flow) float64, which func(*flow) bool) float64 {
	least, some := 0.0, false
	for _, o := range s.order {
		if o.live > 0 && which(o) && (!some || of(o) < least) {
			least, some = of(o), true
		}
	}
	return least
}

// acknowledge feeds the windows of a face and of the flow on it with what a Data packet tells: how long the round trip was, how long the
// packet was queued on the hop, and how long Interests of the flow wait at the node upstream.
func (s *flows) acknowledge(now machine.Time, u *upstream, e *entry, o *outRecord, size float64, hdr *wire.Packet) {
	rtt, face, flow := machine.Time(0), machine.Time(-1), machine.Time(-1)
	if len(e.out) == 1 && !o.again && !s.mended {
		rtt = now - o.sent
	}
	if fb := &hdr.Feedback; hdr.HasFeedback && fb.HasDepart && !s.mended {
		hop := u.oneWay.sample(now, fb.Depart)
		if hop > delayTarget/2 {
			u.line.Hidden()
		}
		face = hop + machine.Time(fb.DataSojourn)*machine.Microsecond
		flow = machine.Time(fb.InterestSojourn) * machine.Microsecond
		if other := rtt - face - flow; rtt > 0 {
			u.line.OnOther(other)
			if o.lane != nil {
				o.lane.gate.OnOther(other)
			}
		}
		if !u.alone() { // the hop's queue may be one that other faces don't share
			flow += max(0, hop-apartTarget)
		}
	}
	u.line.OnAck(now, size, rtt, face)
	if o.lane != nil {
		o.lane.gate.OnAck(now, size, rtt, flow)
	}
}
