package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// wantNear fails unless got is within a share of want.
func wantNear(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// round acknowledges one window, packet by packet, over one round trip that ends at now+rtt.
func round(c *Cubic, now, rtt machine.Time) machine.Time {
	n := int(c.Window())
	for i := range n {
		c.OnAck(now+rtt*machine.Time(i+1)/machine.Time(n), 1)
	}
	return now + rtt
}

func TestCubicSlowStart(t *testing.T) { // RFC 9438 §4.10, RFC 5681 §3.1
	c := NewCubic(2)
	for i, now := 0, machine.Time(0); i < 6; i++ {
		now = round(&c, now, 10*machine.Millisecond)
	}
	wantNear(t, "window after six round trips", c.Window(), 128, 0)
	c.OnLoss(machine.Second)
	wantNear(t, "window after a loss", c.Window(), float64(128*cubicBeta), 1e-12)
	if c.SlowStart() {
		t.Fatal("slow start goes on after a loss")
	}
}

// TestCubicCurve compares the window with W_cubic(t) = C·(t−K)³ + W_max (RFC 9438 figure 1) where Reno is slower: at 100 ms.
func TestCubicCurve(t *testing.T) {
	const most, rtt = 1000.0, 100 * machine.Millisecond
	c := NewCubic(most)
	c.OnRTT(rtt)
	c.OnLoss(0)
	k := math.Cbrt(most * (1 - 0.7) / 0.4) // §4.2: W_max − cwnd_epoch is what the decrease took
	for now := machine.Time(0); now < 18*machine.Second; {
		now = round(&c, now, rtt)
		wantNear(t, "window", c.Window(), 0.4*math.Pow(now.Seconds()-k, 3)+most, 0.02)
	}
	if c.Window() < 1.25*most {
		t.Fatalf("after twice K the window is only %v", c.Window())
	}
}

// TestCubicFriendly compares the window with Reno's of the same mean (RFC 9438 figure 4) where CUBIC alone is slower.
func TestCubicFriendly(t *testing.T) {
	const most, rtt = 50.0, 5 * machine.Millisecond
	c := NewCubic(most)
	c.OnRTT(rtt)
	c.OnLoss(0)
	want, now := 0.7*most, machine.Time(0)
	for range 80 {
		now = round(&c, now, rtt)
		if want < most {
			want += 3 * 0.3 / 1.7
		} else {
			want++
		}
		wantNear(t, "window", c.Window(), want, 0.02)
	}
}

func TestCubicFastConvergence(t *testing.T) { // RFC 9438 §4.7
	c := NewCubic(100)
	c.OnLoss(0)
	wantNear(t, "W_max", c.most, 100, 0)
	c.OnECN(machine.Second) // at 70, below the last W_max
	wantNear(t, "W_max", c.most, 70*1.7/2, 1e-12)
	wantNear(t, "window", c.Window(), 49, 1e-12)
	wantNear(t, "cwnd_prior", c.prior, 70, 1e-12)
}

func TestCubicTimeout(t *testing.T) { // RFC 9438 §4.8
	c := NewCubic(100)
	c.OnTimeout(0)
	if c.Window() != cubicMin || !c.SlowStart() {
		t.Fatalf("window %v, slow start %v", c.Window(), c.SlowStart())
	}
	for c.SlowStart() {
		c.OnAck(machine.Second, 1)
	}
	wantNear(t, "end of slow start", c.Window(), 70, 1e-12)
}

// TestCubicStep: however long nothing came, a window's worth of acknowledgements adds half a window at most (§4.2: target).
func TestCubicStep(t *testing.T) {
	c := NewCubic(100)
	c.OnLoss(0)
	c.OnAck(0, 1)
	before := c.Window()
	for range int(before) {
		c.OnAck(machine.Time(1e6)*machine.Second, 1)
	}
	if c.Window() > 1.5*1.5*before {
		t.Fatalf("from %v to %v", before, c.Window())
	}
}

func TestCubicProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCubic(rapid.Float64Range(2, 1e4).Draw(t, "initial"))
		now := machine.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += machine.Time(rapid.Int64Range(0, int64(100*machine.Second)).Draw(t, "after"))
			before := c.Window()
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				c.OnLoss(now)
			case 1:
				c.OnECN(now)
			case 2:
				c.OnTimeout(now)
			case 3:
				c.OnRTT(machine.Time(rapid.Int64Range(0, int64(machine.Second)).Draw(t, "rtt")))
				fallthrough
			default:
				c.OnAck(now, rapid.Float64Range(0, 3).Draw(t, "acked"))
				if c.Window() < before {
					t.Fatalf("an acknowledgement shrank the window from %v to %v", before, c.Window())
				}
				continue
			}
			if c.Window() > max(before*0.7+1e-9, cubicMin) {
				t.Fatalf("congestion left the window at %v of %v", c.Window(), before)
			}
		}
		if w := c.Window(); !(w >= cubicMin && w <= cubicMost) {
			t.Fatalf("window %v", w)
		}
	})
}

func TestCubeRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1e12).Draw(t, "x")
		if got, want := cbrt(x), math.Cbrt(x); math.Abs(got-want) > 1e-12*max(want, 1) {
			t.Fatalf("cbrt(%v) = %v, want %v", x, got, want)
		}
	})
	for x, want := range map[float64]float64{0: 0, -1: 0, 1: 1, 8: 2, 1e9: 1000} {
		if got := cbrt(x); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("cbrt(%v) = %v", x, got)
		}
	}
}
