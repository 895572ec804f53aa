package endpoint

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// rateOf is the mean goodput of a transfer, in segments of TCP's per second.
func (p *testPair) rateOf() float64 { return float64(p.size) / testMSS / p.done.Seconds() }

// TestSumOfPaths: MPTCP fills two paths, with every scheduler.
func TestSumOfPaths(t *testing.T) {
	for s := range schedulers {
		t.Run(Scheduler(s).String(), func(t *testing.T) {
			w := newTestWorld(t, 1)
			how := transport(t, MPTCP, "cubic")
			how.Scheduler = Scheduler(s)
			a, b := &testPath{rate: 1000, delay: 10 * ms, queue: 100}, &testPath{rate: 600, delay: 20 * ms, queue: 100}
			p := w.fetch(how, 20_000_000, a, b)
			w.run(60_000 * ms)
			p.whole(t)
			if r := p.rateOf(); r < 0.93*1600 || r > 1600 {
				t.Errorf("%.0f segments per second of 1600", r)
			}
			if s := p.served(); s.Paths != 2 {
				t.Errorf("%d paths", s.Paths)
			}
		})
	}
}

// TestLowestRTT: the slower path gets what the faster one has no room for, and no more.
func TestLowestRTT(t *testing.T) {
	w := newTestWorld(t, 1)
	fast, slow := &testPath{rate: 10_000, delay: 10 * ms}, &testPath{rate: 10_000, delay: 50 * ms}
	how := transport(t, MPTCP, "cubic")
	p := w.fetch(how, 2_000_000, fast, slow)
	w.run(60_000 * ms)
	p.whole(t)
	if s := p.served(); s.PerPath[1].Sent*4 > s.PerPath[0].Sent {
		t.Errorf("%d bytes by the fast path and %d by the slow one", s.PerPath[0].Sent, s.PerPath[1].Sent)
	}
}

// TestRoundRobin: as long as both have room paths take turns, and one without room is passed over.
func TestRoundRobin(t *testing.T) {
	w := newTestWorld(t, 1)
	how := transport(t, MPTCP, "reno")
	how.Scheduler = RoundRobin
	p := w.fetch(how, 20_000, &testPath{delay: 10 * ms}, &testPath{delay: 10 * ms})
	w.run(1000 * ms)
	p.whole(t)
	c := p.hosts[down].served[0].conn.(*conn)
	picked := func(n int) (order []int) {
		for range n {
			order = append(order, c.pick(nil).path)
		}
		return order
	}
	first := picked(1)[0]
	same(t, "in turn", picked(4), []int{1 - first, first, 1 - first, first})
	c.subs[0].limit = 1
	same(t, "one has no room", picked(3), []int{1, 1, 1})
	if c.subs[1].limit = 1; c.pick(nil) != nil {
		t.Error("a path without room is picked")
	}
}

// TestMainlineBurst: the scheduler of mainline Linux stays with a path for a burst of 64 KiB, then takes the one that drains first.
func TestMainlineBurst(t *testing.T) {
	w := newTestWorld(t, 1)
	how := transport(t, MPTCP, "cubic")
	how.Scheduler = Mainline
	p := w.fetch(how, 1_000_000, &testPath{delay: 10 * ms}, &testPath{delay: 10 * ms})
	w.run(1000 * ms)
	p.whole(t)
	c := p.hosts[down].served[0].conn.(*conn)
	c.chosen, c.burst = nil, 0
	var runs []int // how many segments in a row a path gets
	last := -1
	for range 4 * 46 {
		s := c.pick(nil)
		s.cwnd = 1 << 20
		if s.assign(0, s.mss); s.path != last {
			runs, last = append(runs, 0), s.path
		}
		runs[len(runs)-1]++
	}
	if r := c.ctrl.PacingRate(c.subs[0].control) / c.ctrl.PacingRate(c.subs[1].control); r < 1.5 || r > 2.5 {
		t.Fatalf("the rates have a ratio of %.2f", r)
	}
	// 46 × 1,428 bytes are the least above 65,428. The first path is twice as fast, so it gets two bursts for one.
	same(t, "segments in a row", runs, []int{46, 46, 92})
	c.burst = 0
	c.subs[1-last].queued += 1 << 19 // it drains later now
	if s := c.pick(nil); s == nil || s.path != last {
		t.Error("the path that drains first isn't taken")
	}
}

// TestPathDies: what was on a path that dies silently comes by the other, and new data no longer wait for it.
func TestPathDies(t *testing.T) {
	for s := range schedulers {
		t.Run(Scheduler(s).String(), func(t *testing.T) {
			w := newTestWorld(t, 1)
			how := transport(t, MPTCP, "cubic")
			how.Scheduler = Scheduler(s)
			a, b := &testPath{rate: 1000, delay: 10 * ms, queue: 60}, &testPath{rate: 1000, delay: 10 * ms, queue: 60}
			p := w.fetch(how, 12_000_000, a, b)
			w.at(2000*ms, func() { a.hole = true })
			w.run(60_000 * ms)
			p.whole(t)
			// 4,000 segments in the first 2 s, the others by b alone; a timeout, and what b has queued meanwhile.
			total := float64(p.size) / testPiece
			want := 2 + (total-3800)/950
			if got := p.done.Seconds(); got > want+1 {
				t.Errorf("done after %.2f s, want about %.2f", got, want)
			}
		})
	}
}

// TestPathReturns: a path that was dead for a while is used again, by a timeout's probe.
func TestPathReturns(t *testing.T) {
	w := newTestWorld(t, 1)
	a, b := &testPath{rate: 1000, delay: 10 * ms, queue: 60}, &testPath{rate: 1000, delay: 10 * ms, queue: 60}
	p := w.fetch(transport(t, MPTCP, "cubic"), 20_000_000, a, b)
	w.at(2000*ms, func() { a.hole = true })
	w.at(4000*ms, func() { a.hole = false })
	var back int64
	w.at(6500*ms, func() { back = p.served().PerPath[0].Sent })
	w.run(60_000 * ms)
	p.whole(t)
	if more := p.served().PerPath[0].Sent - back; more < 1_000_000 {
		t.Errorf("%d bytes by the path after its return", more)
	}
}

// TestFaceReturns: a face that goes down and comes back is no timeout. Nothing waits for one after that, and what had come isn't sent
// again.
func TestFaceReturns(t *testing.T) {
	for _, c := range []struct {
		name     string
		protocol Protocol
		outage   machine.Time
		timeouts int64
	}{
		{"TCP, briefly", TCP, 100 * ms, 0},
		{"TCP", TCP, 1500 * ms, 1},
		{"MPTCP, briefly", MPTCP, 100 * ms, 0},
		{"MPTCP", MPTCP, 1500 * ms, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTestWorld(t, 1)
			paths := []*testPath{{rate: 1000, delay: 10 * ms, queue: 60}, {rate: 1000, delay: 10 * ms, queue: 60}}
			if c.protocol == TCP {
				paths = paths[:1]
			}
			p := w.fetch(transport(t, c.protocol, "cubic"), 15_000_000, paths...)
			w.at(2000*ms, func() {
				paths[0].hole = true
				p.hosts[down].FaceDown(w.now, 1)
				w.pump(p)
			})
			var first int64
			w.at(2000*ms+c.outage, func() {
				paths[0].hole = false
				first = p.served().PerPath[0].Sent
				p.hosts[down].FaceUp(w.now, 1, machine.Face{MTU: testMTU})
				w.pump(p)
			})
			var soon int64
			w.at(2000*ms+c.outage+500*ms, func() { soon = p.served().PerPath[0].Sent - first })
			w.run(60_000 * ms)
			p.whole(t)
			s := p.served()
			if s.Timeouts != c.timeouts {
				t.Errorf("%d timeouts, want %d", s.Timeouts, c.timeouts)
			}
			if soon < 300_000 {
				t.Errorf("%d bytes in the first 500 ms after the return", soon)
			}
			if more, lost := s.Resent, int64(paths[0].lost[down]); more > lost+150 {
				t.Errorf("%d segments are sent again, %d were lost", more, lost)
			}
		})
	}
}

// TestIdlePathReturns: a subflow that had nothing to do while its face was down is used afterwards.
func TestIdlePathReturns(t *testing.T) {
	w := newTestWorld(t, 1)
	p := w.fetch(transport(t, MPTCP, "cubic"), 10_000_000, &testPath{rate: 1000, delay: 10 * ms, queue: 60}, &testPath{rate: 1000, delay: 40 * ms, queue: 60})
	w.run(90 * ms) // the join stands, and the first path has room for all there is
	if s := p.served(); s.Paths < 1 {
		t.Fatalf("%d paths", s.Paths)
	}
	w.run(105 * ms)
	p.hosts[down].FaceDown(w.now, 2)
	w.run(106 * ms)
	p.hosts[down].FaceUp(w.now, 2, machine.Face{MTU: testMTU})
	w.pump(p)
	w.run(60_000 * ms)
	p.whole(t)
	if s := p.served(); s.PerPath[1].Sent < p.size/4 {
		t.Errorf("%d of %d bytes by the second path", s.PerPath[1].Sent, p.size)
	}
}

// TestSmallReceiveBuffer: with a buffer that a slow path's data fill, opportunistic retransmission and penalisation (Raiciu et
// al., NSDI 2012, §4.2) keep the connection at three quarters of what the better path gives alone; without both it is 0.64.
func TestSmallReceiveBuffer(t *testing.T) {
	const size = 8_000_000
	fast := func() *testPath { return &testPath{rate: 2000, delay: 10 * ms, queue: 20} }
	slow := func() *testPath { return &testPath{rate: 500, delay: 50 * ms, queue: 50} }
	how := transport(t, MPTCP, "cubic")
	how.Buffer = 128 << 10
	w := newTestWorld(t, 1)
	alone := w.fetch(how, size, fast())
	w.run(120_000 * ms)
	alone.whole(t)
	w = newTestWorld(t, 1)
	both := w.fetch(how, size, fast(), slow())
	w.run(120_000 * ms)
	both.whole(t)
	t.Logf("%.2f of the rate of the fast path alone", both.rateOf()/alone.rateOf())
	if r := both.rateOf() / alone.rateOf(); r < 0.7 {
		t.Errorf("%.2f of the rate of the fast path alone", r)
	}
	s := both.served()
	if total := s.PerPath[0].Sent + s.PerPath[1].Sent; total <= size {
		t.Errorf("%d bytes sent of %d: nothing by opportunistic retransmission", total, size)
	}
	var worst int
	for k, f := range both.hosts[down].served[0].conn.(*conn).subs {
		if f.punished > 0 {
			worst = k + 1
		}
	}
	if worst != 2 {
		t.Errorf("path %d was penalised, want the second", worst)
	}
}

// TestFallback: a peer that knows TCP only gets TCP, whatever comes by the other faces.
func TestFallback(t *testing.T) {
	w := newTestWorld(t, 1)
	p := w.fetch(transport(t, MPTCP, "cubic"), 100_000, &testPath{delay: 10 * ms, rate: 1000}, &testPath{delay: 10 * ms, rate: 1000})
	p.how.Protocol = TCP // of the server only: the client has made its connection
	w.run(60_000 * ms)
	p.whole(t)
	p.hosts[up].Receive(w.now, 2, machine.NotECT, make([]byte, 40))
	if s := p.served(); s.Paths != 1 {
		t.Errorf("%d paths", s.Paths)
	}
}

// TestNoObject: who asks for what isn't there is told so.
func TestNoObject(t *testing.T) {
	w := newTestWorld(t, 1)
	p := w.fetch(transport(t, TCP, "reno"), 0, &testPath{delay: 10 * ms, rate: 1000})
	w.run(60_000 * ms)
	if p.err != ErrReset {
		t.Errorf("got %v, want %v", p.err, ErrReset)
	}
}

// TestDeterminism: the same seed gives the same packets at the same moments.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64) string {
		w := newTestWorld(t, seed)
		var log uint64
		see := func(dir int, g *segment, n int) {
			for _, v := range []uint64{uint64(w.now), uint64(dir), uint64(g.seq), uint64(g.ack), uint64(n)} {
				log = (log ^ v) * 0x100000001b3
			}
		}
		lose := func(int, int, *segment) bool { return w.random.Float64() < 0.02 }
		p := w.fetch(transport(t, MPTCP, "ba-mpcubic"), 1_000_000,
			&testPath{rate: 1000, delay: 10 * ms, queue: 40, drop: lose, saw: see}, &testPath{rate: 500, delay: 30 * ms, queue: 40, saw: see})
		w.run(60_000 * ms)
		p.whole(t)
		return fmt.Sprintf("%x %v %+v", log, p.done, p.served())
	}
	if a, b := run(5), run(5); a != b {
		t.Errorf("%s, then %s", a, b)
	}
	if a, b := run(5), run(6); a == b {
		t.Error("another seed changes nothing")
	}
}

// TestEveryByteOnce: whatever paths lose, delay, repeat or mark, and for how long they are dead, every byte arrives in order exactly once.
// The client compares each piece with its place.
func TestEveryByteOnce(t *testing.T) {
	names := []string{"reno", "cubic", "bbr", "lia", "olia", "balia", "le-mpcubic", "coupled-cubic", "ferlin-mpcubic", "ba-mpcubic"}
	rapid.Check(t, func(r *rapid.T) {
		w := newTestWorld(t, rapid.Uint64().Draw(r, "seed"))
		how := transport(t, Protocol(rapid.IntRange(0, 1).Draw(r, "protocol")), rapid.SampledFrom(names).Draw(r, "control"))
		how.Scheduler = Scheduler(rapid.IntRange(0, 2).Draw(r, "scheduler"))
		how.ECN, how.Pace = rapid.Bool().Draw(r, "ecn"), rapid.Bool().Draw(r, "pace")
		how.Buffer = rapid.SampledFrom([]int{4 << 10, 32 << 10, 256 << 10, 0}).Draw(r, "buffer")
		var paths []*testPath
		for i := range rapid.IntRange(1, 4).Draw(r, "paths") {
			l := &testPath{
				rate:  rapid.Float64Range(50, 5000).Draw(r, "rate"),
				delay: machine.Time(rapid.IntRange(0, 100).Draw(r, "delay")) * ms,
				queue: rapid.IntRange(2, 200).Draw(r, "queue"),
			}
			loss, mark := rapid.Float64Range(0, 0.2).Draw(r, "loss"), rapid.Float64Range(0, 0.1).Draw(r, "mark")
			jitter := rapid.IntRange(0, 30).Draw(r, "jitter")
			l.drop = func(int, int, *segment) bool { return w.random.Float64() < loss }
			l.mark = func(int, int) bool { return w.random.Float64() < mark }
			l.late = func(int, int) machine.Time { return machine.Time(w.random.IntN(jitter+1)) * ms }
			if rapid.Bool().Draw(r, "outage") {
				at := machine.Time(rapid.IntRange(0, 1500).Draw(r, "from")) * ms
				for_ := machine.Time(rapid.IntRange(1, 3000).Draw(r, "for")) * ms
				told := rapid.Bool().Draw(r, "told")
				w.at(at, func() { w.outage(i, l, told, true) })
				w.at(at+for_, func() { w.outage(i, l, told, false) })
			}
			paths = append(paths, l)
		}
		p := w.fetch(how, rapid.SampledFrom([]int64{1, 9, 1_449, 30_000, 100_000, 400_000}).Draw(r, "size"), paths...)
		w.run(1800 * machine.Second)
		if p.err != nil || p.done == 0 || p.got != p.size {
			r.Fatalf("%d of %d bytes have come, error %v", p.got, p.size, p.err)
		}
		for dir, h := range p.hosts {
			w.run(7200 * machine.Second)
			for _, c := range h.conns {
				if !c.over() {
					r.Errorf("side %d: the connection is never over: %+v", dir, c)
				}
			}
		}
	})
}

// outage begins or ends one, which the hosts are told of or not.
func (w *testWorld) outage(path int, l *testPath, told, begins bool) {
	l.hole = begins
	for _, p := range w.pairs {
		for _, h := range p.hosts {
			switch id := machine.FaceID(path + 1); {
			case told && begins:
				h.FaceDown(w.now, id)
			case told:
				h.FaceUp(w.now, id, machine.Face{MTU: testMTU})
			}
		}
		w.pump(p)
	}
}
