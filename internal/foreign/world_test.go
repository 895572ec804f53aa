package foreign

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// producer is what somebody else's software answers with.
type producer struct {
	name     wire.Name
	version  uint64
	segments [][]byte
	metadata bool            // answers 32=metadata
	prefix   bool            // answers the name with CanBePrefix
	sign     uint64          // signature type
	finals   func(n int) int // FinalBlockId of segment n; −1: none
}

func newProducer(name string, segments, size int) *producer {
	p := &producer{name: wire.MustParseName(name), version: 1_700_000_000_000_000, metadata: true, prefix: true}
	rng := rand.NewChaCha8([32]byte{3})
	for range segments {
		b := make([]byte, size)
		rng.Read(b)
		p.segments = append(p.segments, b)
	}
	p.finals = func(int) int { return len(p.segments) - 1 }
	return p
}

func (p *producer) base() wire.Name {
	return p.name.Clone().AppendNumber(wire.TypeVersion, p.version)
}

// answer is the Data for an Interest; nil: there is none.
func (p *producer) answer(i *wire.Interest) *wire.Data {
	base := p.base()
	meta := p.name.Clone().AppendString(wire.TypeKeyword, wire.KeywordMetadata)
	switch {
	case p.metadata && i.CanBePrefix && i.Name.Equal(meta):
		return p.data(meta.AppendChunk(7, 0), base.AppendTLV(nil), 0)
	case p.prefix && i.CanBePrefix && i.Name.Equal(p.name):
		return p.data(base.AppendNumber(wire.TypeSegment, 0), p.segments[0], p.finals(0))
	}
	_, version, n, ok := i.Name.SplitChunk()
	if !ok || version != p.version || !i.Name.HasPrefix(base) || n >= uint64(len(p.segments)) {
		return nil
	}
	return p.data(i.Name, p.segments[n], p.finals(int(n)))
}

func (p *producer) data(name wire.Name, content []byte, final int) *wire.Data {
	d := &wire.Data{Name: name.Clone(), Content: content, SignatureType: p.sign, Freshness: 10}
	if final >= 0 {
		d.FinalBlock = wire.Name(nil).AppendNumber(wire.TypeSegment, uint64(final))
	}
	if p.sign == wire.SignatureSHA256 {
		sum := sha256.Sum256(d.AppendSigned(nil))
		d.SignatureValue = sum[:]
	}
	return d
}

// world is an engine, a producer, and a path between them: Data leave one after the other by a queue, each taking a while.
type world struct {
	t        *testing.T
	e        *Engine
	p        *producer
	now      machine.Time
	delay    machine.Time // of Interests
	service  machine.Time // per Data
	queue    int          // Data that wait at most
	mark     int          // Data that are marked: those that find as many waiting; 0: none
	loss     float64
	rng      *rand.Rand
	free     machine.Time // when the queue is empty
	flying   []flying
	longest  int
	sent     int
	dropped  int
	change   func(i *wire.Interest, p *wire.Packet, d *wire.Data) bool // false: no answer
	settle   bool
	got      bytes.Buffer
	found    wire.Name
	size     int64
	maxAhead uint64
	paths    []path // faces 1, 2 … that Interests may choose; none: all go by the fields above
}

// path is one of several, with a queue of its own.
type path struct {
	delay, service, free machine.Time
	queue                int
	loss                 float64
	dead                 bool
	asked, dropped       int
}

type flying struct {
	at  machine.Time
	seq int
	b   []byte
}

func newWorld(t *testing.T, p *producer) *world {
	return &world{
		t: t, e: New(Config{Seed: 1}), p: p, delay: 20 * machine.Millisecond, service: machine.Millisecond, queue: 60, settle: true,
		rng: rand.New(rand.NewPCG(1, 2)), size: -2,
	}
}

// drain takes the Interests that the engine sends and puts their answers on the way.
func (w *world) drain() {
	buf := make([]byte, 9000)
	for {
		n, _ := w.e.Transmit(w.now, Face, buf)
		if n == 0 {
			return
		}
		w.sent++
		var in wire.Packet
		var i wire.Interest
		if in.Decode(buf[:n]) != nil || i.Decode(in.Fragment) != nil || !i.HasNonce || len(in.PitToken) != tokenLen {
			w.t.Fatalf("sent what nobody understands: %x", buf[:n])
		}
		if _, _, n, ok := i.Name.SplitChunk(); ok {
			w.maxAhead = max(w.maxAhead, n+1)
		}
		if f := in.NextHop; f > 0 {
			w.by(&w.paths[f-1], func() { w.answer(&i, in.PitToken) })
			continue
		}
		w.answer(&i, in.PitToken)
	}
}

// by has an Interest answered over a path.
func (w *world) by(p *path, answer func()) {
	if p.asked++; p.dead {
		return
	}
	dropped := w.dropped
	w.delay, w.service, w.queue, w.free, w.loss = p.delay, p.service, p.queue, p.free, p.loss
	answer()
	p.free = w.free
	p.dropped += w.dropped - dropped
}

func (w *world) answer(i *wire.Interest, token []byte) {
	if w.p == nil || w.rng.Float64() < w.loss {
		return
	}
	out := wire.Packet{PitToken: bytes.Clone(token)}
	d := w.p.answer(i)
	if w.change != nil && !w.change(i, &out, d) {
		return
	}
	if out.Nack {
		out.Fragment = bytes.Clone(i.Wire)
	} else if d == nil {
		return
	} else {
		out.Fragment = d.Append(nil)
	}
	at := w.now + w.delay
	w.free = max(w.free, at)
	waiting := int((w.free - at) / max(w.service, 1))
	w.longest = max(w.longest, waiting)
	if waiting >= w.queue {
		w.dropped++
		return
	}
	if w.mark > 0 && waiting >= w.mark {
		out.CongestionMark = 1
	}
	w.free += w.service
	w.flying = append(w.flying, flying{w.free, w.sent, out.Append(nil)})
}

// run goes on until id ends, and returns its error.
func (w *world) run(id ID) error {
	for range 10_000_000 {
		w.drain()
		next := w.e.Deadline()
		slices.SortStableFunc(w.flying, func(a, b flying) int { return int(a.at - b.at) })
		if len(w.flying) > 0 {
			next = min(next, w.flying[0].at)
		}
		if next == machine.Never {
			return errors.New("stuck")
		}
		w.now = max(w.now, next)
		for len(w.flying) > 0 && w.flying[0].at <= w.now {
			b := w.flying[0].b
			w.flying = w.flying[1:]
			w.e.Receive(w.now, Face, 0, b)
		}
		w.e.Advance(w.now)
		if err, over := w.events(id); over {
			return err
		}
	}
	return errors.New("never ends")
}

func (w *world) events(id ID) (error, bool) {
	for _, ev := range w.e.Events(nil) {
		if ev.ID != id {
			continue
		}
		switch ev.Kind {
		case Found:
			w.found, w.size = ev.Name.Clone(), ev.Size
		case Segment:
			w.got.Write(ev.Data)
			if w.settle {
				w.e.Settle(w.now, id, ev.Data)
			}
		case Done:
			return nil, true
		case Failed:
			return ev.Err, true
		}
	}
	return nil, false
}

// fetch fetches name and compares what comes with what the producer has.
func (w *world) fetch(name wire.Name) Stats {
	w.t.Helper()
	id := w.e.Start(w.now, Request{Name: name})
	if err := w.run(id); err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Equal(w.got.Bytes(), bytes.Join(w.p.segments, nil)) {
		w.t.Fatalf("what came is not what the producer has: %d bytes", w.got.Len())
	}
	return w.e.Stats(id)
}
