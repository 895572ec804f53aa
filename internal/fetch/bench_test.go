package fetch

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// loop is an engine whose every Interest is answered at once, with as little work of the test as can be: the Data of each
// chunk is the same but for name and token, and the application doesn't hash.
type loop struct {
	e       *Engine
	now     machine.Time
	buf     [wire.MaxPacket]byte
	out     []byte
	events  []Event
	pkt     wire.Packet
	i       wire.Interest
	content []byte
}

// turn sends an Interest, if there is one, and takes its answer; it returns the chunks settled.
func (l *loop) turn(p *producer) (settled int) {
	l.events = l.events[:0]
	n, _ := l.e.Transmit(l.now, Face, l.buf[:])
	if n == 0 {
		l.now = l.e.Deadline()
		l.e.Advance(l.now)
		return 0
	}
	if l.pkt.Decode(l.buf[:n]) != nil || l.i.Decode(l.pkt.Fragment) != nil {
		panic("malformed")
	}
	if l.pkt.SizeHint == wire.ChunkSize && !l.manifest() {
		d := wire.Data{Name: l.i.Name, Content: l.content, SignatureType: wire.SignatureNull}
		h := wire.Packet{PitToken: l.pkt.PitToken}
		l.out = d.Append(h.AppendHeader(l.out[:0], d.Len()))
	} else {
		l.out = p.answer(parse(l.buf[:n]))
	}
	l.e.Receive(l.now, Face, machine.NotECT, l.out)
	l.events = l.e.Events(l.events)
	for i := 0; i < len(l.events); i++ {
		switch ev := l.events[i]; ev.Kind {
		case Resolved:
			l.e.Accept(l.now, ev.ID, nil)
		case Chunk:
			l.e.Settle(l.now, ev.ID, ev.Chunk, ev.Data, true)
			settled++
			l.events = l.e.Events(l.events)
		}
	}
	return settled
}

// manifest tells whether the Interest at hand is for a segment of the manifest.
func (l *loop) manifest() bool {
	object, _, _, _ := l.i.Name.SplitChunk()
	_, ok := object.At(object.Len() - 1)
	c, _ := object.At(object.Len() - 1)
	return ok && c.Type == wire.TypeKeyword
}

// BenchmarkChunk is what one chunk costs the engine: Interest, Data, hand-out and settling, without hashing. The share of
// the test itself is that of decoding the Interest and encoding the Data, about 0.4 µs.
func BenchmarkChunk(b *testing.B) {
	for _, transfers := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d transfers", transfers), func(b *testing.B) {
			var p producer
			l := &loop{e: New(Config{Src: source}), content: make([]byte, wire.ChunkSize)}
			start := func(i int) {
				l.e.Start(l.now, Request{Name: p.objects[i].name})
			}
			p.objects = namesakes(transfers, 16_000_000)
			for i := range transfers {
				start(i)
			}
			next := 0
			b.ReportAllocs()
			b.SetBytes(wire.ChunkSize)
			b.ResetTimer()
			for n := 0; n < b.N; {
				n += l.turn(&p)
				for id := range l.over() {
					l.e.Cancel(l.now, id)
					start(next % transfers)
					next++
				}
			}
		})
	}
}

// namesakes are objects of the same bytes.
func namesakes(n, size int) (list []*object) {
	first := newObject("/s/o", size, 0, 1)
	for i := range n {
		o := *first
		o.name = wire.MustParseName(fmt.Sprintf("/s/o%d", i))
		list = append(list, &o)
	}
	return list
}

// over is the transfers that ended in the last turn.
func (l *loop) over() func(func(ID) bool) {
	return func(yield func(ID) bool) {
		for _, ev := range l.events {
			if (ev.Kind == Done || ev.Kind == Failed) && !yield(ev.ID) {
				return
			}
		}
	}
}

// BenchmarkSmallObject is what an object of one chunk costs, from its name to its end, when a thousand are fetched at
// once.
func BenchmarkSmallObject(b *testing.B) {
	o := newObject("/s/o", 100, 0, 1)
	p := producer{objects: []*object{o}}
	l := &loop{e: New(Config{Src: source})}
	for range 1000 {
		l.e.Start(0, Request{Name: o.name})
	}
	b.ReportAllocs()
	for n := 0; n < b.N; {
		l.turn(&p)
		for id := range l.over() {
			l.e.Cancel(l.now, id)
			l.e.Start(l.now, Request{Name: o.name})
			n++
		}
	}
}

// BenchmarkIdleTurn is what the engine costs a node that turns for other reasons, with a thousand transfers under way.
func BenchmarkIdleTurn(b *testing.B) {
	var p producer
	l := &loop{e: New(Config{Src: source}), content: make([]byte, wire.ChunkSize)}
	p.objects = namesakes(1000, 2_000_000)
	for i, o := range p.objects {
		o.name = wire.MustParseName(fmt.Sprintf("/s%d/o%d", i%10, i))
		o.dest = o.name.Prefix(1)
		l.e.Start(0, Request{Name: p.objects[i].name})
	}
	for range 50_000 {
		l.turn(&p)
	}
	for {
		if n, _ := l.e.Transmit(l.now, Face, l.buf[:]); n == 0 {
			break
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l.e.Advance(l.now)
		if n, _ := l.e.Transmit(l.now, Face, l.buf[:]); n != 0 || l.e.Deadline() <= l.now {
			b.Fatal("not idle")
		}
	}
}
