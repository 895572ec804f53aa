package cc

import "mars/internal/machine"

// The constants of Algorithm 1 (MARS paper, lines 4–6).
const (
	paperQHigh       = 0.8
	paperQLow        = 0.5
	paperSlope       = 0.1  // s_thres, occupancy per RTT
	paperMD          = 0.9  // M_D: emergency decrease
	paperGD          = 0.95 // G_D: gentle decrease
	paperCI          = 1.02 // C_I: cautious increase
	paperAI          = 1.05 // A_I: aggressive probe
	paperAlphaStrong = 0.25
	paperAlphaSmall  = 0.1
	paperGammaMin    = 0.5

	// PaperGammaConsumer and PaperGammaForwarder are γ_max at consumers and forwarders (MARS paper, §III-C).
	PaperGammaConsumer  = 1.2
	PaperGammaForwarder = 1.3
)

// What the paper leaves open, decided here and nowhere else.
const (
	// τ_R = RTT_base/2 and τ_B = RTT_base/6 have floors: on a loopback path RTT fractions are microseconds, and
	// a controller that ticks every 50 µs sees no packet between two ticks.
	paperMinTauR = 5 * machine.Millisecond
	paperMinTauB = 2 * machine.Millisecond
	// The guard needs a bandwidth estimate that is one: three samples.
	paperGuardSamples = 3
	// RTT_base before the first sample: a continental path.
	paperDefaultRTT = 40 * machine.Millisecond
	// Occupancy samples kept for the slope.
	paperSamples = 32
)

// PaperConfig says where a Paper controller runs.
type PaperConfig struct {
	GammaMax float64 // γ_max: PaperGammaConsumer or PaperGammaForwarder
	Initial  float64 // first rate, units/s
	Min      float64 // floor of the rate, units/s; below it no feedback would come any more
	// Consumer delays the guard until the estimate has reached Initial: before that the consumer hasn't yet asked
	// for as much as it may, and the guard would hold it there.
	Consumer bool
}

// Paper is Algorithm 1 of the MARS paper (§III-C): a rate driven by normalised queue occupancies that the upstream
// reports, guarded by an estimate of the bandwidth. Consumers run one per flow, forwarders one per upstream face.
//
// The zero value is not usable; call NewPaper.
type Paper struct {
	cfg      PaperConfig
	rate     float64 // R
	estimate float64 // B̂
	samples  int     // bandwidth samples seen, saturating at paperGuardSamples
	trend    [3]float64
	delivery Delivery
	base     machine.Time // RTT_base: the least RTT seen; 0: none yet
	nextR    machine.Time
	nextB    machine.Time
	active   bool // something was delivered or reported since the last rate update
	nacked   machine.Time

	qInt, qData       float64 // latest occupancies in [0,1]
	maxInt            float64 // greatest q_int since the last rate update: several flows share a face
	seen              bool    // maxInt holds a sample of this interval
	sampleAt          [paperSamples]machine.Time
	sampleI, sampleD  [paperSamples]float64
	sampleN, sampleTo int
}

// NewPaper returns a controller at its initial rate.
func NewPaper(cfg PaperConfig) Paper {
	return Paper{cfg: cfg, rate: cfg.Initial, nacked: -machine.Never}
}

// Rate returns R in units/s.
func (p *Paper) Rate() float64 { return p.rate }

// Estimate returns B̂ in units/s; 0 before the first sample.
func (p *Paper) Estimate() float64 { return p.estimate }

// BaseRTT returns RTT_base, or a default before the first sample.
func (p *Paper) BaseRTT() machine.Time {
	if p.base == 0 {
		return paperDefaultRTT
	}
	return p.base
}

func (p *Paper) tauR() machine.Time { return max(p.BaseRTT()/2, paperMinTauR) }
func (p *Paper) tauB() machine.Time { return max(p.BaseRTT()/6, paperMinTauB) }

// OnRTT records one round-trip time of an Interest that was sent once.
func (p *Paper) OnRTT(rtt machine.Time) {
	if rtt > 0 && (p.base == 0 || rtt < p.base) {
		p.base = rtt
	}
}

// OnDelivered records that units of Data arrived at now.
func (p *Paper) OnDelivered(now machine.Time, units float64) {
	p.delivery.Add(now, units)
	p.active = true
}

// OnFeedback records the occupancies, each in [0,1], that a Data packet carried. Values outside are clamped.
func (p *Paper) OnFeedback(now machine.Time, qInt, qData float64) {
	p.qInt, p.qData = clamp01(qInt), clamp01(qData)
	if !p.seen || p.qInt > p.maxInt {
		p.maxInt, p.seen = p.qInt, true
	}
	p.active = true
	if p.sampleN > 0 && now-p.sampleAt[(p.sampleTo+paperSamples-1)%paperSamples] < p.slopeWindow()/paperSamples {
		return
	}
	p.sampleAt[p.sampleTo], p.sampleI[p.sampleTo], p.sampleD[p.sampleTo] = now, p.qInt, p.qData
	p.sampleTo = (p.sampleTo + 1) % paperSamples
	p.sampleN = min(p.sampleN+1, paperSamples)
}

// OnCongestion treats a Nack(Congestion) as q = 1, at most once per RTT (protocol.md §4).
func (p *Paper) OnCongestion(now machine.Time) {
	if p.nacked > now-max(p.BaseRTT(), p.tauR()) && p.nacked >= 0 {
		return
	}
	p.nacked = now
	p.rate = max(float64(p.rate*paperMD), p.cfg.Min)
}

// Advance runs the updates that are due by now. Call it before reading Rate.
func (p *Paper) Advance(now machine.Time) {
	if now >= p.nextB {
		p.updateBandwidth(now)
		p.nextB = now + p.tauB()
	}
	if now >= p.nextR {
		if p.active {
			p.updateRate(now)
		}
		p.active, p.seen = false, false
		p.nextR = now + p.tauR()
	}
}

// pressure selects the bottleneck queue (Algorithm 1, lines 9–13) and its slope in occupancy per RTT.
func (p *Paper) pressure(now machine.Time) (q, s float64) {
	qInt := p.qInt
	if p.seen {
		qInt = p.maxInt
	}
	if qInt > p.qData {
		return qInt, p.slope(now, &p.sampleI)
	}
	return p.qData, p.slope(now, &p.sampleD)
}

// updateBandwidth is Algorithm 1, lines 15–23. The first sample becomes the estimate: blending it with 0 would make
// the guard choke a flow that has just begun.
func (p *Paper) updateBandwidth(now machine.Time) {
	measured, ok := p.delivery.Rate(now)
	if !ok {
		return
	}
	p.trend[0], p.trend[1], p.trend[2] = p.trend[1], p.trend[2], measured
	if p.samples == 0 {
		p.estimate = measured
	}
	if p.samples < paperGuardSamples {
		p.samples++
	}
	up := p.trend[0] < p.trend[1] && p.trend[1] < p.trend[2]
	down := p.trend[0] > p.trend[1] && p.trend[1] > p.trend[2]
	alpha := 0.0
	q, _ := p.pressure(now)
	switch {
	case measured > p.estimate:
		alpha = paperAlphaSmall
		if up {
			alpha = paperAlphaStrong
		}
	case q > paperQLow:
		alpha = paperAlphaSmall
		if down {
			alpha = paperAlphaStrong
		}
	}
	p.estimate = float64((1-alpha)*p.estimate) + float64(alpha*measured)
}

// updateRate is Algorithm 1, lines 25–43.
func (p *Paper) updateRate(now machine.Time) {
	q, s := p.pressure(now)
	r := p.rate
	switch {
	case q >= paperQHigh && s > paperSlope:
		r = float64(r * paperMD)
	case q >= paperQHigh && s < -paperSlope: // hold while the queue drains
	case q >= paperQHigh:
		r = float64(r * paperGD)
	case q >= paperQLow: // hold under medium pressure
	case s > paperSlope:
		r = float64(r * paperCI)
	default:
		r = float64(r * paperAI)
	}
	if p.guarded() {
		r = min(r, float64(p.cfg.GammaMax*p.estimate))
		if q < paperQLow {
			r = max(r, float64(paperGammaMin*p.estimate))
		}
	}
	p.rate = max(r, p.cfg.Min)
}

func (p *Paper) guarded() bool {
	return p.samples >= paperGuardSamples && (!p.cfg.Consumer || p.estimate >= p.cfg.Initial)
}

// slopeWindow is one RTT, but never less than two rate updates.
func (p *Paper) slopeWindow() machine.Time { return max(p.BaseRTT(), 2*paperMinTauR) }

// slope is the least-squares slope of the occupancy samples of the last slopeWindow, in occupancy per window.
func (p *Paper) slope(now machine.Time, sample *[paperSamples]float64) float64 {
	window := p.slopeWindow()
	var n, st, sq, stt, stq float64
	for i := 1; i <= p.sampleN; i++ {
		k := (p.sampleTo + 2*paperSamples - i) % paperSamples
		age := now - p.sampleAt[k]
		if age > window {
			break
		}
		t := -float64(age) / float64(window)
		q := sample[k]
		n++
		st += t
		sq += q
		stt += float64(t * t)
		stq += float64(t * q)
	}
	den := float64(n*stt) - float64(st*st)
	if n < 3 || den <= 1e-12 {
		return 0
	}
	return (float64(n*stq) - float64(st*sq)) / den
}

func clamp01(v float64) float64 {
	if !(v > 0) { // also NaN
		return 0
	}
	return min(v, 1)
}
