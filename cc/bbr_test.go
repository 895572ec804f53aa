package cc

import (
	"testing"

	"mars/internal/machine"
)

// TestBBRFills: alone on a lossy link BBR uses it, with a queue of about a bandwidth-delay product at most, where Reno starves.
func TestBBRFills(t *testing.T) {
	used := map[string]float64{}
	for _, name := range []string{"bbr", "reno"} {
		l := &testLink{rate: 2000, delay: 40 * machine.Millisecond, buffer: 500, loss: 0.01}
		w := newWorld(3, l)
		flows := w.connect(must(name), l)
		w.run(5*machine.Second, 25*machine.Second)
		used[name] = acked(flows) / 2000 / 25
		if name == "bbr" && len(l.queue) > 120 {
			t.Errorf("a queue of %d", len(l.queue))
		}
	}
	if used["bbr"] < 0.85 || used["reno"] > 0.5 {
		t.Errorf("used: %v", used)
	}
}

// TestBBRStates follows one flow from Startup by way of Drain to ProbeBW, and to ProbeRTT ten seconds later.
func TestBBRStates(t *testing.T) {
	c := newBBR(testMSS).(*bbr)
	s := c.AddSubflow(0)
	f := c.get(s)
	const rtt = 50 * machine.Millisecond
	const rate = 1.5e6
	seen, drained := []bbrState{f.state}, 0
	for now := rtt; now < 11*machine.Second; now += machine.Millisecond {
		inFlight := c.Cwnd(s) - testMSS
		if f.state == bbrDrain && c.PacingRate(s) < rate { // less is sent than arrives
			drained += testMSS
			inFlight -= drained
		}
		c.OnAck(now, s, Ack{Bytes: testMSS, Sent: now - rtt, RTT: rtt + 1 + now%2, Rate: rate, InFlight: inFlight})
		if f.state != seen[len(seen)-1] {
			seen = append(seen, f.state)
		}
	}
	if len(seen) < 3 || seen[1] != bbrDrain || seen[2] != bbrProbeBW {
		t.Fatalf("states %v", seen)
	}
	wantNear(t, "bandwidth", f.rate, rate, 0.01)
	for now := 11 * machine.Second; now < 23*machine.Second && f.state != bbrProbeRTT; now += machine.Millisecond {
		c.OnAck(now, s, Ack{Bytes: testMSS, Sent: now - rtt, RTT: rtt + 10, Rate: rate, InFlight: c.Cwnd(s) - testMSS})
	}
	if f.state != bbrProbeRTT || c.Cwnd(s) != bbrLeast*testMSS {
		t.Errorf("state %d, window %d", f.state, c.Cwnd(s))
	}
}

// TestBBRAppLimited: what the application held back doesn't lower the estimate, nor end Startup.
func TestBBRAppLimited(t *testing.T) {
	c := newBBR(testMSS).(*bbr)
	s := c.AddSubflow(0)
	const rtt = 50 * machine.Millisecond
	for i := range Time(8) {
		c.OnAck((i+1)*rtt, s, Ack{Bytes: testMSS, Sent: i * rtt, RTT: rtt, Rate: 1e5, AppLimited: true})
	}
	if f := c.get(s); f.filled || f.state != bbrStartup {
		t.Error("Startup ended")
	}
}
