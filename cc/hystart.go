package cc

import "mars/internal/machine"

// The constants of HyStart++ (RFC 9406 §4.3).
const (
	hystartMin     = 4 * machine.Millisecond  // MIN_RTT_THRESH
	hystartMax     = 16 * machine.Millisecond // MAX_RTT_THRESH
	hystartDivisor = 8                        // MIN_RTT_DIVISOR
	hystartSamples = 8                        // N_RTT_SAMPLE
	hystartGrowth  = 4                        // CSS_GROWTH_DIVISOR
	hystartRounds  = 5                        // CSS_ROUNDS
	hystartBurst   = 8                        // L, packets per acknowledgement, for senders that may not pace
)

// hystart is HyStart++ (RFC 9406): slow start that ends when the round-trip time rises, by way of a conservative phase that can
// turn out to have been wrong.
type hystart struct {
	done     bool // congestion avoidance has begun by it
	begun    bool
	opened   Time // data sent from then on belongs to the next round
	last     Time // lastRoundMinRTT; 0: unknown
	current  Time // currentRoundMinRTT
	samples  int
	cautious bool // conservative slow start
	baseline Time // cssBaselineMinRtt
	rounds   int  // of it
}

// onAck returns by how many packets slow start grows for acked ones, and ends it by setting f's threshold.
func (h *hystart) onAck(f *flow, now Time, a Ack, acked float64) float64 {
	acked = min(acked, hystartBurst)
	if h.done {
		return acked
	}
	if !h.begun || a.Sent >= h.opened { // the round is over
		if h.begun && h.cautious {
			if h.rounds++; h.rounds >= hystartRounds {
				h.done, f.threshold = true, f.window
				return 0
			}
		}
		h.begun, h.opened, h.last, h.current, h.samples = true, now, h.current, 0, 0
	}
	if a.RTT > 0 {
		h.samples++
		if h.current == 0 || a.RTT < h.current {
			h.current = a.RTT
		}
	}
	if h.samples >= hystartSamples && h.last > 0 {
		switch limit := min(max(h.last/hystartDivisor, hystartMin), hystartMax); {
		case h.cautious && h.current < h.baseline: // it was no queue
			h.cautious, h.rounds = false, 0
		case !h.cautious && h.current >= h.last+limit:
			h.cautious, h.rounds, h.baseline = true, 0, h.current
		}
	}
	if h.cautious {
		return acked / hystartGrowth
	}
	return acked
}
