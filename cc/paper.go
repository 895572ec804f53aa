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
	// The trend is that of the last three samples of B_m, and the guard is active once there are three: B̂ is an
	// estimate then.
	paperSamples = 3
	// RTT_base before the first sample: a continental path.
	paperDefaultRTT = 40 * machine.Millisecond
	// No path is faster. A rate that nothing guards (a consumer whose B̂ never reaches its first rate) would otherwise
	// grow past every number.
	paperMaxRate = 1e12
)

// PaperConfig says where a Paper controller runs.
type PaperConfig struct {
	GammaMax float64 // γ_max, ≥ 1: PaperGammaConsumer or PaperGammaForwarder
	Initial  float64 // first rate, units/s, Min…1e12
	Min      float64 // floor of the rate, units/s, > 0; below it no feedback would come any more
	// Consumer delays the guard until the estimate has reached Initial: before that the consumer hasn't yet asked
	// for as much as it may, and the guard would hold it there.
	Consumer bool
}

// Paper is Algorithm 1 of the MARS paper (§III-C): a rate driven by normalised queue occupancies that the upstream
// reports, guarded by an estimate of the bandwidth. Consumers run one per flow, forwarders one per upstream face.
//
// The zero value is not usable; call NewPaper. Times passed to the methods must not decrease.
type Paper struct {
	cfg      PaperConfig
	rate     float64 // R
	estimate float64 // B̂
	trend    [paperSamples]float64
	samples  int // of B_m seen, saturating at paperSamples
	delivery Delivery
	base     machine.Time // RTT_base: the least RTT seen; 0: none yet

	nextR, nextB machine.Time
	heard        bool // something was delivered or reported since the last rate update
	delivered    bool // something was delivered since the last bandwidth update

	interest, data queue
	refused        bool         // a Nack(Congestion) counts in the next rate update
	quietTo        machine.Time // a Nack before then is part of the last one's congestion
}

// queue is what is known of one of the queues upstream.
type queue struct {
	last  float64 // latest occupancy
	peak  float64 // the greatest since the last rate update: several flows share a face
	seen  bool    // peak holds one
	slope slope
}

func (q *queue) add(now machine.Time, occupancy float64, window machine.Time) {
	q.last = occupancy
	if !q.seen || occupancy > q.peak {
		q.peak, q.seen = occupancy, true
	}
	q.slope.add(now, occupancy, window)
}

// NewPaper returns a controller at its initial rate. It panics when cfg is out of range.
func NewPaper(cfg PaperConfig) Paper {
	if !(cfg.Min > 0 && cfg.Initial >= cfg.Min && cfg.Initial <= paperMaxRate && cfg.GammaMax >= 1) {
		panic("cc: PaperConfig out of range")
	}
	return Paper{cfg: cfg, rate: cfg.Initial}
}

// Rate returns R in units/s, cfg.Min…1e12.
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

// window is the time over which slopes are taken: one RTT, but never less than two rate updates.
func (p *Paper) window() machine.Time { return max(p.BaseRTT(), 2*paperMinTauR) }

// OnRTT records one round-trip time of an Interest that was sent once.
func (p *Paper) OnRTT(rtt machine.Time) {
	if rtt > 0 && (p.base == 0 || rtt < p.base) {
		p.base = rtt
	}
}

// OnDelivered records that units of Data arrived at now.
func (p *Paper) OnDelivered(now machine.Time, units float64) {
	p.delivery.Add(now, units)
	p.heard, p.delivered = true, true
}

// OnFeedback records the occupancies, each in [0,1], that a Data packet carried. Values outside are clamped; NaN counts
// as 0.
func (p *Paper) OnFeedback(now machine.Time, qInt, qData float64) {
	p.interest.add(now, clamp01(qInt), p.window())
	p.data.add(now, clamp01(qData), p.window())
	p.heard = true
}

// OnCongestion records a Nack(Congestion). Once per RTT it counts as a queue that is full and was rising (protocol.md
// §4).
func (p *Paper) OnCongestion(now machine.Time) {
	if now < p.quietTo {
		return
	}
	p.quietTo = now + max(p.BaseRTT(), p.tauR())
	p.refused, p.heard = true, true
}

// OnSilence records that nothing came at all though everything was asked for several times: what is asked for at this rate crowds
// itself out, and no feedback will tell. The rate begins again at its floor: one far above the path's would take dozens of gentle
// decreases, each after a timeout. Where the guard is active, the next update lifts it to a half of the estimate.
func (p *Paper) OnSilence() { p.rate = p.cfg.Min }

// Advance runs the updates that are due by now. Call it before reading Rate. Without news since the last update there
// is none: a rate that nobody uses must not grow, nor an estimate fall because nothing was asked for.
func (p *Paper) Advance(now machine.Time) {
	if now >= p.nextB {
		if measured, ok := p.delivery.Rate(now); ok && p.delivered {
			p.updateBandwidth(measured)
		}
		p.delivered = false
		p.nextB = now + p.tauB()
	}
	if now >= p.nextR {
		if p.heard {
			p.updateRate()
		}
		p.heard, p.refused, p.interest.seen, p.data.seen = false, false, false, false
		p.nextR = now + p.tauR()
	}
}

// pressure selects the bottleneck's occupancy and its slope per RTT (Algorithm 1, lines 9–13). Of q_int it takes the
// greatest that any flow reported since the last rate update (protocol.md §3).
func (p *Paper) pressure() (q float64, s *slope) {
	if p.refused {
		return 1, nil
	}
	q = p.interest.last
	if p.interest.seen {
		q = p.interest.peak
	}
	if q > p.data.last {
		return q, &p.interest.slope
	}
	return p.data.last, &p.data.slope
}

// updateBandwidth is Algorithm 1, lines 15–23. The first sample becomes the estimate: blending it with 0 would make
// the guard choke a flow that has just begun.
func (p *Paper) updateBandwidth(measured float64) {
	copy(p.trend[:], p.trend[1:])
	p.trend[paperSamples-1] = measured
	if p.samples == 0 {
		p.estimate = measured
	}
	p.samples = min(p.samples+1, paperSamples)
	full := p.samples == paperSamples
	up := full && p.trend[0] < p.trend[1] && p.trend[1] < p.trend[2]
	down := full && p.trend[0] > p.trend[1] && p.trend[1] > p.trend[2]
	alpha := 0.0
	if q, _ := p.pressure(); measured > p.estimate {
		alpha = paperAlphaSmall
		if up {
			alpha = paperAlphaStrong
		}
	} else if q > paperQLow {
		alpha = paperAlphaSmall
		if down {
			alpha = paperAlphaStrong
		}
	}
	p.estimate = float64((1-alpha)*p.estimate) + float64(alpha*measured)
}

// updateRate is Algorithm 1, lines 25–43.
func (p *Paper) updateRate() {
	q, slope := p.pressure()
	s := 1.0 // refused: rising
	if slope != nil {
		s = slope.per(p.window())
	}
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
	} else if p.cfg.Consumer && p.samples == paperSamples {
		// No guard yet, but what nobody can use must not grow either: a flow whose share of the path is less than the first
		// rate would otherwise end with a rate that paces nothing.
		r = min(r, p.cfg.Initial)
	}
	p.rate = min(max(r, p.cfg.Min), paperMaxRate)
}

func (p *Paper) guarded() bool {
	return p.samples == paperSamples && (!p.cfg.Consumer || p.estimate >= p.cfg.Initial)
}

func clamp01(v float64) float64 {
	if !(v > 0) { // also NaN
		return 0
	}
	return min(v, 1)
}
