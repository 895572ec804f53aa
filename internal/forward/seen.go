package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// seen is what is noted of a face for people who look at it; nothing is decided by it.
type seen struct {
	changed  machine.Time // when it last came up, went down, was suspended or resumed
	missed   uint64       // Interests that were sent by it, and asked for again or given up
	leastRTT machine.Time // 0: none is known
	reported bool
	peerData float64 // occupancy of the peer's Data queue toward here as it reports it, 0…1 and above when it overflows; smoothed
	peerAsks float64 // of the Interest queues there of the flows that come by here
}

// seenShare is the weight of the newest report, as a part of one.
const seenShare = 32

func (x *seen) rtt(rtt machine.Time) {
	if x.leastRTT == 0 || rtt < x.leastRTT {
		x.leastRTT = rtt
	}
}

// notice notes Data of a flow that came by u.
func (s *flows) notice(u *upstream, e *entry, hdr *wire.Packet, size int) {
	if l := laneOf(e.flow.lanes, u); l != nil {
		l.bytes += uint64(size)
	}
	if !hdr.HasFeedback {
		return
	}
	qInt, qData := occupancy(&hdr.Feedback)
	x := &u.seen
	if !x.reported {
		x.reported, x.peerAsks, x.peerData = true, qInt, qData
		return
	}
	x.peerAsks += (qInt - x.peerAsks) / seenShare
	x.peerData += (qData - x.peerData) / seenShare
}

// noteMissed notes that nothing came for what was sent by the face of o.
func (s *flows) noteMissed(o *outRecord) {
	if u := s.ups.get(o.face); u != nil && o.charge && !o.dead {
		u.seen.missed++
	}
}
