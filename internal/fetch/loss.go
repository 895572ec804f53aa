package fetch

import (
	"mars/internal/machine"
	"mars/internal/planted"
)

// Fast retransmit: unresolved for this long, and this many later Data have come (MARS paper §III-E).
const (
	fastAge   = 350 * machine.Millisecond
	fastLater = 8
	// After so many transmissions, and timeouts without any Data, the network may carry no whole chunk at this rate. Without Data
	// nothing else would lower it: fragments of many chunks can crowd each other out of a short queue for ever.
	collapsed = 3
	crowd     = 4 // Interests in flight that crowd nobody
)

// returned records that p was answered. It counts where it was first sent: the answer may be to that transmission, and
// then tells nothing about those between.
func (f *flow) returned(p *pending) {
	seq := p.born
	for i := range f.top {
		if seq > f.top[i] {
			f.top[i], seq = seq, f.top[i]
		}
	}
}

// lossAt is when p counts as lost: after the retransmission timeout, or earlier if eight later ones were answered. The
// timeout doesn't back off: retransmissions are paced by a rate that knows the queues upstream, and with a doubling
// timeout a few unlucky chunks held up whole objects at 1% loss.
func (f *flow) lossAt(p *pending) machine.Time {
	if p.seq < f.top[fastLater-1] {
		return p.sent + fastAge // which is less than any timeout
	}
	return p.sent + f.rtt.rto()
}

// detect finds the Interests that are lost by now. Those in flight are in order of sending, so both the timeout and being
// overtaken come to the first one first.
func (f *flow) detect(now machine.Time) {
	for f.first != nil && f.lossAt(f.first) <= now {
		if f.first.tries >= collapsed && f.inflight > crowd && now-f.heard > collapsed*f.rtt.rto() {
			f.ctrl.OnSilence()
		}
		f.lose(f.first, now)
	}
}

// detectAt is when detect will find something, if nothing comes.
func (f *flow) detectAt() machine.Time {
	if f.first == nil {
		return machine.Never
	}
	return f.lossAt(f.first)
}

// lose takes p out of flight to be sent again, not before at.
func (f *flow) lose(p *pending, at machine.Time) {
	if p.lost {
		return
	}
	f.unlink(p)
	if planted.Is(planted.FlightLeak) {
		f.inflight++
	}
	p.lost, p.notBefore = true, at
	f.lost.put(p)
}
