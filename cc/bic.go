package cc

import "mars/internal/machine"

// The constants of BIC, as PCON's consumers use them.
const (
	bicBeta      = 0.5
	bicLow       = 14 // packets: below it BIC is Reno
	bicIncrement = 16 // S_max, packets per round trip
	// bicNear is how close to the maximum the search counts as done, packets.
	bicNear = 1e-5
	bicMin  = 2
	bicMost = 1 << 24
	// bicUnknown is a maximum that no window comes near.
	bicUnknown = 2 * bicMost
)

// Bic is BIC (Xu, Harfoush and Rhee, INFOCOM 2004): after a decrease the window is searched for between what was too much and
// what wasn't, by halving, and beyond it in steps that double.
//
// The zero value is not usable; call NewBic. The caller tells one congestion event from the next, and reports
// acknowledgements only while the window is what limits it.
type Bic struct {
	window    float64
	threshold float64 // ssthresh, below bicLow
	most      float64 // of the search; the window is its least
	probing   bool    // beyond the maximum
	step      float64 // packets per round trip, while probing
	goal      float64 // where the step doubles
}

// NewBic returns a controller with an initial window of packets, at least 2. It grows by what is acknowledged up to 14
// packets, and by 16 per round trip from there.
func NewBic(initial float64) Bic {
	if !(initial >= bicMin && initial <= bicMost) {
		panic("cc: initial window out of range")
	}
	return Bic{window: initial, threshold: bicMost, most: bicUnknown}
}

// Window returns the congestion window in packets, 2…2^24.
func (b *Bic) Window() float64 { return b.window }

// OnRTT does nothing: BIC grows by round trips, not by time.
func (b *Bic) OnRTT(machine.Time) {}

// OnAck records that acked packets of those sent arrived.
func (b *Bic) OnAck(_ machine.Time, acked float64) {
	switch {
	case b.window < bicLow && b.window < b.threshold:
		b.window += acked
	case b.window < bicLow:
		b.window += acked / b.window
	case b.probing:
		b.probe(acked)
	default:
		b.search(acked)
	}
	b.window = min(b.window, bicMost)
}

// search goes half of the way to the maximum per round trip, but no more than S_max ("binary search increase" and "additive
// increase").
func (b *Bic) search(acked float64) {
	step := max(min((b.most-b.window)/2, bicIncrement), 0)
	b.window += float64(step * acked / b.window)
	if b.window+bicNear >= b.most { // the maximum was none: look for another beyond it
		b.probing, b.step, b.goal = true, 1, b.window+1
	}
}

// probe is "max probing": steps of 1, 2, 4 … packets per round trip, up to S_max.
func (b *Bic) probe(acked float64) {
	b.window += float64(b.step * acked / b.window)
	if b.window < b.goal {
		return
	}
	b.step = float64(2 * b.step)
	b.goal = b.window + b.step
	if b.step >= bicIncrement {
		b.probing, b.most = false, bicUnknown
	}
}

// OnLoss records a congestion event that a loss shows.
func (b *Bic) OnLoss(machine.Time) { b.decrease() }

// OnECN records a mark; it counts like a loss.
func (b *Bic) OnECN(machine.Time) { b.decrease() }

// OnTimeout records that nothing came for a retransmission timeout; it counts like a loss, as with PCON's consumers.
func (b *Bic) OnTimeout(machine.Time) { b.decrease() }

func (b *Bic) decrease() {
	b.probing = false
	if b.window < bicLow {
		b.window = max(float64(b.window*bicBeta), bicMin)
		b.threshold = b.window
		return
	}
	previous := b.most
	b.most = b.window
	b.window = float64(b.window * bicBeta)
	if previous > b.most { // fast convergence: make room for newcomers
		b.most = (b.most + b.window) / 2
	}
}
