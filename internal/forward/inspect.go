package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// FlowState is what this node knows of one flow, for people who ask why a path is used or not.
type FlowState struct {
	Name     wire.Name // dest and src
	Source   bool      // its consumer is here
	Queued   int       // Interests in its queue
	Capacity int       // of its queue, Interests
	Epochs   []EpochState
	Duration machine.Time // of the last discovery, at the source; 0: none has ended
}

// EpochState is one epoch of a flow; the first is in use.
type EpochState struct {
	Boot, Epoch uint32
	LabelHops   int // the label's first part; 65535: the source's, above all
	LabelHash   uint64
	Index       int  // ProbeIdx reached
	Converged   bool // at the source
	Faces       []PathState
}

// PathState is one candidate face of a flow.
type PathState struct {
	Face    machine.FaceID
	Local   bool // the producer is on this node
	Hops    int  // routed, through this face; 255: not known
	Tier    int
	State   string // unsent, in flight, acked, dead, looped
	Valid   bool   // Data Interests may use it
	Why     string // why it is not used; "" if it is
	SRTT    machine.Time
	Rate    float64 // R, bytes of Data per second
	Flights int     // Interests outstanding on the face, of all flows
	Bytes   uint64  // of Data that came by it for the flow
	Credit  bool    // the face may be asked for more than it is
}

// FaceStats is the state of one face.
type FaceStats struct {
	Counters
	ID          machine.FaceID
	Up, Local   bool
	Suspended   bool
	DataQueued  int
	Outstanding int
	Rate        float64 // Algorithm 1's R, bytes of Data per second
	Estimate    float64 // its B̂
	SRTT        machine.Time
	LeastRTT    machine.Time // since the face came up; 0: none is known
	Sent        uint64       // Interests of flows
	Missed      uint64       // of these, asked for again or given up
	Changed     machine.Time // when it last came up, went down, fell silent or answered again
	PeerData    float64      // occupancy of the peer's Data queue toward here, as it tells: 1 is full
	PeerAsks    float64      // of the peer's Interest queues of the flows that come by here
	Capacity    int          // of the Data queue, packets
	Limit       float64      // configured drain rate, bytes per second; 0: none
	Mended      uint64       // fragments sent again on the hop
}

// Stats appends the state of every face to dst, in order of face.
func (fw *Forwarder) Stats(dst []FaceStats) []FaceStats {
	from := len(dst)
	for _, fc := range fw.slots {
		u := fc.flow
		dst = append(dst, FaceStats{
			Counters: fc.n, ID: fc.id, Up: fc.up, Local: fc.link.Local, Suspended: u.suspended,
			DataQueued: fc.link.data.len(), Outstanding: u.outstanding,
			Rate: u.ctrl.Rate(), Estimate: u.ctrl.Estimate(), SRTT: u.srtt,
			LeastRTT: u.seen.leastRTT, Sent: u.sent, Missed: u.seen.missed, Changed: u.seen.changed,
			PeerData: u.seen.peerData, PeerAsks: u.seen.peerAsks, Capacity: fc.link.dataCapacity(), Limit: fc.link.Rate, Mended: fc.link.mended,
		})
	}
	slices.SortFunc(dst[from:], func(a, b FaceStats) int { return int(a.ID) - int(b.ID) })
	return dst
}

// Flows appends the states of all flows to dst.
func (fw *Forwarder) Flows(dst []FlowState) []FlowState {
	for _, f := range fw.flows.order {
		dst = append(dst, fw.state(f))
	}
	return dst
}

// Recent appends the states of the flows that were used since then to dst, at most so many.
func (fw *Forwarder) Recent(dst []FlowState, since machine.Time, most int) []FlowState {
	for _, f := range fw.flows.order {
		if most > 0 && f.used >= since {
			dst = append(dst, fw.state(f))
			most--
		}
	}
	return dst
}

// FlowCount is the number of flows that are remembered.
func (fw *Forwarder) FlowCount() int { return len(fw.flows.order) }

// Flow returns the state of the flow (dest and src) named name.
func (fw *Forwarder) Flow(name wire.Name) (FlowState, bool) {
	f := fw.flows.flows[name.Hash(fw.flows.pit.seed)]
	if f == nil || !f.name.Equal(name) {
		return FlowState{}, false
	}
	return fw.state(f), true
}

func (fw *Forwarder) state(f *flow) FlowState {
	s := FlowState{Name: f.name, Source: f.source, Queued: f.live, Capacity: fw.cfg.InterestQueue, Duration: f.found}
	for _, d := range f.epochs {
		e := EpochState{
			Boot: d.boot, Epoch: d.epoch, LabelHops: int(d.label.Hops), LabelHash: d.label.Hash, Index: d.index,
			Converged: d.finished != 0,
		}
		for i := range d.probes {
			p := &d.probes[i]
			ps := PathState{Face: p.face, Hops: p.hops, Tier: p.tier, State: p.state.String(), Valid: d.valid(p)}
			if u := fw.flows.ups.get(p.face); u != nil {
				ps.Local, ps.SRTT, ps.Rate, ps.Flights = u.local, u.srtt, u.ctrl.Rate(), u.outstanding
				ps.Credit = u.usable() && u.spare()
				if l := laneOf(f.lanes, u); l != nil {
					ps.Bytes = l.bytes
				}
				ps.Why = why(d, p, u)
			} else {
				ps.Valid, ps.Why = false, "the face is gone"
			}
			e.Faces = append(e.Faces, ps)
		}
		s.Epochs = append(s.Epochs, e)
	}
	return s
}

// why tells in words why a face isn't used.
func why(d *discovery, p *probe, u *upstream) string {
	switch {
	case !u.up:
		return "the face is down"
	case u.suspended:
		return "silent: probed until it answers"
	case p.state == looped:
		return "would go uphill: the neighbour's label isn't below ours"
	case p.state == dead:
		return "no answer to probes, or no way on from there"
	case d.valid(p):
		return ""
	case !p.fits(d.room):
		return "longer than the hop budget"
	case p.state == inFlight:
		return "being probed"
	}
	return "its tier is not probed yet"
}
