package fetch

import (
	"math"

	"mars/internal/machine"
)

// rttWindow estimates the retransmission timeout over the recent RTT samples of a flow: mean + 4σ (MARS paper §III-E).
type rttWindow struct {
	ring [64]machine.Time
	n    int
	next int
}

const (
	// The paper gives no bounds. Below half a second a queue that grows looks like a loss; above four seconds the
	// Interest has left every PIT on the way.
	minRTO     = 500 * machine.Millisecond
	maxRTO     = 4 * machine.Second
	defaultRTO = machine.Second
)

func (w *rttWindow) add(rtt machine.Time) {
	w.ring[w.next] = rtt
	w.next = (w.next + 1) % len(w.ring)
	w.n = min(w.n+1, len(w.ring))
}

func (w *rttWindow) mean() machine.Time {
	if w.n == 0 {
		return 0
	}
	var sum machine.Time
	for _, r := range w.ring[:w.n] {
		sum += r
	}
	return sum / machine.Time(w.n)
}

func (w *rttWindow) rto() machine.Time {
	if w.n == 0 {
		return defaultRTO
	}
	mean := w.mean()
	var sq float64
	for _, r := range w.ring[:w.n] {
		d := float64(r - mean)
		sq += float64(d * d)
	}
	sigma := machine.Time(math.Sqrt(sq / float64(w.n)))
	return min(max(mean+4*sigma, minRTO), maxRTO)
}
