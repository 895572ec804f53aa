package cc

import (
	"math"
	"testing"

	"mars/internal/machine"
)

// fluid integrates dw/dt = x·(increase − p·decrease) over the rule's own code until it rests: the differential equations that the
// algorithms are published with. It returns the windows.
func fluid(r rule, rtt [2]Time, p [2]float64) [2]float64 {
	c := newConn(testMSS, r)
	for i := range rtt {
		f := &c.flows[c.AddSubflow(0)]
		f.srtt, f.window, f.runs = rtt[i], 20, runs{prior: 1 / p[i]}
	}
	for range 400000 {
		var d [2]float64
		for i := range c.flows {
			f := &c.flows[i]
			up := r.grow(0, c, f, 1) - f.window
			down := f.window - r.cut(c, f, f.window)
			d[i] = f.rate() * (up - p[i]*down)
		}
		for i := range c.flows {
			f := &c.flows[i]
			f.window = max(f.window+0.001*d[i], 0.01)
		}
	}
	return [2]float64{c.flows[0].window, c.flows[1].window}
}

// TestEquilibriumReno compares the rate split on two paths with fixed loss rates with the published one.
func TestEquilibriumReno(t *testing.T) {
	const ms50 = 50 * machine.Millisecond
	tcp := func(p float64, rtt Time) float64 { return math.Sqrt(2/p) / rtt.Seconds() }
	for _, c := range []struct {
		name  string
		rule  rule
		rtt   [2]Time
		p     [2]float64
		ratio float64 // x₁/x₂; +Inf: the second only probes
		total float64 // packets per second; 0: not published
	}{
		// w = √(2/p) each.
		{"reno", reno{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.004}, 2, 0},
		// RFC 6356, Wischik et al. (NSDI 2011) eq. 5: w_i ∝ 1/p_i; all together one TCP on the best path.
		{"lia, alike", lia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.001}, 1, tcp(0.001, ms50)},
		{"lia, losses", lia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.002}, 2, tcp(0.001, ms50)},
		{"lia, times", lia{}, [2]Time{ms50, 2 * ms50}, [2]float64{0.001, 0.001}, 2, tcp(0.001, ms50)},
		// Khalili et al., theorem 1: only the best paths, as one TCP.
		{"olia, alike", olia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.001}, 1, tcp(0.001, ms50)},
		{"olia, losses", olia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.004}, math.Inf(1), tcp(0.001, ms50)},
		// Peng et al.: (1+α)(4+α)/(10·min(α, 1.5)) = p₂rtt₂²/(p₁rtt₁²) on the worse path; Σx as one TCP on the best.
		{"balia, alike", balia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.001}, 1, tcp(0.001, ms50)},
		{"balia, losses", balia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.002}, (math.Sqrt(129) - 5) / 2, tcp(0.001, ms50)},
		{"balia, more", balia{}, [2]Time{ms50, ms50}, [2]float64{0.001, 0.005}, (math.Sqrt(9+4*75) - 5) / 2, tcp(0.001, ms50)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := fluid(c.rule, c.rtt, c.p)
			x := [2]float64{w[0] / c.rtt[0].Seconds(), w[1] / c.rtt[1].Seconds()}
			if math.IsInf(c.ratio, 1) {
				if x[1] > 0.05*x[0] {
					t.Errorf("the worse path has %v of %v", x[1], x[0])
				}
			} else {
				wantNear(t, "x₁/x₂", x[0]/x[1], c.ratio, 0.05)
			}
			if c.total > 0 {
				wantNear(t, "Σx", x[0]+x[1], c.total, 0.05)
			}
		})
	}
}

// periodic loses every 1/p-th packet of each path and returns the mean windows.
func periodic(name string, rtt Time, p [2]float64) (mean [2]float64) {
	c := must(name).(*conn)
	var credit, sent [2]float64
	for range p {
		f := &c.flows[c.AddSubflow(0)]
		f.srtt, f.threshold = rtt, f.window
	}
	const tick = machine.Millisecond
	steps := 0
	for now := rtt; now < 4000*machine.Second; now += tick {
		for i := range p {
			f := &c.flows[i]
			credit[i] += f.rate() * tick.Seconds()
			for ; credit[i] >= 1; credit[i]-- {
				if sent[i]++; sent[i] >= 1/p[i] {
					sent[i] = 0
					c.OnLoss(now, Subflow(i), Loss{Bytes: testMSS, Sent: now - rtt})
					continue
				}
				c.OnAck(now, Subflow(i), Ack{Bytes: testMSS, Sent: now - rtt, RTT: rtt})
			}
			if now > 1000*machine.Second {
				mean[i] += f.window
			}
		}
		if now > 1000*machine.Second {
			steps++
		}
	}
	return [2]float64{mean[0] / float64(steps), mean[1] / float64(steps)}
}

// TestEquilibriumCubic: the mean window of RFC 9438 §5.1 and figure 4, and the splits of the reconstructions that follow from them.
func TestEquilibriumCubic(t *testing.T) {
	const short, long = 20 * machine.Millisecond, 200 * machine.Millisecond
	friendly := func(p float64) float64 { return math.Sqrt(1.5 / p) }
	curve := func(p float64, rtt Time) float64 {
		return math.Pow(0.4*3.7/1.2, 0.25) * math.Pow(rtt.Seconds()/p, 0.75)
	}
	for _, c := range []struct {
		say, name string
		rtt       Time
		p         [2]float64
		ratio     float64
		first     float64 // mean window of the first; 0: not stated
	}{
		{"friendly", "u-mpcubic", short, [2]float64{0.001, 0.004}, 2, friendly(0.001)},
		{"curve", "u-mpcubic", long, [2]float64{0.0001, 0.0002}, math.Pow(2, 0.75), curve(0.0001, long)},
		{"friendly, alike", "le-mpcubic", short, [2]float64{0.001, 0.001}, 1, friendly(0.001) / 2},
		{"friendly", "le-mpcubic", short, [2]float64{0.001, 0.002}, 2, 0},
		{"curve, alike", "le-mpcubic", long, [2]float64{0.0001, 0.0001}, 1, curve(0.0001, long) / 2},
	} {
		t.Run(c.name+" "+c.say, func(t *testing.T) {
			t.Parallel()
			w := periodic(c.name, c.rtt, c.p)
			t.Logf("mean windows %.1f", w)
			wantNear(t, "w₁/w₂", w[0]/w[1], c.ratio, 0.05)
			if c.first > 0 {
				wantNear(t, "w₁", w[0], c.first, 0.1)
			}
		})
	}
}
