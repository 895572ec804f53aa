package cc

import (
	"math/rand/v2"
	"testing"

	"mars/internal/machine"
)

// pipe is a bottleneck with a queue that nothing overflows, and a sender behind each of some windows.
type pipe struct {
	rate    float64      // bytes per second
	base    machine.Time // round trip without the queue
	free    machine.Time // when the bottleneck has sent all that waits
	now     machine.Time
	senders []*pipeSender
	arrives []pipeAck // in the order of their times
	loss    float64
	wait    func(now machine.Time) machine.Time // of requests on their way to the bottleneck; nil: none
	random  *rand.Rand
	busy    float64 // bytes that the bottleneck has sent
	delays  []machine.Time
}

type pipeSender struct {
	w      DelayWindow
	flight float64
	next   machine.Time
	got    float64
}

type pipeAck struct {
	at, sent, queued machine.Time
	of               *pipeSender
	lost             bool
}

const pipeChunk = 6000.0

func newPipe(rate float64, base machine.Time, senders int) *pipe {
	p := &pipe{rate: rate, base: base, random: rand.New(rand.NewPCG(1, 2))}
	for range senders {
		p.add()
	}
	return p
}

func (p *pipe) add() {
	p.senders = append(p.senders, &pipeSender{next: p.now, w: NewDelayWindow(DelayWindowConfig{
		Target: 5 * machine.Millisecond, Step: pipeChunk, Initial: 20 * pipeChunk, Least: pipeChunk, Most: 1 << 30,
	})})
}

// run goes on until a time, in steps of 50 µs.
func (p *pipe) run(until machine.Time) {
	for ; p.now < until; p.now += 50 * machine.Microsecond {
		for len(p.arrives) > 0 && p.arrives[0].at <= p.now {
			a := p.arrives[0]
			p.arrives = p.arrives[1:]
			a.of.flight -= pipeChunk
			if a.lost {
				a.of.w.OnLoss(p.now, pipeChunk)
				continue
			}
			a.of.got += pipeChunk
			p.delays = append(p.delays, a.queued)
			a.of.w.Hidden()
			a.of.w.OnAck(p.now, pipeChunk, p.now-a.sent, a.queued)
			a.of.w.OnOther(p.now - a.sent - a.queued)
		}
		for _, s := range p.senders {
			for s.next <= p.now {
				if s.flight > 0 && s.flight+pipeChunk > s.w.Bytes() {
					s.w.Limited()
					break
				}
				p.send(s)
			}
		}
	}
}

func (p *pipe) send(s *pipeSender) {
	s.flight += pipeChunk
	if pace := s.w.Pace(); pace > 0 {
		s.next = max(s.next, p.now-machine.Millisecond) + machine.Time(pipeChunk/pace*1e9)
	}
	there := p.now
	if p.wait != nil {
		there += p.wait(p.now)
	}
	start := max(p.free, there)
	p.free = start + machine.Time(pipeChunk/p.rate*1e9)
	p.busy += pipeChunk
	p.arrives = append(p.arrives, pipeAck{p.free + p.base, p.now, start - there, s, p.random.Float64() < p.loss})
}

func (p *pipe) reset() {
	p.busy, p.delays = 0, nil
	for _, s := range p.senders {
		s.got = 0
	}
}

func (p *pipe) mean() machine.Time {
	var sum machine.Time
	for _, d := range p.delays {
		sum += d
	}
	return sum / machine.Time(max(len(p.delays), 1))
}

// TestDelayWindowFills: from a slow line to a long fat one the path is used, and its queue stays near the target and what a chunk takes.
func TestDelayWindowFills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mbit float64
		base machine.Time
	}{
		{2, 20 * machine.Millisecond},
		{10, 10 * machine.Millisecond},
		{40, 30 * machine.Millisecond},
		{100, 100 * machine.Millisecond},
		{1000, 20 * machine.Millisecond},
	} {
		for _, loss := range []float64{0, 0.01} {
			p := newPipe(c.mbit*1e6/8, c.base, 1)
			p.loss = loss
			p.run(4 * machine.Second)
			p.reset()
			p.run(14 * machine.Second)
			used := p.busy / (p.rate * 10)
			chunk := machine.Time(pipeChunk / p.rate * 1e9)
			if used < 0.93 || used > 1.02 || p.mean() > 15*machine.Millisecond+3*chunk {
				t.Errorf("%v Mbit/s × %v ms, loss %v: %.3f used, mean queue %.1f ms", c.mbit, c.base/machine.Millisecond, loss, used, p.mean().Seconds()*1e3)
			}
		}
	}
}

// TestDelayWindowCrossing: requests that wait behind the other direction's data, now more, now less, leave little of the path unused, and their
// wait isn't taken for a queue.
func TestDelayWindowCrossing(t *testing.T) {
	const period = 600 * machine.Millisecond
	p := newPipe(40e6/8, 35*machine.Millisecond, 1)
	p.wait = func(now machine.Time) machine.Time { // to 40 ms within 100 ms, and back
		at := now % period
		return min(at, period/2-min(at, period/2), 100*machine.Millisecond) * 2 / 5
	}
	p.run(2 * machine.Second)
	p.reset()
	p.run(12 * machine.Second)
	if used := p.busy / (p.rate * 10); used < 0.92 || p.mean() > 15*machine.Millisecond {
		t.Errorf("%.3f used, mean queue %.1f ms", used, p.mean().Seconds()*1e3)
	}
}

// TestDelayWindowDrop: when the capacity falls to a quarter the queue is short again within a second.
func TestDelayWindowDrop(t *testing.T) {
	p := newPipe(100e6/8, 40*machine.Millisecond, 1)
	p.run(5 * machine.Second)
	p.rate /= 4
	p.run(6 * machine.Second)
	p.reset()
	p.run(7 * machine.Second)
	if p.mean() > 20*machine.Millisecond {
		t.Errorf("mean queue %.1f ms", p.mean().Seconds()*1e3)
	}
}

// TestDelayWindowShares: windows that share a queue get alike, also one that comes later.
func TestDelayWindowShares(t *testing.T) {
	p := newPipe(100e6/8, 40*machine.Millisecond, 2)
	p.run(3 * machine.Second)
	p.add()
	p.run(15 * machine.Second)
	p.reset()
	p.run(30 * machine.Second)
	sum, squares := 0.0, 0.0
	for _, s := range p.senders {
		sum += s.got
		squares += s.got * s.got
	}
	if jain := sum * sum / (3 * squares); jain < 0.95 {
		t.Errorf("Jain %.3f: %v %v %v", jain, p.senders[0].got, p.senders[1].got, p.senders[2].got)
	}
}

// TestDelayWindowSilence: where nothing arrives any more the window falls.
func TestDelayWindowSilence(t *testing.T) {
	p := newPipe(10e6/8, 40*machine.Millisecond, 1)
	p.run(2 * machine.Second)
	w := &p.senders[0].w
	before := w.Bytes()
	for i := range 200 {
		w.OnLoss(2*machine.Second+machine.Time(i)*100*machine.Millisecond, pipeChunk)
	}
	if w.Bytes() > before/4 || w.Bytes() < pipeChunk {
		t.Errorf("%.0f bytes, before %.0f", w.Bytes(), before)
	}
}
