package cc

import (
	"math"
	"testing"

	"mars/internal/machine"
)

const (
	ms  = machine.Millisecond
	rtt = 48 * ms // τ_R = 24 ms, τ_B = 8 ms
)

// forwarder is a controller of an upstream face with an RTT_base of 48 ms.
func forwarder(initial float64) *Paper {
	p := NewPaper(PaperConfig{GammaMax: PaperGammaForwarder, Initial: initial, Min: 1})
	p.OnRTT(rtt)
	return &p
}

// consumer is the same of a flow.
func consumer(initial float64) *Paper {
	p := NewPaper(PaperConfig{GammaMax: PaperGammaConsumer, Initial: initial, Min: 1, Consumer: true})
	p.OnRTT(rtt)
	return &p
}

// report feeds one RTT of feedback that ends at the occupancies given, at time at, after rising by the slopes given.
func report(p *Paper, at machine.Time, qInt, sInt, qData, sData float64) {
	const samples = 8
	for i := range samples {
		before := float64(samples-1-i) / samples // RTTs before the end
		p.OnFeedback(at-machine.Time(before*float64(rtt)), qInt-float64(before*sInt), qData-float64(before*sData))
	}
}

// near tells whether two results differ by rounding only.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// TestBottleneckQueue is lines 9–13: the greater of the two occupancies counts, and its slope.
func TestBottleneckQueue(t *testing.T) {
	for _, c := range []struct {
		say                      string
		qInt, sInt, qData, sData float64
		q, s                     float64
	}{
		{"line 10: the Interest queue is fuller", 0.7, 0.3, 0.2, -0.1, 0.7, 0.3},
		{"line 12: the Data queue is fuller", 0.3, 0.3, 0.6, -0.2, 0.6, -0.2},
		{"line 12: equal occupancies are the Data queue's", 0.5, 0.3, 0.5, -0.2, 0.5, -0.2},
		{"both empty", 0, 0, 0, 0, 0, 0},
	} {
		t.Run(c.say, func(t *testing.T) {
			p := forwarder(1000)
			report(p, rtt, c.qInt, c.sInt, c.qData, c.sData)
			// Of q_int the greatest of the interval counts: begin a new one with the last report.
			p.interest.seen = false
			q, s := p.pressure()
			if q != c.q || !near(s.per(rtt), c.s) {
				t.Errorf("q = %v, s = %v; want %v, %v", q, s.per(rtt), c.q, c.s)
			}
		})
	}
}

// TestRateTable is lines 25–39: every branch of the queue-based rate control, with no guard yet.
func TestRateTable(t *testing.T) {
	for _, c := range []struct {
		say  string
		q, s float64
		want float64
	}{
		{"line 28: high and rising, emergency decrease", 0.95, 0.2, 0.9},
		{"line 28: just past the threshold of the slope", 0.95, 0.101, 0.9},
		{"line 30: high but draining, hold", 0.85, -0.2, 1},
		{"line 30: just past the negative threshold", 0.85, -0.101, 1},
		{"line 32: high and steady, gentle decrease", 0.85, 0, 0.95},
		{"line 32: high, rising within the threshold", 0.85, 0.099, 0.95},
		{"line 32: high, draining within the threshold", 0.85, -0.099, 0.95},
		{"line 26: q_high itself is high", 0.8, 0, 0.95},
		{"line 34: medium, hold", 0.65, 0, 1},
		{"line 34: medium and rising, hold", 0.79, 0.5, 1},
		{"line 34: medium and draining, hold", 0.51, -0.4, 1},
		{"line 33: q_low itself is medium", 0.5, 0, 1},
		{"line 37: low and rising, cautious increase", 0.4, 0.2, 1.02},
		{"line 39: low and steady, aggressive probe", 0.49, 0, 1.05},
		{"line 39: low, rising within the threshold", 0.4, 0.099, 1.05},
		{"line 39: low and draining, aggressive probe", 0.1, -0.5, 1.05},
		{"line 39: empty", 0, 0, 1.05},
	} {
		for _, queue := range []string{"Interest", "Data"} {
			t.Run(c.say+", "+queue+" queue", func(t *testing.T) {
				p := forwarder(1000)
				p.Advance(0)
				if queue == "Interest" {
					report(p, rtt, c.q, c.s, 0, 0)
					p.interest.peak = c.q // the interval began with the last report
				} else {
					report(p, rtt, 0, 0, c.q, c.s)
				}
				p.Advance(rtt)
				if want := float64(1000 * c.want); p.Rate() != want {
					t.Errorf("R = %v, want %v", p.Rate(), want)
				}
			})
		}
	}
}

// TestInterestQueuesOfSeveralFlows: a face's q_int is the greatest of the flows seen since the last update (protocol.md
// §3).
func TestInterestQueuesOfSeveralFlows(t *testing.T) {
	p := forwarder(1000)
	p.Advance(0)
	now := machine.Time(0)
	for range 20 { // two flows take turns
		p.OnFeedback(now, 0.9, 0)
		p.OnFeedback(now+ms/2, 0.1, 0)
		now += 2 * ms
	}
	p.Advance(now)
	if p.Rate() != 950 {
		t.Errorf("R = %v; want a gentle decrease for the fuller queue, which is steady", p.Rate())
	}
	p.OnFeedback(now+30*ms, 0.1, 0) // only the other one is left
	p.Advance(now + 30*ms)
	if p.Rate() <= 950 {
		t.Errorf("R = %v; want an increase once only the emptier queue reports", p.Rate())
	}
}

// TestBandwidthEstimate is lines 15–23: which α each sample of B_m gets. Each step gives q, the sample and α.
func TestBandwidthEstimate(t *testing.T) {
	type step struct {
		q, measured, alpha float64
	}
	for _, c := range []struct {
		say   string
		steps []step
	}{
		{"the first sample is the estimate", []step{{0, 500, 1}}},
		{"line 19: above the estimate without a trend, small", []step{{0, 500, 1}, {0, 600, 0.1}}},
		{"line 19: two samples are no trend", []step{{0, 1, 1}, {0, 2, 0.1}}},
		{"line 19: three rising samples, strong", []step{{0, 500, 1}, {0, 600, 0.1}, {0, 700, 0.25}, {0, 800, 0.25}}},
		{"line 19: rising, but not strictly", []step{{0, 500, 1}, {0, 600, 0.1}, {0, 600, 0.1}}},
		{"line 19: a dip breaks the trend", []step{{0, 500, 1}, {0, 800, 0.1}, {0, 600, 0.1}, {0, 700, 0.1}, {0, 900, 0.25}}},
		{"line 17: below the estimate and q low, none", []step{{0, 500, 1}, {0.2, 400, 0}, {0.2, 300, 0}}},
		{"line 20: q_low itself is not above it", []step{{0, 500, 1}, {0.5, 400, 0}}},
		{"line 21: below the estimate under pressure, small", []step{{0, 500, 1}, {0.6, 400, 0.1}}},
		{"line 21: three falling samples under pressure, strong", []step{{0, 500, 1}, {0.6, 400, 0.1}, {0.6, 300, 0.25}}},
		{"line 21: falling trend counts from before the pressure", []step{{0, 500, 1}, {0.2, 400, 0}, {0.6, 300, 0.25}}},
		{"line 18: equal to the estimate counts as not above", []step{{0, 500, 1}, {0.9, 500, 0.1}, {0, 500, 0}}},
		{"line 18 before 20: above the estimate, whatever q", []step{{0.9, 500, 1}, {0.9, 600, 0.1}, {0.9, 700, 0.25}}},
	} {
		t.Run(c.say, func(t *testing.T) {
			p := forwarder(1000)
			want := 0.0
			for i, s := range c.steps {
				p.OnFeedback(0, 0, s.q)
				p.updateBandwidth(s.measured)
				want += s.alpha * (s.measured - want)
				if !near(p.Estimate(), want) {
					t.Fatalf("step %d: B̂ = %v, want %v", i+1, p.Estimate(), want)
				}
			}
		})
	}
}

// TestGuard is lines 41–43.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		say     string
		p       *Paper
		samples []float64
		q       float64
		want    float64
	}{
		{"inactive before the first sample", forwarder(1000), nil, 0, 1050},
		{"inactive with two samples", forwarder(1000), []float64{100, 100}, 0, 1050},
		{"line 42: capped at γ_max·B̂ from the third sample", forwarder(1000), []float64{100, 100, 100}, 0, 130},
		{"line 42: capped whatever q", forwarder(1000), []float64{100, 100, 100}, 0.6, 130},
		{"line 42: not capped below γ_max·B̂", forwarder(1000), []float64{900, 900, 900}, 0, 1050},
		{"line 43: raised to γ_min·B̂ when q is low", forwarder(1000), []float64{4000, 4000, 4000}, 0, 2000},
		{"line 43: not raised under medium pressure", forwarder(1000), []float64{4000, 4000, 4000}, 0.5, 1000},
		{"line 43: not raised under high pressure", forwarder(1000), []float64{4000, 4000, 4000}, 0.9, 950},
		{"a consumer's γ_max is 1.2", consumer(100), []float64{110, 110, 110}, 0, 105},
		{"consumer: not choked until B̂ has reached the first rate, but no growth either", consumer(1000), []float64{100, 100, 100}, 0, 1000},
		{"consumer: active when B̂ has reached the first rate", consumer(1000), []float64{3000, 3000, 3000}, 0, 1500},
	} {
		t.Run(c.say, func(t *testing.T) {
			for _, m := range c.samples {
				c.p.updateBandwidth(m)
			}
			c.p.OnFeedback(0, 0, c.q)
			c.p.Advance(0)
			if !near(c.p.Rate(), c.want) {
				t.Errorf("R = %v, want %v", c.p.Rate(), c.want)
			}
		})
	}
}

// TestGuardOfConsumerCaps: γ_max 1.2 at a consumer that has grown past its estimate.
func TestGuardOfConsumerCaps(t *testing.T) {
	p := consumer(1000)
	for range paperSamples {
		p.updateBandwidth(1000)
	}
	for now := machine.Time(0); now < 20*rtt; now += rtt {
		p.OnFeedback(now, 0, 0)
		p.Advance(now)
	}
	if !near(p.Rate(), 1200) {
		t.Errorf("R = %v, want γ_max·B̂ = 1200", p.Rate())
	}
}

// TestIntervals is line 7 with the floors: R changes every max(RTT_base/2, 5 ms), B̂ every max(RTT_base/6, 2 ms).
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		say        string
		base       machine.Time
		tauR, tauB machine.Time
	}{
		{"before the first RTT: that of 40 ms", 0, 20 * ms, 40 * ms / 6},
		{"48 ms", 48 * ms, 24 * ms, 8 * ms},
		{"floor of τ_R", 9 * ms, 5 * ms, 2 * ms},
		{"floors on a loopback path", 60 * machine.Microsecond, 5 * ms, 2 * ms},
		{"floor of τ_B only", 11 * ms, 5500 * machine.Microsecond, 2 * ms},
	} {
		t.Run(c.say, func(t *testing.T) {
			p := NewPaper(PaperConfig{GammaMax: 1.3, Initial: 1000, Min: 1})
			p.OnRTT(c.base)
			var rates, estimates []machine.Time
			rate, estimate := p.Rate(), p.Estimate()
			const step = 50 * machine.Microsecond
			for now := machine.Time(0); now < 100*ms; now += step {
				p.OnDelivered(now, 1000) // rising, so that every sample moves B̂
				p.OnFeedback(now, 0, 0)
				p.delivery = Delivery{}
				for k := range 5 {
					p.delivery.Add(now-25*ms+machine.Time(k)*6*ms, 1+float64(now))
				}
				p.Advance(now)
				if p.Rate() != rate {
					rates = append(rates, now)
				}
				if p.Estimate() != estimate {
					estimates = append(estimates, now)
				}
				rate, estimate = p.Rate(), p.Estimate()
			}
			spaced(t, "R", rates, c.tauR, step)
			spaced(t, "B̂", estimates, c.tauB, step)
		})
	}
}

// spaced checks that updates happened at the steps that follow each interval.
func spaced(t *testing.T, what string, at []machine.Time, interval, step machine.Time) {
	t.Helper()
	if len(at) < 4 {
		t.Fatalf("%s changed %d times", what, len(at))
	}
	for i := range at[1:] {
		if d := at[i+1] - at[i]; d < interval || d >= interval+step {
			t.Errorf("%s changed after %v ns, want %v", what, d, interval)
		}
	}
}

// TestBaseRTT: RTT_base is the least RTT observed.
func TestBaseRTT(t *testing.T) {
	p := NewPaper(PaperConfig{GammaMax: 1.3, Initial: 1000, Min: 1})
	for _, s := range []struct{ sample, want machine.Time }{
		{0, paperDefaultRTT},
		{70 * ms, 70 * ms},
		{90 * ms, 70 * ms},
		{50 * ms, 50 * ms},
		{-1, 50 * ms},
		{0, 50 * ms},
	} {
		if p.OnRTT(s.sample); p.BaseRTT() != s.want {
			t.Errorf("after %v: RTT_base = %v, want %v", s.sample, p.BaseRTT(), s.want)
		}
	}
}

// TestCongestionNack: a Nack(Congestion) is a full and rising queue in the next update, once per RTT (protocol.md §4).
func TestCongestionNack(t *testing.T) {
	p := forwarder(1000)
	p.Advance(0)
	for _, s := range []struct {
		say   string
		at    machine.Time
		nack  bool
		ratio float64 // of R, at the end of the update at that time
	}{
		{"a Nack, though the queues reported are empty", 24 * ms, true, 0.9},
		{"another within the RTT counts for nothing", 48 * ms, true, 1.05},
		{"without a Nack", 72 * ms, false, 1.05},
		{"a Nack after one RTT counts", 96 * ms, true, 0.9},
	} {
		before := p.Rate()
		p.OnFeedback(s.at, 0, 0)
		if s.nack {
			p.OnCongestion(s.at - 1)
			p.OnCongestion(s.at - 1)
		}
		p.Advance(s.at)
		if want := float64(before * s.ratio); p.Rate() != want {
			t.Errorf("%s: R = %v, want %v", s.say, p.Rate(), want)
		}
	}
}

// TestCongestionNackAlone: where every Interest is refused there is no other news.
func TestCongestionNackAlone(t *testing.T) {
	p := forwarder(1000)
	p.OnCongestion(0)
	p.Advance(0)
	if p.Rate() != 900 {
		t.Errorf("R = %v, want an emergency decrease", p.Rate())
	}
}

// TestCongestionNackLowersTheEstimate: q is 1 in lines 15–23 too.
func TestCongestionNackLowersTheEstimate(t *testing.T) {
	p := forwarder(1000)
	p.updateBandwidth(500)
	p.OnCongestion(0)
	p.updateBandwidth(400)
	if want := 490.0; !near(p.Estimate(), want) {
		t.Errorf("B̂ = %v, want %v", p.Estimate(), want)
	}
}

// TestNothingHappensWithoutNews: an idle controller keeps R and B̂, whatever the last feedback said.
func TestNothingHappensWithoutNews(t *testing.T) {
	for _, q := range []float64{0, 0.6, 1} {
		p := forwarder(1000)
		now := machine.Time(0)
		for ; now < 200*ms; now += ms {
			p.OnDelivered(now, 1)
			p.OnFeedback(now, q, 0)
			p.Advance(now)
		}
		now += 3 * 24 * ms // what has come is used up
		p.Advance(now)
		rate, estimate := p.Rate(), p.Estimate()
		if estimate == 0 {
			t.Fatal("no estimate")
		}
		for ; now < 5*machine.Second; now += ms {
			p.Advance(now)
		}
		if p.Rate() != rate || p.Estimate() != estimate {
			t.Errorf("q = %v: idle, R went from %v to %v and B̂ from %v to %v", q, rate, p.Rate(), estimate, p.Estimate())
		}
	}
}

// TestEstimateFollowsDeliveries ties B_m to what is delivered: 1000 units/s for half a second.
func TestEstimateFollowsDeliveries(t *testing.T) {
	p := forwarder(1000)
	for now := machine.Time(0); now < 500*ms; now += ms {
		p.OnDelivered(now, 1)
		p.Advance(now)
	}
	if !near(p.Estimate(), 1000) {
		t.Errorf("B̂ = %v, want 1000", p.Estimate())
	}
}

// TestBounds: R stays between Min and what any path can carry.
func TestBounds(t *testing.T) {
	p := consumer(1000)
	now := machine.Time(0)
	for range 2000 { // a guard that never becomes active
		p.OnFeedback(now, 0, 0)
		p.Advance(now)
		now += rtt
	}
	if p.Rate() != paperMaxRate {
		t.Errorf("R = %v, want the greatest rate %v", p.Rate(), paperMaxRate)
	}
	for range 2000 {
		p.OnFeedback(now, 1, 1)
		p.Advance(now)
		now += rtt
	}
	if p.Rate() != 1 {
		t.Errorf("R = %v, want Min", p.Rate())
	}
}

// TestConfigOutOfRange: mistakes of the caller don't pass.
func TestConfigOutOfRange(t *testing.T) {
	good := PaperConfig{GammaMax: 1.3, Initial: 1000, Min: 1}
	NewPaper(good)
	for say, change := range map[string]func(*PaperConfig){
		"no floor":            func(c *PaperConfig) { c.Min = 0 },
		"negative floor":      func(c *PaperConfig) { c.Min = -1 },
		"floor not a number":  func(c *PaperConfig) { c.Min = math.NaN() },
		"first rate below it": func(c *PaperConfig) { c.Initial = 0.5 },
		"no such path":        func(c *PaperConfig) { c.Initial = math.Inf(1) },
		"no first rate":       func(c *PaperConfig) { c.Initial = math.NaN() },
		"γ_max below 1":       func(c *PaperConfig) { c.GammaMax = 0.9 },
		"γ_max not a number":  func(c *PaperConfig) { c.GammaMax = math.NaN() },
	} {
		t.Run(say, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			c := good
			change(&c)
			NewPaper(c)
		})
	}
}

// TestPaperSilence: after silence the rate begins at its floor, and grows from there.
func TestPaperSilence(t *testing.T) {
	p := NewPaper(PaperConfig{GammaMax: PaperGammaConsumer, Initial: 1000, Min: 100, Consumer: true})
	p.OnRTT(100 * machine.Millisecond)
	if p.OnSilence(); p.Rate() != 100 {
		t.Fatalf("the rate is %v, want the floor, 100", p.Rate())
	}
	p.OnDelivered(machine.Second, 1)
	if p.Advance(machine.Second); p.Rate() != 105 {
		t.Errorf("after the next update it is %v, want 105", p.Rate())
	}
}
