package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// bestRoute sends an Interest by the nearest next hop that hasn't been tried (NFD's best-route: a retransmission, or a
// Nack, moves on to the next one; when all have been tried, to the one tried longest ago). When every next hop has
// refused, the downstream gets the last refusal. again: a downstream asks, maybe once more; then those that have refused may be
// tried again, since retransmissions can keep an entry alive for longer than what was refused holds, and nodes that wait for each other
// would do so for ever.
func (s *flows) bestRoute(now machine.Time, e *entry, last wire.NackReason, again bool) {
	if e.via != 0 {
		s.direct(now, e, last, again)
		return
	}
	in := &e.in[0]
	down := s.ups.get(in.face)
	hops := s.candidates(in.face, down != nil && down.local, e.interest.Name)
	shunned := s.shuns(now, e)
	var best, liar *upstream
	var oldest machine.Time
	for _, h := range hops {
		u := s.ups.get(h.Face)
		if !u.up || e.inFace(h.Face) != nil {
			continue
		}
		o := e.outFace(h.Face)
		if o == nil && slices.Contains(shunned, h.Face) {
			if liar == nil {
				liar = u
			}
			continue
		}
		if o == nil {
			best = u
			break
		}
		if (again || !o.dead) && (best == nil || o.sent < oldest) {
			best, oldest = u, o.sent
		}
	}
	if best == nil {
		best = liar // better than nobody
	}
	if best == nil {
		if !e.waiting() {
			if last == 0 {
				last = wire.NackNoRoute
			}
			s.fail(e, last)
		}
		return
	}
	p := s.send(now, best, e, false)
	s.out = append(s.out, outbound{best.face, p})
}

// chosen is the face that an application wants its Interest to leave by (NDNLPv2, "Consumer Controlled Forwarding"); 0: any. Other
// nodes have no say.
func chosen(hdr *wire.Packet, local bool) machine.FaceID {
	if !local || hdr.NextHop > uint64(^machine.FaceID(0)) {
		return 0
	}
	return machine.FaceID(hdr.NextHop)
}

// direct sends an Interest by the face that its consumer chose, and by no other. again: the consumer asks, rather than that the
// face refused.
func (s *flows) direct(now machine.Time, e *entry, last wire.NackReason, again bool) {
	if u := s.ups.get(e.via); again && u != nil && u.up && e.inFace(e.via) == nil {
		s.out = append(s.out, outbound{u.face, s.send(now, u, e, false)})
		return
	}
	if !e.waiting() {
		if last == 0 {
			last = wire.NackNoRoute
		}
		s.fail(e, last)
	}
}
