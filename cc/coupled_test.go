package cc

import (
	"testing"

	"mars/internal/machine"
)

// pairOf makes a connection of two subflows in congestion avoidance.
func pairOf(r rule, windows [2]float64, rtts [2]Time) *conn {
	c := newConn(testMSS, r)
	for i := range windows {
		f := &c.flows[c.AddSubflow(0)]
		f.window, f.threshold, f.srtt = windows[i], 2, rtts[i]
	}
	return c
}

// step is what one more packet adds.
func step(c *conn, i int) float64 {
	f := &c.flows[i]
	return c.rule.grow(0, c, f, 1) - f.window
}

var alike = [2]Time{100 * machine.Millisecond, 100 * machine.Millisecond}

func TestReno(t *testing.T) { // RFC 5681 eq. 3 and 4
	c := pairOf(reno{}, [2]float64{20, 10}, alike)
	wantNear(t, "increase", step(c, 0), 0.05, 1e-9)
	wantNear(t, "decrease", c.rule.cut(c, &c.flows[0], 20), 10, 0)
	c.OnLoss(0, 0, Loss{InFlight: 10 * testMSS}) // half of what was in flight, not of an unused window
	wantNear(t, "window", c.flows[0].window, 5, 0)
	c.OnLoss(machine.Second, 0, Loss{Sent: machine.Second / 2, InFlight: testMSS})
	wantNear(t, "least window after a loss", c.flows[0].window, 2, 0)
}

func TestLIA(t *testing.T) { // RFC 6356 §3
	c := pairOf(lia{}, [2]float64{20, 10}, alike)
	// α = 30·(20/0.01)/(300)² = 2/3; α/Σw = 1/45.
	wantNear(t, "increase", step(c, 0), 1.0/45, 1e-9)
	wantNear(t, "increase of the other", step(c, 1), 1.0/45, 1e-9)
	c = pairOf(lia{}, [2]float64{20, 1}, [2]Time{100 * machine.Millisecond, 10 * machine.Millisecond})
	if got := step(c, 0); got > 1.0/20+1e-12 {
		t.Errorf("more than a TCP: %v", got)
	}
	c.RemoveSubflow(0, 1)
	wantNear(t, "increase alone", step(c, 0), 1.0/20, 1e-9)
}

func TestOLIA(t *testing.T) { // draft-khalili §3.1
	c := pairOf(olia{}, [2]float64{20, 10}, alike)
	c.flows[0].runs, c.flows[1].runs = runs{prior: 100}, runs{acked: 400, prior: 50}
	// The second is best and not largest: ε = ½ for it, −½ for the first.
	wantNear(t, "increase of the largest", step(c, 0), 2000.0/90000-0.5/20, 1e-9)
	wantNear(t, "increase of the best", step(c, 1), 1000.0/90000+0.5/10, 1e-9)
	c.flows[0].runs.prior = 500
	wantNear(t, "increase when the best is the largest", step(c, 0), 2000.0/90000, 1e-9)
	r := runs{acked: 30, prior: 10}
	r.lost()
	if r.prior != 30 || r.acked != 0 || r.longest() != 30 {
		t.Errorf("%+v", r)
	}
}

func TestBALIA(t *testing.T) { // draft-walid §3
	c := pairOf(balia{}, [2]float64{20, 10}, alike)
	wantNear(t, "increase of the larger", step(c, 0), 2000.0/90000, 1e-9)            // α = 1
	wantNear(t, "increase of the smaller", step(c, 1), 1000.0/90000*1.5*1.2, 1e-9)   // α = 2
	wantNear(t, "decrease of the larger", c.rule.cut(c, &c.flows[0], 20), 10, 1e-9)  // ½
	wantNear(t, "decrease of the smaller", c.rule.cut(c, &c.flows[1], 10), 2.5, 0.0) // ¾
}

// TestShare: f is LIA's increment as a part of Reno's.
func TestShare(t *testing.T) {
	c := pairOf(lecubic{}, [2]float64{20, 20}, alike)
	wantNear(t, "f of two alike", c.share(&c.flows[0]), 0.25, 1e-9)
	c.flows[1].group = 7
	wantNear(t, "f in a group of one", c.share(&c.flows[0]), 1, 1e-9)
	l := pairOf(lia{}, [2]float64{30, 10}, [2]Time{50 * machine.Millisecond, 80 * machine.Millisecond})
	for i := range l.flows {
		wantNear(t, "LIA's step", step(l, i), l.share(&l.flows[i])/l.flows[i].window, 1e-9)
	}
}

// TestCubicsAlone: each multipath CUBIC with one subflow is CUBIC, to the last bit.
func TestCubicsAlone(t *testing.T) {
	for _, r := range []rule{lecubic{}, coupledcubic{}} {
		got, want := newConn(testMSS, r), newConn(testMSS, mpcubic{})
		for _, c := range []*conn{got, want} {
			s := c.AddSubflow(0)
			for i := range Time(3000) {
				now := i * machine.Millisecond
				c.OnAck(now, s, Ack{Bytes: testMSS, Sent: now - 50*machine.Millisecond, RTT: 50 * machine.Millisecond})
				if i%700 == 0 {
					c.OnLoss(now, s, Loss{Sent: now - machine.Millisecond})
				}
			}
		}
		if got.flows[0].window != want.flows[0].window {
			t.Errorf("%T: %v, CUBIC %v", r, got.flows[0].window, want.flows[0].window)
		}
	}
}

// TestCoupledCubicStep: two alike grow by a quarter of CUBIC's step each.
func TestCoupledCubicStep(t *testing.T) {
	grow := func(r rule) float64 {
		c := pairOf(r, [2]float64{100, 100}, alike)
		f := &c.flows[0]
		f.curve.most = 1000
		c.rule.grow(0, c, f, 0)
		return c.rule.grow(machine.Second, c, f, 1) - f.window
	}
	wantNear(t, "step", grow(coupledcubic{}), grow(mpcubic{})/4, 1e-9)
}

// TestRegroup: a subflow whose company changes keeps its window and starts an epoch (BA-MPCUBIC).
func TestRegroup(t *testing.T) {
	c := newBA(testMSS, false).(sharer)
	a, b := c.AddSubflow(0), c.AddSubflow(0)
	if c.Shared(a, b) || c.Shared(a, 9) {
		t.Fatal("they share from the start")
	}
	f := &c.flows[b]
	f.window, f.curve.begun = 33, true
	c.detect.(*filters).pair(0, 1).shared = true
	c.detect.(*filters).unite()
	c.regroup()
	if !c.Shared(a, b) || f.window != 33 || f.curve.begun {
		t.Errorf("shared %v, window %v, epoch %v", c.Shared(a, b), f.window, f.curve.begun)
	}
}
