package forward

import (
	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

const (
	refusalShare = 16   // Data of less than this part of what was expected counts as one
	headroom     = 1000 // bytes that a Data packet may have beside the content that was expected
)

// learn feeds what a Data packet tells about the face it came by into that face's controller.
func (s *flows) learn(now machine.Time, u *upstream, e *entry, o *outRecord, hdr *wire.Packet, d *wire.Data) {
	if u == nil || u.local {
		return
	}
	if u.onHeard(now) {
		s.wakeAll(u)
	}
	if e.flow == nil {
		return
	}
	e.disc.onTransmission(u.face)
	if len(e.out) == 1 && !o.again || planted.Is(planted.RepairedDelay) { // of an Interest sent twice nobody knows which one was answered (Karn)
		u.onRTT(now - o.sent)
	}
	s.notice(u, e, hdr, len(d.Wire))
	size := float64(len(d.Wire))
	if d.ContentType == wire.ContentNack || size < e.cost/refusalShare {
		// A refusal tells nothing of what the path carries. Taken for a delivery it would make B̂, and with it R, next to nothing.
		if o.charge {
			u.tokens += e.cost - size
		}
		return
	}
	if over := size - e.cost; over > headroom { // its size hint was too small
		u.tokens -= over
		if l := laneOf(e.flow.lanes, u); l != nil {
			l.overdraw(over)
		}
	}
	if u.line != nil {
		s.acknowledge(now, u, e, o, size, hdr)
		return
	}
	u.ctrl.OnDelivered(now, size)
	if hdr.HasFeedback {
		qInt, qData := occupancy(&hdr.Feedback)
		u.ctrl.OnFeedback(now, qInt, qData)
	}
}
