package fetch

import (
	"math"

	"mars/internal/machine"
)

// rttWindow estimates the retransmission timeout over the recent RTT samples of a flow: mean + 4σ (MARS paper §III-E).
// Sums are integers, of microseconds, so that taking out what leaves the window is exact.
type rttWindow struct {
	ring      [64]int64
	n, next   int
	sum, sqrs int64
}

const (
	// The paper gives no bounds. Below half a second a queue that grows looks like a loss; above four seconds the
	// Interest has left every PIT on the way.
	minRTO     = 500 * machine.Millisecond
	maxRTO     = 4 * machine.Second
	defaultRTO = machine.Second

	// maxRTT keeps the sums of squares in range: 64²·(16·10⁶)² < 2⁶³.
	maxRTT = 16 * machine.Second
)

func (w *rttWindow) add(rtt machine.Time) {
	us := int64(min(max(rtt, 0), maxRTT) / machine.Microsecond)
	old := w.ring[w.next] // 0 while the ring fills
	w.sum += us - old
	w.sqrs += us*us - old*old
	w.ring[w.next] = us
	w.next = (w.next + 1) % len(w.ring)
	w.n = min(w.n+1, len(w.ring))
}

// mean is 0 before the first sample.
func (w *rttWindow) mean() machine.Time {
	return machine.Time(w.sum/int64(max(w.n, 1))) * machine.Microsecond
}

func (w *rttWindow) rto() machine.Time {
	if w.n == 0 {
		return defaultRTO
	}
	n := int64(w.n)
	sigma := machine.Time(math.Sqrt(float64(n*w.sqrs-w.sum*w.sum))/float64(n)) * machine.Microsecond
	return min(max(w.mean()+4*sigma, minRTO), maxRTO)
}
