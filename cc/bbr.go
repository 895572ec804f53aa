package cc

import "mars/internal/machine"

// The constants of BBR v1 (draft-cardwell-iccrg-bbr-congestion-control-00).
const (
	bbrHigh     = 2.885 // 2/ln 2 §4.3.1.1
	bbrGain     = 2     // cwnd_gain in ProbeBW
	bbrRounds   = 10    // of the bandwidth filter
	bbrWindow   = 10 * machine.Second
	bbrProbe    = 200 * machine.Millisecond
	bbrLeast    = 4    // packets
	bbrFull     = 1.25 // growth per round that says the pipe isn't full
	bbrPatience = 3    // rounds without it
	bbrPhases   = 8
)

type bbrState uint8

const (
	bbrStartup bbrState = iota
	bbrDrain
	bbrProbeBW
	bbrProbeRTT
)

// bbr is BBR v1 per subflow, uncoupled: it models the bottleneck by the largest delivery rate of ten rounds and the least round-trip
// time of ten seconds, paces at that rate and keeps two bandwidth-delay products in flight at most. Losses and marks don't move it.
type bbr struct {
	mss   int
	flows []bbrFlow
}

type bbrFlow struct {
	live  bool
	state bbrState
	cwnd  float64 // bytes

	rates   [bbrRounds]float64 // largest sample per round, bytes per second
	rate    float64            // largest of them
	round   int
	opened  Time // data sent from then on belongs to the next round
	begun   bool
	bytes   float64 // delivered in this round
	limited bool    // by the application, in this round

	minRTT  Time
	minAt   Time // when it was measured
	full    float64
	stalled int // rounds without growth
	filled  bool
	phase   int
	phaseAt Time
	until   Time // end of ProbeRTT
	before  float64
}

func newBBR(mss int) Controller { return &bbr{mss: mss} }

func (b *bbr) get(s Subflow) *bbrFlow {
	if s < 0 || int(s) >= len(b.flows) || !b.flows[s].live {
		return nil
	}
	return &b.flows[s]
}

// AddSubflow implements Controller.
func (b *bbr) AddSubflow(Time) Subflow {
	i := 0
	for i < len(b.flows) && b.flows[i].live {
		i++
	}
	if i == len(b.flows) {
		b.flows = append(b.flows, bbrFlow{})
	}
	b.flows[i] = bbrFlow{live: true, cwnd: float64(initial(b.mss) * float64(b.mss))}
	return Subflow(i)
}

// RemoveSubflow implements Controller.
func (b *bbr) RemoveSubflow(_ Time, s Subflow) {
	if f := b.get(s); f != nil {
		*f = bbrFlow{}
	}
}

// OnLoss implements Controller: BBR v1 doesn't react.
func (b *bbr) OnLoss(Time, Subflow, Loss) {}

// OnTimeout implements Controller: one packet, then growth to the model's window as acknowledgements come (§4.2.3.4).
func (b *bbr) OnTimeout(_ Time, s Subflow) {
	if f := b.get(s); f != nil {
		f.before, f.cwnd = max(f.cwnd, f.before), float64(b.mss)
	}
}

// OnUndo implements Controller.
func (b *bbr) OnUndo(_ Time, s Subflow) {
	if f := b.get(s); f != nil {
		f.cwnd, f.before = max(f.cwnd, f.before), 0
	}
}

// OnAck implements Controller.
func (b *bbr) OnAck(now Time, s Subflow, a Ack) {
	f := b.get(s)
	if f == nil || a.Bytes <= 0 {
		return
	}
	expired := f.minRTT > 0 && now-f.minAt > bbrWindow
	if a.RTT > 0 && (f.minRTT == 0 || a.RTT <= f.minRTT || expired) {
		f.minRTT, f.minAt = a.RTT, now
	}
	over := f.measure(now, a)
	if over {
		f.fill()
	}
	f.step(now, a, expired, float64(b.mss))
	f.resize(a, float64(b.mss))
}

// measure keeps the bandwidth filter; it returns true when a round is over.
func (f *bbrFlow) measure(now Time, a Ack) (over bool) {
	f.bytes += float64(a.Bytes)
	f.limited = f.limited || a.AppLimited
	sample := a.Rate
	if over = !f.begun || a.Sent >= f.opened; over {
		if span := now - f.opened; f.begun && span > 0 && a.Rate <= 0 {
			sample = f.bytes / span.Seconds()
		}
		f.round++
		f.rates[f.round%bbrRounds] = 0
		f.begun, f.opened, f.bytes = true, now, 0
	}
	if sample > 0 && (!f.limited || sample >= f.rate) { // §4.1.1.4: what the application held back shows no less
		at := &f.rates[f.round%bbrRounds]
		*at = max(*at, min(sample, deliveryMost))
	}
	f.rate = 0
	for _, r := range f.rates {
		f.rate = max(f.rate, r)
	}
	if over {
		f.limited = a.AppLimited
	}
	return over
}

// fill notices that the pipe is full: three rounds in which the rate hardly grew (§4.3.2.2).
func (f *bbrFlow) fill() {
	if f.filled || f.limited || f.rate <= 0 {
		return
	}
	if f.rate >= float64(bbrFull*f.full) {
		f.full, f.stalled = f.rate, 0
		return
	}
	f.stalled++
	f.filled = f.stalled >= bbrPatience
}

// step runs the state machine (§4.3).
func (f *bbrFlow) step(now Time, a Ack, expired bool, mss float64) {
	if f.state == bbrStartup && f.filled {
		f.state = bbrDrain
	}
	if f.state == bbrDrain && float64(a.InFlight) <= f.product(1) {
		f.state, f.phase, f.phaseAt = bbrProbeBW, 2, now
	}
	if f.state == bbrProbeBW {
		long := now-f.phaseAt > f.minRTT
		if f.phase == 1 { // drain what probing queued: until the queue is gone, or a round-trip time
			long = long || float64(a.InFlight) <= f.product(1)
		}
		if long {
			f.phase, f.phaseAt = (f.phase+1)%bbrPhases, now
		}
	}
	if expired && f.state != bbrProbeRTT {
		f.state, f.until, f.before = bbrProbeRTT, 0, max(f.before, f.cwnd)
	}
	if f.state == bbrProbeRTT {
		if f.until == 0 && float64(a.InFlight) <= float64(bbrLeast*mss) {
			f.until = now + max(bbrProbe, f.minRTT)
		} else if f.until > 0 && now >= f.until {
			f.minAt = now
			f.cwnd, f.before = max(f.cwnd, f.before), 0
			f.state, f.phase, f.phaseAt = bbrProbeBW, 2, now
			if !f.filled {
				f.state = bbrStartup
			}
		}
	}
}

// product is gain bandwidth-delay products, bytes.
func (f *bbrFlow) product(gain float64) float64 {
	return float64(gain * f.rate * f.minRTT.Seconds())
}

// resize lets the window follow the model (§4.2.3).
func (f *bbrFlow) resize(a Ack, mss float64) {
	gain := float64(bbrGain)
	if f.state == bbrStartup || f.state == bbrDrain {
		gain = bbrHigh
	}
	target := f.product(gain) + float64(3*mss) // §4.2.3.2: room for what is delayed in batches
	if f.filled {
		f.cwnd = min(f.cwnd+float64(a.Bytes), target)
	} else if f.cwnd < target || f.rate <= 0 {
		f.cwnd += float64(a.Bytes)
	}
	f.cwnd = min(max(f.cwnd, float64(bbrLeast*mss)), float64(mostPackets*mss))
	if f.state == bbrProbeRTT {
		f.cwnd = min(f.cwnd, float64(bbrLeast*mss))
	}
}

// Cwnd implements Controller.
func (b *bbr) Cwnd(s Subflow) int {
	if f := b.get(s); f != nil {
		return max(int(f.cwnd), b.mss)
	}
	return 0
}

// PacingRate implements Controller.
func (b *bbr) PacingRate(s Subflow) float64 {
	f := b.get(s)
	if f == nil {
		return 0
	}
	gain := 1.0
	switch {
	case f.state == bbrStartup:
		gain = bbrHigh
	case f.state == bbrDrain:
		gain = 1 / bbrHigh
	case f.state == bbrProbeBW && f.phase == 0:
		gain = 1.25
	case f.state == bbrProbeBW && f.phase == 1:
		gain = 0.75
	}
	return float64(gain * f.rate)
}
