package cc

import (
	"math/rand/v2"

	"mars/internal/machine"
)

const (
	testMSS  = 1500
	testTick = 100 * machine.Microsecond
)

// testLink is a drop-tail queue.
type testLink struct {
	rate   float64 // packets per second
	delay  Time    // round trip beside the queue
	buffer int     // packets
	mark   int     // packets in the queue from which on they are marked; 0: never
	loss   float64 // random, before the queue

	credit float64
	queue  []testPacket
	line   []testPacket // served, on their way back
	gone   []testPacket // lost; what follows them tells
	early  bool         // drops at random, more often the longer the queue (RED without the mean), not just at its end
}

type testPacket struct {
	flow      *testFlow
	sent, due Time
	marked    bool
	lost      bool
}

// testFlow is one subflow that always has data to send.
type testFlow struct {
	ctrl     Controller
	sub      Subflow
	link     *testLink
	inFlight int
	acked    int
	from     Time
}

// testWorld moves packets one by one, in ticks.
type testWorld struct {
	now   Time
	rand  *rand.Rand
	links []*testLink
	flows []*testFlow
}

func newWorld(seed uint64, links ...*testLink) *testWorld {
	return &testWorld{rand: rand.New(rand.NewPCG(seed, 1)), links: links}
}

func must(name string) Controller {
	a, err := Lookup(name)
	if err != nil {
		panic(err)
	}
	c, err := a.New(testMSS)
	if err != nil {
		panic(err)
	}
	return c
}

func (w *testWorld) connect(c Controller, links ...*testLink) (flows []*testFlow) {
	for _, l := range links {
		f := &testFlow{ctrl: c, sub: c.AddSubflow(w.now), link: l, from: Time(w.rand.Int64N(int64(machine.Second)))}
		flows = append(flows, f)
		w.flows = append(w.flows, f)
	}
	return flows
}

// run goes on for a while; what is acknowledged from then on counts.
func (w *testWorld) run(warm, measured Time) {
	for end := w.now + warm; w.now < end; {
		w.step()
	}
	for _, f := range w.flows {
		f.acked = 0
	}
	for end := w.now + measured; w.now < end; {
		w.step()
	}
}

func (w *testWorld) step() {
	w.now += testTick
	for _, l := range w.links {
		l.step(w.now)
	}
	for budget, first := len(w.flows), w.rand.IntN(len(w.flows)); budget > 0; budget-- {
		f := w.flows[(first+budget)%len(w.flows)]
		if w.now < f.from {
			continue
		}
		// No more than a few packets per tick, so that flows interleave as they do on a real link.
		for n := 0; n < 2 && (f.inFlight+1)*testMSS <= f.ctrl.Cwnd(f.sub); n++ {
			w.send(f)
		}
	}
}

func (w *testWorld) send(f *testFlow) {
	l := f.link
	f.inFlight++
	p := testPacket{flow: f, sent: w.now}
	p.marked = l.mark > 0 && len(l.queue) >= l.mark
	// A lost packet takes the queue's place on the way back: its successors tell.
	p.lost = len(l.queue) >= l.buffer || l.loss > 0 && w.rand.Float64() < l.loss
	if at := float64(len(l.queue)) / float64(l.buffer); l.early && at > 0.25 && w.rand.Float64() < 0.05*(at-0.25) {
		p.lost = true
	}
	if p.lost {
		p.due = w.now + l.delay + Time(float64(len(l.queue))/l.rate*1e9)
		l.gone = append(l.gone, p)
		return
	}
	l.queue = append(l.queue, p)
}

func (l *testLink) step(now Time) {
	l.credit = min(l.credit+l.rate*testTick.Seconds(), 1+l.rate*testTick.Seconds())
	for l.credit >= 1 && len(l.queue) > 0 {
		l.credit--
		p := l.queue[0]
		l.queue = l.queue[1:]
		p.due = now + l.delay
		l.line = append(l.line, p)
	}
	for _, line := range []*[]testPacket{&l.line, &l.gone} {
		for len(*line) > 0 && (*line)[0].due <= now {
			p := (*line)[0]
			*line = (*line)[1:]
			p.arrive(now)
		}
	}
}

func (p testPacket) arrive(now Time) {
	f := p.flow
	f.inFlight--
	if p.lost {
		f.ctrl.OnLoss(now, f.sub, Loss{Bytes: testMSS, Sent: p.sent})
		return
	}
	f.acked++
	a := Ack{Bytes: testMSS, Sent: p.sent, RTT: now - p.sent, InFlight: f.inFlight * testMSS}
	if p.marked {
		a.Marked = testMSS
	}
	f.ctrl.OnAck(now, f.sub, a)
}

func acked(flows []*testFlow) (n float64) {
	for _, f := range flows {
		n += float64(f.acked)
	}
	return n
}
