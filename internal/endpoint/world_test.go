package endpoint

import (
	"math/rand/v2"
	"testing"

	"mars/cc"
	"mars/internal/machine"
)

const (
	ms      = machine.Millisecond
	testMTU = 1480 // of an IP packet of 1,500 bytes
	// testMSS and testPiece are the data of a segment of TCP's and of MPTCP's.
	testMSS   = testMTU - headerSize - timeSize
	testPiece = testMSS - dssSize
)

// Directions of a testPath: requests and acknowledgements go up, objects down.
const (
	up = iota
	down
)

// testPath is one path between the two hosts of a testWorld, both ways alike.
type testPath struct {
	rate  float64 // packets of 1,500 bytes per second; 0: no queue
	delay machine.Time
	queue int                                // packets; 0: no bound
	drop  func(dir, n int, g *segment) bool  // loses packet n of a direction, from 0
	mark  func(dir, n int) bool              // marks it, if it is ECN-capable
	late  func(dir, n int) machine.Time      // holds it back
	stall func(at machine.Time) machine.Time // makes what would leave at a moment leave later
	saw   func(dir int, g *segment, len int) // is told of what is sent

	red  float64 // chance of a loss with a full queue, growing from nothing at a quarter full; 0: drop-tail
	hole bool
	busy [2]machine.Time
	sent [2]int
	lost [2]int
}

// testWorld is two hosts and the paths between them, on which more pairs of hosts may be: the faces of one flow are those of its
// own hosts.
type testWorld struct {
	t      testing.TB
	now    machine.Time
	random *rand.Rand
	pairs  []*testPair
	queue  testQueue
	count  int
	free   [][]byte // datagrams to use again
	ready  []machine.FaceID
	told   []Event
}

// testPair is a flow: a client, and a server of one object.
type testPair struct {
	hosts [2]*Host // the server sends down
	paths []*testPath
	id    ID
	how   Transport
	size  int64
	got   int64
	done  machine.Time // 0: not yet
	err   error
}

type testEvent struct {
	at   machine.Time
	n    int
	do   func()
	pair *testPair
	dir  int
	face machine.FaceID
	ecn  machine.ECN
	data []byte
}

// testQueue is a heap of events, earliest first; those of one moment keep their order.
type testQueue []testEvent

func (q testQueue) before(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}

func (q *testQueue) push(e testEvent) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0 && h.before(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (q *testQueue) pop() testEvent {
	h := *q
	e, last := h[0], len(h)-1
	h[0], h[last] = h[last], testEvent{}
	h = h[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && h.before(k+1, k) {
			k++
		}
		if !h.before(k, i) {
			break
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
	*q = h
	return e
}

func newTestWorld(t testing.TB, seed uint64) *testWorld {
	return &testWorld{t: t, random: rand.New(rand.NewPCG(seed, 7))}
}

// at has something happen later.
func (w *testWorld) at(when machine.Time, do func()) { w.add(testEvent{at: when, do: do}) }

func (w *testWorld) add(e testEvent) {
	e.n = w.count
	w.count++
	w.queue.push(e)
}

// transport is one with the named controller.
func transport(t testing.TB, p Protocol, control string) Transport {
	a, err := cc.Lookup(control)
	if err != nil {
		t.Fatal(err)
	}
	return Transport{Protocol: p, Control: a}
}

// fetch begins a transfer over some paths.
func (w *testWorld) fetch(how Transport, size int64, paths ...*testPath) *testPair {
	p := &testPair{how: how, size: size, paths: paths}
	seed := w.random.Uint64()
	p.hosts[down] = New(Config{Seed: seed, Size: func(uint64) int64 { return size }})
	p.hosts[up] = New(Config{Seed: seed + 1})
	w.pairs = append(w.pairs, p)
	var faces []machine.FaceID
	for i := range paths {
		id := machine.FaceID(i + 1)
		faces = append(faces, id)
		for _, h := range p.hosts {
			h.FaceUp(w.now, id, machine.Face{MTU: testMTU})
		}
		p.hosts[down].Listen(id, &p.how)
	}
	p.id = p.hosts[up].Fetch(w.now, Request{Object: 1, Faces: faces, Transport: &p.how})
	w.pump(p)
	return p
}

// run lets time pass until a moment, or until nothing is left to do.
func (w *testWorld) run(until machine.Time) {
	for {
		at, due := machine.Never, (*Host)(nil)
		var whose *testPair
		for _, p := range w.pairs {
			for _, h := range p.hosts {
				if d := h.Deadline(); d < at {
					at, due, whose = d, h, p
				}
			}
		}
		if len(w.queue) > 0 && w.queue[0].at <= at {
			at, due = w.queue[0].at, nil
		}
		if at > until {
			w.now = until
			return
		}
		w.now = max(w.now, at)
		if due != nil {
			due.Advance(w.now)
			w.pump(whose)
			continue
		}
		e := w.queue.pop()
		if e.do != nil {
			e.do()
			continue
		}
		e.pair.hosts[1-e.dir].Receive(w.now, e.face, e.ecn, e.data)
		w.free = append(w.free, e.data[:testMTU])
		w.pump(e.pair)
	}
}

// pump moves what the hosts of a pair have to send to its paths.
func (w *testWorld) pump(p *testPair) {
	w.told = p.hosts[up].Events(w.told[:0])
	for _, e := range w.told {
		p.got += e.Bytes
		if e.Done && p.done == 0 {
			p.done = w.now
		}
		if e.Err != nil {
			p.err = e.Err
		}
	}
	for dir, h := range p.hosts {
		for sent := true; sent; {
			sent = false
			w.ready = h.Ready(w.ready[:0])
			for _, id := range w.ready {
				for {
					buf := w.buffer()
					n, ecn := h.Transmit(w.now, id, buf)
					if n < 0 {
						w.t.Fatalf("%d bytes for a face of %d", -n, testMTU)
					}
					if n == 0 {
						w.free = append(w.free, buf)
						break
					}
					sent = true
					w.send(p, dir, id, ecn, buf[:n])
				}
			}
		}
	}
}

func (w *testWorld) buffer() []byte {
	n := len(w.free)
	if n == 0 {
		return make([]byte, testMTU)
	}
	b := w.free[n-1]
	w.free = w.free[:n-1]
	return b
}

// send puts a packet on its path.
func (w *testWorld) send(p *testPair, dir int, id machine.FaceID, ecn machine.ECN, data []byte) {
	l := p.paths[id-1]
	n := l.sent[dir]
	l.sent[dir]++
	var g segment
	if l.saw != nil || l.drop != nil {
		payload, err := g.decode(data)
		if err != nil {
			w.t.Fatal(err)
		}
		if l.saw != nil {
			l.saw(dir, &g, len(payload))
		}
	}
	at := w.now
	if l.rate > 0 {
		waits := float64(max(l.busy[dir]-w.now, 0)) / 1e9 * l.rate // packets in the queue
		early := l.red > 0 && w.random.Float64() < l.red*(waits/float64(l.queue)-0.25)
		if l.queue > 0 && (int(waits) >= l.queue || early) {
			l.lost[dir]++
			return
		}
		l.busy[dir] = max(l.busy[dir], w.now) + machine.Time(float64(len(data)+20)/1500/l.rate*1e9)
		at = l.busy[dir]
	}
	if l.hole || l.drop != nil && l.drop(dir, n, &g) {
		l.lost[dir]++
		return
	}
	if l.mark != nil && ecn != machine.NotECT && l.mark(dir, n) {
		ecn = machine.CE
	}
	if l.stall != nil {
		at = l.stall(at)
	}
	if l.late != nil {
		at += l.late(dir, n)
	}
	w.add(testEvent{at: at + l.delay, pair: p, dir: dir, face: id, ecn: ecn, data: data})
}

// served are the figures of the server.
func (p *testPair) served() Stats { return p.hosts[down].Served(1) }

// whole fails unless the object has come, once.
func (p *testPair) whole(t testing.TB) {
	t.Helper()
	if p.err != nil || p.done == 0 || p.got != p.size {
		t.Fatalf("%d of %d bytes have come, done at %v, error %v", p.got, p.size, p.done, p.err)
	}
}

// nth drops the packets of these numbers that go a way.
func nth(way int, numbers ...int) func(int, int, *segment) bool {
	return func(dir, n int, _ *segment) bool {
		for _, k := range numbers {
			if dir == way && n == k {
				return true
			}
		}
		return false
	}
}
