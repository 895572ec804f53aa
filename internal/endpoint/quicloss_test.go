package endpoint

import (
	"testing"

	"mars/internal/machine"
)

// lossRun sends an object of n packets over one fast path with a round trip of 100 ms, from which the server's datagrams of these
// numbers are lost. The first data are in datagram 4: two of the handshake and HANDSHAKE_DONE.
func lossRun(t *testing.T, n int, drop ...int) *quicWorld {
	t.Helper()
	l := &quicLink{delay: 50 * quicMS, rate: 1e7, drop: nthTo(toClient, drop...)}
	how := quicHow(t, "reno")
	how.Pace = false
	w := newQUICWorld(t, 1, how, int64(n)*1430, l).run(60 * machine.Second)
	w.whole()
	return w
}

// TestQUICFastLoss: a packet is lost when one three numbers later has come (RFC 9002 §6.1.1); it is sent again at once, and the window
// falls by half, once however many packets of the window were lost.
func TestQUICFastLoss(t *testing.T) {
	if s := lossRun(t, 60).server().sum; s.Lost != 0 || s.Resent != 0 || s.Timeouts != 0 {
		t.Fatalf("without a loss: %+v", s)
	}
	for _, drop := range [][]int{{4}, {4, 5, 6}, {4, 6, 8}} {
		w := lossRun(t, 60, drop...)
		s := w.server().sum
		if s.Lost != int64(len(drop)) || s.Resent != int64(len(drop)) || s.Timeouts != 0 {
			t.Errorf("%v: %+v", drop, s)
		}
		if window := w.server().all[0].window(); window > 14*quicMTU || window < 4*quicMTU {
			t.Errorf("%v: the window is %d bytes", drop, window)
		}
	}
	l := &quicLink{delay: 50 * quicMS, rate: 1e7, drop: nthTo(toClient, 4)}
	how := quicHow(t, "reno")
	how.Pace = false
	w := newQUICWorld(t, 1, how, 60*1430, l)
	w.run(199 * quicMS)
	for w.server().sum.Resent == 0 && w.step(machine.Second) {
	}
	// Sent at 150 ms or a little later; three packets of 150 µs behind it make it lost a round trip on.
	if at := w.now - 250*quicMS; at < 300*machine.Microsecond || at > 1500*machine.Microsecond {
		t.Errorf("again %d µs after a round trip", at/machine.Microsecond)
	}
}

// TestQUICReordering: a packet that two others overtake isn't lost (§6.1.1).
func TestQUICReordering(t *testing.T) {
	for _, c := range []struct {
		by   machine.Time // a packet takes 150 µs
		lost int64
	}{{350 * machine.Microsecond, 0}, {2 * quicMS, 1}} {
		l := &quicLink{delay: 50 * quicMS, rate: 1e7, late: func(way, n int) machine.Time {
			if way == toClient && n == 5 {
				return c.by
			}
			return 0
		}}
		how := quicHow(t, "reno")
		how.Pace = false
		w := newQUICWorld(t, 1, how, 60*1430, l).run(10 * machine.Second)
		w.whole()
		if got := w.server().sum.Lost; got != c.lost {
			t.Errorf("late by %d µs: %d lost", c.by/1000, got)
		}
	}
}

// TestQUICTail: the last packet is lost: a probe repairs it after a probe timeout (§6.2.1), and the window doesn't fall before that.
// With one packet behind it, a timer of 9/8 round trips does (§6.1.2).
func TestQUICTail(t *testing.T) {
	last := 0
	l := &quicLink{delay: 50 * quicMS, rate: 1e7, saw: func(int, []byte) {}}
	how := quicHow(t, "reno")
	how.Pace = false
	w := newQUICWorld(t, 1, how, 8*1430, l).run(10 * machine.Second)
	w.whole()
	clean, last := w.done, l.sent[toClient]-1
	w = lossRun(t, 8, last)
	s := w.server().sum
	if s.Timeouts != 1 || s.Resent == 0 || s.Resent > 2 {
		t.Errorf("tail: %+v", s)
	}
	// srtt + 4·rttvar + 25 ms after it was sent, when rttvar is about a third of a round trip; a half more to come.
	if late := w.done - clean; late < 150*quicMS || late > 400*quicMS {
		t.Errorf("tail: %d ms later", late/quicMS)
	}
	w = lossRun(t, 8, last-1)
	s = w.server().sum
	if s.Timeouts != 0 || s.Lost != 1 || s.Resent != 1 {
		t.Errorf("one before: %+v", s)
	}
	if late := w.done - clean; late < 110*quicMS || late > 150*quicMS {
		t.Errorf("one before: %d ms later", late/quicMS)
	}
}

// TestQUICBackoff: probes into a hole go at doubling distances (§6.2.1), two at a time, and the window stays until something says what
// is lost. Losses for more than three probe timeouts are persistent congestion (§7.6).
func TestQUICBackoff(t *testing.T) {
	var at []machine.Time
	l := &quicLink{delay: 50 * quicMS, rate: 1e6, queue: 100 * quicMS}
	w := newQUICWorld(t, 1, quicHow(t, "reno"), 5_000_000, l)
	w.at(2*machine.Second, func() { l.hole = true })
	w.run(2100 * quicMS)
	p := w.server().all[0]
	window := p.window()
	l.saw = func(way int, _ []byte) {
		if way == toClient && (len(at) == 0 || w.now > at[len(at)-1]) {
			at = append(at, w.now)
		}
	}
	w.run(8 * machine.Second)
	if len(at) < 4 || len(at) > 6 {
		t.Fatalf("probes at %v", at)
	}
	for i := 2; i < len(at); i++ {
		if ratio := float64(at[i]-at[i-1]) / float64(at[i-1]-at[i-2]); ratio < 1.9 || ratio > 2.1 {
			t.Errorf("probes at %v", at)
		}
	}
	if p.window() != window {
		t.Errorf("the window fell from %d to %d with nothing heard", window, p.window())
	}
	l.hole = false
	for p.out.timeouts > 0 && w.step(20*machine.Second) {
	}
	if p.window() > 2*quicMTU {
		t.Errorf("a window of %d bytes after persistent congestion", p.window())
	}
	w.run(60 * machine.Second).whole()
}

// TestQUICSample: the delay of an acknowledgement doesn't count, but never makes a sample less than the least (§5.3).
func TestQUICSample(t *testing.T) {
	o := newOutNumbers()
	for _, c := range []struct{ rtt, delay, want, srtt, rttvar machine.Time }{
		{100, 10, 100, 100, 50},
		{125, 10, 115, 101, 41},
		{105, 10, 105, 102, 31},
		{200, 90, 175, 111, 41}, // no more than max_ack_delay
	} {
		got := o.sample(0, c.rtt*quicMS, c.delay*quicMS)
		if got != c.want*quicMS || o.srtt/quicMS != c.srtt || o.rttvar/quicMS != c.rttvar {
			t.Errorf("%d with a delay of %d: %d, srtt %d, rttvar %d", c.rtt, c.delay, got/quicMS, o.srtt/quicMS, o.rttvar/quicMS)
		}
	}
	if o.minRTT != 100*quicMS {
		t.Errorf("the least is %d", o.minRTT/quicMS)
	}
}

// TestQUICMarks: a mark cuts the window as a loss does, once per round trip; nothing is sent again. A path that clears marks ends the use
// of ECN on it (RFC 9000 §13.4.2).
func TestQUICMarks(t *testing.T) {
	how := quicHow(t, "reno")
	how.ECN, how.Pace = true, false
	l := &quicLink{delay: 50 * quicMS, rate: 1e7, mark: func(n int) bool { return n >= 8 && n < 11 }}
	w := newQUICWorld(t, 1, how, 60*1430, l).run(10 * machine.Second)
	w.whole()
	s, p := w.server().sum, w.server().all[0]
	if s.Marked == 0 || s.Lost != 0 || s.Resent != 0 || p.window() > 14*quicMTU || p.out.noECN {
		t.Errorf("%+v, a window of %d", s, p.window())
	}
	if p.out.ce != 3 {
		t.Errorf("%d marks told", p.out.ce)
	}
	l = &quicLink{delay: 50 * quicMS, rate: 1e7, bleak: true}
	w = newQUICWorld(t, 1, how, 60*1430, l).run(10 * machine.Second)
	w.whole()
	if !w.server().all[0].out.noECN {
		t.Error("ECN is used where it doesn't work")
	}
}

// TestQUICRing: packets keep their numbers while the ring grows, and the bytes under way are those of packets that are.
func TestQUICRing(t *testing.T) {
	o := newOutNumbers()
	for n := range int64(1000) {
		o.add(quicSent{at: machine.Time(n), size: 10, state: quicFlying})
	}
	for n := int64(0); n < 1000; n += 3 {
		o.settle(o.at(n), quicAcked)
	}
	o.trim()
	if o.first != 1 || o.flying != 6660 || o.eliciting != 666 || o.at(500).at != 500 {
		t.Errorf("first %d, %d bytes, %d packets", o.first, o.flying, o.eliciting)
	}
}
