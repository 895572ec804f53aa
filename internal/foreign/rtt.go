package foreign

import "mars/internal/machine"

const (
	minRTO     = 200 * machine.Millisecond
	maxRTO     = 4 * machine.Second // the lifetime of an Interest: no node waits for its Data any more
	defaultRTO = machine.Second
)

// rtt estimates the retransmission timeout (RFC 6298 §2).
type rtt struct {
	smoothed, variation machine.Time
	backoff             uint // doublings (§5.5)
}

// add takes the round trip of an Interest that was sent once (§3, Karn). It ends the backoff.
func (r *rtt) add(sample machine.Time) {
	r.backoff = 0
	if r.smoothed == 0 {
		r.smoothed, r.variation = max(sample, 1), sample/2
		return
	}
	r.variation += (max(r.smoothed-sample, sample-r.smoothed) - r.variation) / 4
	r.smoothed = max(r.smoothed+(sample-r.smoothed)/8, 1)
}

func (r *rtt) timeout() machine.Time {
	rto := defaultRTO
	if r.smoothed > 0 {
		rto = max(r.smoothed+4*r.variation, minRTO)
	}
	return min(rto<<min(r.backoff, 8), maxRTO)
}
