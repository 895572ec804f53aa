package endpoint

import (
	"errors"
	"testing"

	"mars/cc"
	"mars/internal/machine"
	"pgregory.net/rapid"
)

const quicMS = machine.Millisecond

// TestQUICHandshake: a small object takes two round trips, over handshake datagrams of the sizes that they should have; the server
// sends no more than thrice what it got before it knows the client's address.
func TestQUICHandshake(t *testing.T) {
	var up, down []int
	l := &quicLink{delay: 25 * quicMS}
	l.saw = func(way int, b []byte) {
		if way == toServer {
			up = append(up, len(b))
		} else {
			down = append(down, len(b))
		}
	}
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 5000, l).run(10 * machine.Second)
	w.whole()
	if w.done != 100*quicMS {
		t.Errorf("done after %d ms, want 2 round trips of 50 ms", w.done/quicMS)
	}
	if up[0] != leastInitial {
		t.Errorf("the first datagram has %d bytes", up[0])
	}
	if flight := down[0] + down[1]; flight > 3*up[0] || flight < serverFlightSize {
		t.Errorf("the server's flight has %d bytes: %v", flight, down)
	}
	if !w.client().confirmed || w.server().sum.Paths != 1 {
		t.Error("no end of the handshake")
	}
}

// TestQUICAmplification: while nothing more comes of a client, a server sends it no more than thrice what it sent (RFC 9000 §8.1).
func TestQUICAmplification(t *testing.T) {
	l := &quicLink{delay: 25 * quicMS}
	l.drop = func(way, n int, _ []byte) bool { return way == toServer && n > 0 && l.sent[toClient] < 40 }
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 5000, l).run(5 * machine.Second)
	if l.bytes[toClient] > 3*leastInitial || l.bytes[toClient] < serverFlightSize {
		t.Errorf("%d bytes to an address that sent %d", l.bytes[toClient], leastInitial)
	}
	l.drop = nil
	w.run(30 * machine.Second).whole()
}

// TestQUICTwice: packets that come twice count once.
func TestQUICTwice(t *testing.T) {
	l := &quicLink{delay: 25 * quicMS, rate: 1e6, twice: true}
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 500_000, l).run(5 * machine.Second)
	w.whole()
	if got := w.client().all[0].gotBytes; got != w.size || w.server().sum.Resent > 0 {
		t.Errorf("%d bytes of %d counted, %d packets again", got, w.size, w.server().sum.Resent)
	}
}

// TestQUICRefused: an object that there isn't ends the connection with CONNECTION_CLOSE, and a server that isn't there ends it in time.
func TestQUICRefused(t *testing.T) {
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 0, &quicLink{delay: quicMS}).run(10 * machine.Second)
	if !errors.Is(w.err, ErrReset) || w.now > 10*quicMS {
		t.Errorf("error %v at %d ms", w.err, w.now/quicMS)
	}
	l := &quicLink{delay: quicMS, hole: true}
	w = newQUICWorld(t, 1, quicHow(t, "cubic"), 1000, l).run(100 * machine.Second)
	if !errors.Is(w.err, ErrTimeout) || w.now != quicGiveUp {
		t.Errorf("error %v at %d ms", w.err, w.now/quicMS)
	}
	if l.sent[toServer] < 6 || l.sent[toServer] > 20 {
		t.Errorf("%d datagrams into the void", l.sent[toServer])
	}
}

// TestQUICAbort: the server hears of the end, even if the first word of it is lost.
func TestQUICAbort(t *testing.T) {
	l := &quicLink{delay: 10 * quicMS, rate: 1e6}
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 50_000_000, l)
	w.at(machine.Second, func() {
		w.hosts[toServer].Abort(w.now, w.id)
		l.drop = nthTo(toServer, l.sent[toServer])
	})
	w.run(machine.Second)
	before := w.got
	for w.step(5 * machine.Second) {
	}
	if c := w.server(); !c.closed || !c.left {
		t.Error("the server goes on")
	}
	if w.got > before+20_000 || l.bytes[toClient] > 3_000_000 {
		t.Errorf("%d bytes came after the end, %d were sent", w.got-before, l.bytes[toClient])
	}
}

// TestQUICBulk: one path is filled: headers and acknowledgements take no more than they should.
func TestQUICBulk(t *testing.T) {
	l := &quicLink{rate: 2.5e6, delay: 10 * quicMS, queue: 40 * quicMS}
	w := newQUICWorld(t, 1, quicHow(t, "cubic"), 10_000_000, l).run(60 * machine.Second)
	w.whole()
	// 10 MB at 2.5 MB/s take 4 s, and 1,500 bytes carry 1,442: 4.16 s, beside the handshake and slow start.
	if s := w.done.Seconds(); s < 4.16 || s > 4.6 {
		t.Errorf("%.2f s", s)
	}
	if w.server().sum.Resent > 600 {
		t.Errorf("%d packets again", w.server().sum.Resent)
	}
}

// TestQUICSum: over two unequal paths an object takes what the sum of their rates lets expect, with every scheduler and with the
// controllers that don't couple; with mp-quic's assignment as well.
func TestQUICSum(t *testing.T) {
	for _, c := range []struct {
		control   string
		scheduler Scheduler
		most      float64 // times the ideal
	}{{"cubic", MinRTT, 1.2}, {"cubic", RoundRobin, 1.2}, {"bbr", MinRTT, 1.35}, {"", MinRTT, 1.3}} {
		how := quicHow(t, "cubic")
		if c.control == "" {
			how.Assignment = true
		} else {
			how.Control = quicHow(t, c.control).Control
		}
		how.Scheduler = c.scheduler
		a := &quicLink{rate: 2e6, delay: 5 * quicMS, queue: 40 * quicMS}
		b := &quicLink{rate: 1e6, delay: 20 * quicMS, queue: 60 * quicMS}
		w := newQUICWorld(t, 1, how, 12_000_000, a, b).run(60 * machine.Second)
		w.whole()
		ideal := 12.0 / 3 * 1500 / 1441
		if s := w.done.Seconds() / ideal; s < 1 || s > c.most {
			t.Errorf("%+v: %.2f times the ideal", c, s)
		}
		if n := w.server().sum.Paths; n != 2 || w.client().sum.Paths != 2 {
			t.Errorf("%d paths", n)
		}
	}
}

// TestQUICControllers: every controller of the library carries an object over two paths.
func TestQUICControllers(t *testing.T) {
	for _, a := range cc.Algorithms() {
		how := quicHow(t, a.Name)
		how.ECN = true
		w := newQUICWorld(t, 1, how, 3_000_000,
			&quicLink{rate: 2e6, delay: 5 * quicMS, queue: 30 * quicMS, drop: lossy(1, 0.001)},
			&quicLink{rate: 1e6, delay: 15 * quicMS, queue: 30 * quicMS, mark: func(n int) bool { return n%200 == 0 }}).run(60 * machine.Second)
		w.whole()
		if s := w.done.Seconds(); s > 3 {
			t.Errorf("%s takes %.2f s", a.Name, s)
		}
		for _, p := range w.server().all {
			if p.sentBytes < 100_000 {
				t.Errorf("%s sends %d bytes by path %d", a.Name, p.sentBytes, p.index)
			}
		}
	}
}

// TestQUICAssignment: the first path begins with CUBIC, and all share OLIA once there are two.
func TestQUICAssignment(t *testing.T) {
	how := quicHow(t, "reno")
	how.Assignment = true
	a, b := &quicLink{rate: 1e6, delay: 5 * quicMS}, &quicLink{rate: 1e6, delay: 5 * quicMS, hole: true}
	w := newQUICWorld(t, 1, how, 1_000_000, a, b)
	w.at(300*quicMS, func() {
		if s := w.server(); s.shared != nil {
			t.Error("OLIA before there is a second path")
		}
		b.hole = false
	})
	w.run(20 * machine.Second).whole()
	s := w.server()
	if len(s.all) != 2 || s.shared == nil || s.all[0].control != s.shared || s.all[1].control != s.shared {
		t.Error("the paths don't share a controller")
	}
}

// TestQUICDeterminism: the same seed gives the same datagrams, and another gives others.
func TestQUICDeterminism(t *testing.T) {
	hash := func(seed uint64) uint64 {
		w := newQUICWorld(t, seed, quicHow(t, "olia"), 1_000_000,
			&quicLink{rate: 1e6, delay: 5 * quicMS, queue: 30 * quicMS, drop: lossy(3, 0.02)},
			&quicLink{rate: 1e6, delay: 15 * quicMS, queue: 30 * quicMS}).run(60 * machine.Second)
		w.whole()
		return w.hash
	}
	first, again, other := hash(1), hash(1), hash(2)
	if first != again || first == other {
		t.Error("runs don't repeat, or don't depend on the seed")
	}
}

// TestQUICAnyNetwork: whatever is lost, late, repeated by loss of acknowledgements, or down for a while, all bytes come, once.
func TestQUICAnyNetwork(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		how := quicHow(t, rapid.SampledFrom([]string{"reno", "cubic", "olia", "bbr", "ba-mpcubic"}).Draw(r, "control"))
		how.Scheduler = rapid.SampledFrom([]Scheduler{MinRTT, RoundRobin}).Draw(r, "scheduler")
		how.Assignment = rapid.Bool().Draw(r, "assignment")
		how.ECN = rapid.Bool().Draw(r, "ecn")
		how.Pace = rapid.Bool().Draw(r, "pace")
		how.Buffer = rapid.SampledFrom([]int{0, 3000, 40_000}).Draw(r, "buffer")
		var links []*quicLink
		for i := range rapid.IntRange(1, 4).Draw(r, "paths") {
			l := &quicLink{
				rate:  rapid.Float64Range(2e5, 5e6).Draw(r, "rate"),
				delay: machine.Time(rapid.IntRange(1, 60).Draw(r, "delay")) * quicMS,
				queue: machine.Time(rapid.IntRange(10, 200).Draw(r, "queue")) * quicMS,
			}
			seed := rapid.Uint64().Draw(r, "seed")
			if i > 0 || rapid.Bool().Draw(r, "lossy") {
				l.drop = lossy(seed, rapid.Float64Range(0, 0.2).Draw(r, "loss"))
			}
			l.twice = rapid.Bool().Draw(r, "twice")
			if rapid.Bool().Draw(r, "reorders") {
				l.late = func(_, n int) machine.Time { return machine.Time((uint64(n)*seed)>>60) * quicMS }
			}
			links = append(links, l)
		}
		size := int64(rapid.IntRange(1, 300_000).Draw(r, "size"))
		w := newQUICWorld(t, rapid.Uint64().Draw(r, "run"), how, size, links...)
		if rapid.Bool().Draw(r, "outage") {
			l := links[rapid.IntRange(0, len(links)-1).Draw(r, "whose")]
			from := machine.Time(rapid.IntRange(0, 1000).Draw(r, "from")) * quicMS
			w.at(from, func() { l.hole = true })
			w.at(from+machine.Time(rapid.IntRange(1, 4000).Draw(r, "for"))*quicMS, func() { l.hole = false })
		}
		w.run(120 * machine.Second)
		if w.err != nil || w.done == 0 || w.got != size {
			r.Fatalf("%d of %d bytes by %d ms, done at %d, %v", w.got, size, w.now/quicMS, w.done, w.err)
		}
	})
}
