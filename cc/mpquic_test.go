package cc

import "testing"

// TestTwin: mp-quic's controllers give up 15% of a window, and in the Reno-friendly region its CUBIC regains packets as fast as two
// connections do.
func TestTwin(t *testing.T) {
	const mss, rtt = 1000, 20 * 1_000_000
	for _, name := range []string{"cubic-mpquic", "olia-mpquic"} {
		a, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.New(mss)
		if err != nil {
			t.Fatal(err)
		}
		s := c.AddSubflow(0)
		c.OnAck(1, s, Ack{Bytes: 10 * mss, Sent: 1, RTT: rtt, InFlight: 20 * mss})
		before := c.Cwnd(s)
		c.OnLoss(2, s, Loss{Bytes: mss, Sent: 2})
		if after := float64(c.Cwnd(s)) / float64(before); after < 0.849 || after > 0.851 {
			t.Errorf("%s keeps %.3f of its window", name, after)
		}
	}
	if slope := twinAlpha; slope < 0.972 || slope > 0.974 {
		t.Errorf("α is %.3f", slope)
	}
	one, two := regained(t, "cubic"), regained(t, "cubic-mpquic")
	if ratio := two / one; ratio < 1.7 || ratio > 2 {
		t.Errorf("regains %.2f packets a round trip, CUBIC %.2f", two, one)
	}
}

// regained is by how many packets a window of 20 grows per round trip after a loss.
func regained(t *testing.T, name string) float64 {
	const mss, rtt = 1000, 20 * 1_000_000
	a, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.New(mss)
	if err != nil {
		t.Fatal(err)
	}
	s := c.AddSubflow(0)
	c.OnAck(1, s, Ack{Bytes: 10 * mss, Sent: 1, RTT: rtt, InFlight: 20 * mss})
	c.OnLoss(2, s, Loss{Bytes: mss, Sent: 2})
	first := c.Cwnd(s)
	now := Time(3)
	for range 3 {
		now += rtt
		c.OnAck(now, s, Ack{Bytes: c.Cwnd(s), Sent: now - rtt/2, RTT: rtt})
	}
	return float64(c.Cwnd(s)-first) / mss / 3
}
