package cc

import (
	"testing"

	"mars/internal/machine"
)

// rounds acknowledges whole rounds of 20 packets, each with the round-trip time that rtt gives, while slow start lasts.
func rounds(c Controller, s Subflow, n int, rtt func(round int) Time) (last int) {
	now := machine.Second
	for r := range n {
		sent := now
		now += rtt(r)
		for range 20 {
			c.OnAck(now, s, Ack{Bytes: testMSS, Sent: sent, RTT: rtt(r)})
		}
		if !c.(*conn).get(s).slowStart() {
			return r
		}
	}
	return n
}

// TestHystartLeaves: a delay that rises by more than an eighth ends slow start after five cautious rounds (RFC 9406 §4.2).
func TestHystartLeaves(t *testing.T) {
	c := must("cubic")
	s := c.AddSubflow(0)
	left := rounds(c, s, 30, func(r int) Time {
		if r < 5 {
			return 50 * machine.Millisecond
		}
		return 60 * machine.Millisecond
	})
	if left != 10 { // noticed in round 5; rounds 5…9 are cautious
		t.Errorf("slow start ended in round %d", left)
	}
}

// TestHystartGrowth: a cautious round grows by a quarter.
func TestHystartGrowth(t *testing.T) {
	f := flow{threshold: mostPackets, window: 10}
	h := hystart{begun: true, opened: 100, last: 50, current: 60, cautious: true, baseline: 60}
	if got := h.onAck(&f, 50, Ack{Bytes: testMSS, Sent: 20, RTT: 60}, 1); got != 0.25 {
		t.Errorf("grows by %v", got)
	}
	h.cautious = false
	if got := h.onAck(&f, 60, Ack{Bytes: testMSS, Sent: 20, RTT: 60}, 100); got != hystartBurst {
		t.Errorf("grows by %v for an acknowledgement of 100 packets", got)
	}
}

// TestHystartMistaken: a delay that falls again was no queue; slow start goes on.
func TestHystartMistaken(t *testing.T) {
	c := must("cubic")
	s := c.AddSubflow(0)
	left := rounds(c, s, 30, func(r int) Time {
		if r == 5 || r == 6 {
			return 60 * machine.Millisecond
		}
		return 50 * machine.Millisecond
	})
	if left != 30 {
		t.Errorf("slow start ended in round %d", left)
	}
}

// TestHystartJitter: 3 ms more are noise, whatever the path (MIN_RTT_THRESH).
func TestHystartJitter(t *testing.T) {
	c := must("cubic")
	s := c.AddSubflow(0)
	if left := rounds(c, s, 30, func(r int) Time { return machine.Millisecond * Time(5+r%2*3) }); left != 30 {
		t.Errorf("slow start ended in round %d", left)
	}
}
