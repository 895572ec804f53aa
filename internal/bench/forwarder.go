package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// ForwarderOptions says what a forwarder is to forward.
type ForwarderOptions struct {
	Content int           // bytes of each Data
	MTU     int           // bytes of the largest datagram
	Cores   int           // forwarders at once, each on a thread of its own; 0: 1
	Flows   int           // 0: 16
	For     time.Duration // of the forwarder's own work
}

// Forwarder times a forwarder between two others, in this process and without sockets: Interests come from the one, Data from
// the other, and only the time in between counts.
func Forwarder(ctx context.Context, o ForwarderOptions) (ForwarderResult, error) {
	if o.Cores == 0 {
		o.Cores = 1
	}
	if o.Flows == 0 {
		o.Flows = 16
	}
	lines := make([]*line, o.Cores)
	for i := range lines {
		l, err := newLine(o, uint64(i+1))
		if err != nil {
			return ForwarderResult{}, err
		}
		lines[i] = l
	}
	var running sync.WaitGroup
	var begin sync.WaitGroup
	begin.Add(o.Cores)
	for _, l := range lines {
		running.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			l.run(ctx, o.For/8) // windows open, pools fill
			l.reset()
			begin.Done()
			begin.Wait()
			l.run(ctx, o.For)
		})
	}
	running.Wait()
	r := ForwarderResult{Content: o.Content, MTU: o.MTU, Cores: o.Cores}
	var in, out, bytes int64
	for _, l := range lines {
		if l.answered == 0 {
			return r, errors.Join(errors.New("the forwarder forwarded nothing"), ctx.Err())
		}
		r.Data += l.answered
		r.DataRate += float64(l.answered) / l.spent.Seconds()
		r.PerData += l.spent.Seconds() * 1e9 / float64(l.answered) / float64(o.Cores)
		r.Allocations += float64(l.allocations) / float64(l.answered) / float64(o.Cores)
		in, out, bytes = in+l.in, out+l.out, bytes+l.bytes
	}
	r.PacketRate, r.ContentRate = 2*r.DataRate, r.DataRate*float64(o.Content)*8
	r.DatagramsIn, r.DatagramsOut = float64(in)/float64(r.Data), float64(out)/float64(r.Data)
	r.OverheadShare = 1 - float64(r.Data)*float64(o.Content)/float64(bytes)
	return r, ctx.Err()
}

// Faces of the three forwarders of a line: the application's, the one toward the consumer, the one toward the producer.
const (
	appFace  machine.FaceID = 1 << 31
	downFace machine.FaceID = 1
	upFace   machine.FaceID = 2
)

// hopTime is the virtual time that passes while the three have their turns.
const hopTime = 50 * machine.Microsecond

// inFlight is how many Interests the consumer has under way.
const inFlight = 512

// line is consumer – forwarder – producer; that in the middle is timed.
type line struct {
	nodes [3]*forward.Forwarder
	now   machine.Time
	wires [3][3]batch // what came for a node: by its number, and by face (application, down, up)
	ready []machine.FaceID
	buf   []byte

	names   []wire.Name // of the flows' objects
	name    wire.Name
	next    uint64
	flying  int
	content []byte
	pkt     wire.Packet
	ask     wire.Interest
	out1    []byte

	spent       time.Duration
	answered    int64
	in, out     int64 // datagrams of the one in the middle
	bytes       int64 // that it sent toward the consumer
	allocations uint64
	lost        int64 // Nacks
}

// batch is datagrams back to back.
type batch struct {
	bytes []byte
	ends  []int
}

func (b *batch) add(datagram []byte) {
	b.bytes = append(b.bytes, datagram...)
	b.ends = append(b.ends, len(b.bytes))
}

func (b *batch) reset() { b.bytes, b.ends = b.bytes[:0], b.ends[:0] }

func newLine(o ForwarderOptions, seed uint64) (*line, error) {
	l := &line{buf: make([]byte, 64<<10), content: make([]byte, o.Content)}
	dest, err := wire.ParseName("/bench")
	if err != nil {
		return nil, err
	}
	object, err := wire.ParseName("/object")
	if err != nil {
		return nil, err
	}
	if o.Content < 1 || o.Content > wire.ChunkSize {
		return nil, fmt.Errorf("content of %d bytes: choose from 1 to %d", o.Content, wire.ChunkSize)
	}
	for i := range l.nodes {
		fw := forward.New(forward.Config{Seed: seed<<8 + uint64(i), ID: seed<<8 + uint64(i), Relay: true})
		l.nodes[i] = fw
		if i > 0 {
			fw.FaceUp(0, downFace, machine.Face{MTU: o.MTU})
		}
		if i < 2 {
			fw.FaceUp(0, upFace, machine.Face{MTU: o.MTU})
			fw.AddRoute(dest, forward.NextHop{Face: upFace, Hops: 2 - i})
		}
	}
	for _, i := range []int{0, 2} {
		l.nodes[i].FaceUp(0, appFace, machine.Face{Local: true, DataQueue: 4 * inFlight})
	}
	l.nodes[2].AddRoute(dest, forward.NextHop{Face: appFace})
	for f := range o.Flows {
		l.names = append(l.names, wire.AppendTransmission(nil, dest, []byte{byte(seed), byte(f), 1, 2, 3, 4, 5, 6}, object))
	}
	return l, nil
}

func (l *line) reset() {
	l.spent, l.answered, l.in, l.out, l.bytes, l.allocations = 0, 0, 0, 0, 0, 0
}

// run lets time pass until the one in the middle has worked for so long.
func (l *line) run(ctx context.Context, work time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	idle := 0
	for l.spent < work && idle < 1_000_000 {
		seen := l.answered
		for range 64 {
			l.turn()
		}
		if l.answered == seen {
			idle++
		}
		if ctx.Err() != nil {
			return
		}
	}
	runtime.ReadMemStats(&after)
	l.allocations += after.Mallocs - before.Mallocs
}

// turn gives each of the three its turn.
func (l *line) turn() {
	l.now += hopTime
	l.consume()
	l.work(0)
	l.in += int64(len(l.wires[1][1].ends) + len(l.wires[1][2].ends))
	begin := threadTime()
	l.work(1)
	l.spent += threadTime() - begin
	l.count()
	l.work(2)
	l.produce()
}

// work hands a node what came for it, and its neighbours what it has to send.
func (l *line) work(i int) {
	fw := l.nodes[i]
	for k, face := range [3]machine.FaceID{appFace, downFace, upFace} {
		b := &l.wires[i][k]
		from := 0
		for _, end := range b.ends {
			fw.Receive(l.now, face, machine.NotECT, b.bytes[from:end])
			from = end
		}
		b.reset()
	}
	if fw.Deadline() <= l.now {
		fw.Advance(l.now)
	}
	l.ready = fw.Ready(l.ready[:0])
	for _, face := range l.ready {
		var to *batch
		switch face {
		case appFace:
			to = &l.wires[i][0] // emptied above: it holds what is for the application
		case downFace:
			to = &l.wires[i-1][2]
		default:
			to = &l.wires[i+1][1]
		}
		for {
			n, _ := fw.Transmit(l.now, face, l.buf)
			if n <= 0 {
				break
			}
			to.add(l.buf[:n])
		}
	}
}

// count looks at what the one in the middle sent and got.
func (l *line) count() {
	down, up := &l.wires[0][2], &l.wires[2][1]
	l.out += int64(len(down.ends) + len(up.ends))
	l.bytes += int64(len(down.bytes))
}

// consume takes the answers that came and asks for more.
func (l *line) consume() {
	b := &l.wires[0][0]
	from := 0
	for _, end := range b.ends {
		if l.pkt.Decode(b.bytes[from:end]) == nil && l.pkt.Nack {
			l.lost++
		} else {
			l.answered++
		}
		from = end
	}
	l.flying -= len(b.ends)
	b.reset()
	for l.flying < inFlight {
		l.next++
		l.name = append(l.name[:0], l.names[int(l.next)%len(l.names)]...).AppendChunk(1, l.next)
		l.ask = wire.Interest{Name: l.name, Nonce: uint32(l.next), HasNonce: true, HopLimit: 32, HasHopLimit: true}
		l.out1 = l.ask.Append(l.out1[:0])
		token := [4]byte{byte(l.next >> 24), byte(l.next >> 16), byte(l.next >> 8), byte(l.next)}
		h := wire.Packet{PitToken: token[:], SizeHint: uint64(len(l.content))}
		head := h.AppendHeader(l.buf[:0], len(l.out1))
		l.nodes[0].Receive(l.now, appFace, machine.NotECT, append(head, l.out1...))
		l.flying++
	}
}

// produce answers the Interests that came.
func (l *line) produce() {
	b := &l.wires[2][0]
	from := 0
	for _, end := range b.ends {
		if l.pkt.Decode(b.bytes[from:end]) == nil && l.ask.Decode(l.pkt.Fragment) == nil {
			d := wire.Data{Name: l.ask.Name, Content: l.content, SignatureType: wire.SignatureNull}
			h := wire.Packet{PitToken: l.pkt.PitToken}
			l.out1 = d.Append(h.AppendHeader(l.out1[:0], d.Len()))
			l.nodes[2].Receive(l.now, appFace, machine.NotECT, l.out1)
		}
		from = end
	}
	b.reset()
}
