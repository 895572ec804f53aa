package fetch

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// world drives an engine over an imaginary network to the producer in memory. Everything happens by its clock and its
// seed.
type world struct {
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	e        *Engine
	p        producer
	now      machine.Time
	rng      *rand.Rand
	queue    []flight // by time
	flights  uint64
	trace    hash.Hash      // of all that the engine sent, and when
	sent     map[string]int // how often, by label
	order    []string       // labels
	datagram [wire.MaxPacket]byte

	// The network.
	delay                               machine.Time // one way
	lose, duplicate, corrupt, nack, say float64      // probabilities
	jitter                              machine.Time // added to the delay, up to: reorders
	dead                                bool         // nothing arrives any more

	// The application.
	apps   map[ID]*app
	settle machine.Time // how long it takes to settle a chunk
	limit  machine.Time // of the test's patience
}

type flight struct {
	at     machine.Time
	seq    uint64
	data   []byte
	do     func() // instead of data
	spoilt bool   // a test has changed data
}

// app is what the application has of one transfer.
type app struct {
	o        *object
	got      []byte
	have     []bool
	left     int64
	resolved bool
	keep     bool // don't accept: parts are fetched as spans
	over     bool
	err      error
	order    []int64 // chunks in order of settling
	most     int     // of chunks handed out at once
	out      int
	handed   int // chunks handed out in all
	fromDisk int
	claimed  func(int64) bool
	right    func(int64) bool // whether a claimed chunk is as it should be; nil: always
	ended    machine.Time
}

func newWorld(t testing.TB, cfg Config, objects ...*object) *world {
	cfg.Src = source
	return &world{
		t: t, e: New(cfg), p: producer{objects: objects}, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), trace: sha256.New(),
		sent: make(map[string]int), delay: 10 * ms, apps: make(map[ID]*app), limit: 3600 * sec,
	}
}

// start begins to fetch an object.
func (w *world) start(o *object, r Request) ID {
	r.Name = o.name
	id := w.e.Start(w.now, r)
	w.apps[id] = &app{o: o}
	w.drain()
	return id
}

func (w *world) at(at machine.Time, f flight) {
	w.flights++
	f.at, f.seq = at, w.flights
	i, _ := slices.BinarySearchFunc(w.queue, f, func(a, b flight) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.seq - b.seq)
	})
	w.queue = slices.Insert(w.queue, i, f)
}

// drain takes what the engine has for the network and the application, until it has nothing more at this moment.
func (w *world) drain() {
	w.t.Helper()
	for range 1_000_000 {
		events := w.e.Events(nil)
		for _, ev := range events {
			w.event(ev)
		}
		if len(w.e.Ready(nil)) > 0 {
			n, _ := w.e.Transmit(w.now, Face, w.datagram[:])
			if n > 0 {
				w.send(w.datagram[:n])
			}
			continue
		}
		if n, _ := w.e.Transmit(w.now, Face, w.datagram[:]); n != 0 {
			w.t.Fatalf("not ready, but it sends")
		}
		if len(events) == 0 {
			if at := w.e.Deadline(); at <= w.now {
				w.t.Fatalf("at %v: drained, and the deadline is %v", w.now, at)
			}
			return
		}
	}
	w.t.Fatalf("the engine never stops sending")
}

// send carries an Interest to the producer and the answer back.
func (w *world) send(datagram []byte) {
	binary.Write(w.trace, binary.BigEndian, int64(w.now))
	w.trace.Write(datagram)
	q := parse(datagram)
	w.sent[w.p.label(q)]++
	w.order = append(w.order, w.p.label(q))
	if w.dead || w.rng.Float64() < w.lose {
		return
	}
	var answer []byte
	switch x := w.rng.Float64(); {
	case x < w.nack:
		answer = w.p.nack(q, []wire.NackReason{wire.NackCongestion, wire.NackNoRoute, wire.NackDuplicate}[w.rng.IntN(3)])
	case x < w.nack+w.say && q.kind != metadata:
		answer = w.p.refuse(q, []string{saysFailed, saysBusy}[w.rng.IntN(2)])
	default:
		answer = w.p.answer(q)
		if w.rng.Float64() < w.corrupt {
			answer = corrupt(answer)
		}
	}
	copies := 1
	if w.rng.Float64() < w.duplicate {
		copies = 2
	}
	for range copies {
		if w.rng.Float64() >= w.lose {
			late := machine.Time(w.rng.Float64() * float64(w.jitter))
			w.at(w.now+2*w.delay+late, flight{data: answer})
		}
	}
}

// event is what the application does with an event.
func (w *world) event(ev Event) {
	a := w.apps[ev.ID]
	if a.over {
		w.t.Fatalf("an event after the end: %+v", ev)
	}
	switch ev.Kind {
	case Resolved:
		l := ev.Object.Layout
		if a.resolved || l != a.o.manifest.Layout || ev.Object.Digest != a.o.manifest.Digest() || !ev.Object.Name.Equal(a.o.name) {
			w.t.Fatalf("resolved to %+v", ev.Object)
		}
		a.resolved, a.left = true, l.Chunks()
		a.got, a.have = make([]byte, l.Size), make([]bool, l.Chunks())
		if a.over = a.keep; !a.keep {
			w.e.Accept(w.now, ev.ID, a.claimed)
		}
	case Chunk:
		a.out++
		a.handed++
		a.most = max(a.most, a.out)
		if w.settle == 0 {
			w.store(ev)
		} else {
			w.at(w.now+w.settle, flight{do: func() { w.store(ev) }})
		}
	case Done, Failed:
		a.over, a.err, a.ended = true, ev.Err, w.now
		if ev.Kind == Done && a.left > 0 {
			w.t.Fatalf("done with %d chunks left", a.left)
		}
	}
}

// store verifies a chunk and settles it.
func (w *world) store(ev Event) {
	a := w.apps[ev.ID]
	a.out--
	if a.over { // the transfer has failed meanwhile
		w.e.Settle(w.now, ev.ID, ev.Chunk, ev.Data, false)
		return
	}
	if a.have[ev.Chunk] {
		w.t.Fatalf("chunk %d came twice", ev.Chunk)
	}
	data := ev.Data
	if data == nil {
		if a.claimed == nil || !a.claimed(ev.Chunk) {
			w.t.Fatalf("chunk %d is to be checked, but wasn't claimed", ev.Chunk)
		}
		a.fromDisk++
		data = a.o.chunk(ev.Chunk)
		if a.right != nil && !a.right(ev.Chunk) {
			data = nil
		}
	}
	ok := sha256.Sum256(data) == ev.Want && (data != nil || a.o.manifest.Size == 0)
	if ok {
		copy(a.got[ev.Chunk*int64(a.o.manifest.ChunkSize):], data)
		a.have[ev.Chunk] = true
		a.left--
		a.order = append(a.order, ev.Chunk)
	}
	w.e.Settle(w.now, ev.ID, ev.Chunk, ev.Data, ok)
}

// step lets the next thing happen; false: nothing will.
func (w *world) step() bool {
	w.t.Helper()
	next := w.e.Deadline()
	if len(w.queue) > 0 {
		next = min(next, w.queue[0].at)
	}
	if next == machine.Never {
		return false
	}
	w.now = max(w.now, next)
	w.e.Advance(w.now)
	for len(w.queue) > 0 && w.queue[0].at <= w.now {
		f := w.queue[0]
		w.queue = w.queue[1:]
		if f.do != nil {
			f.do()
		} else if !w.dead {
			w.e.Receive(w.now, Face, machine.NotECT, f.data)
		}
	}
	w.drain()
	return true
}

// until runs the world up to a moment.
func (w *world) until(at machine.Time) {
	w.t.Helper()
	for w.next() <= at {
		w.step()
	}
	w.now = at
}

func (w *world) next() machine.Time {
	at := w.e.Deadline()
	if len(w.queue) > 0 {
		at = min(at, w.queue[0].at)
	}
	return at
}

// finish runs the world until every transfer is over.
func (w *world) finish() {
	w.t.Helper()
	for {
		busy := false
		for _, a := range w.apps {
			busy = busy || !a.over
		}
		if !busy {
			return
		}
		if !w.step() || w.now > w.limit {
			w.t.Fatalf("hangs at %v s", w.now.Seconds())
		}
	}
}

// succeed finishes and checks that every object came whole.
func (w *world) succeed() {
	w.t.Helper()
	w.finish()
	for id, a := range w.apps {
		if a.err != nil {
			w.t.Fatalf("transfer %d: %v", id, a.err)
		}
		if string(a.got) != string(a.o.content) {
			w.t.Fatalf("transfer %d: other bytes", id)
		}
	}
	w.clean()
}

// clean checks that the engine holds on to nothing once its transfers are over.
func (w *world) clean() {
	w.t.Helper()
	e := w.e
	if n := len(e.pendings.slots) - len(e.pendings.free); n != 0 {
		w.t.Fatalf("%d Interests are left", n)
	}
	if len(e.transfers) != 0 || e.questions.open != 0 || len(e.alarms.heap) != 0 || len(e.flows.agenda.heap) != 0 {
		w.t.Fatalf("left: %d transfers, %d questions, %d alarms, %d flows", len(e.transfers), e.questions.open,
			len(e.alarms.heap), len(e.flows.agenda.heap))
	}
	for _, f := range e.flows.byDest { // order: a check of each
		if f.inflight != 0 || f.first != nil || f.last != nil || len(f.lost.heap) != 0 || f.transfers != 0 {
			w.t.Fatalf("flow %v: %d in flight, %d lost, %d transfers", f.dest, f.inflight, len(f.lost.heap), f.transfers)
		}
	}
}
