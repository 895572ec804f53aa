package driver

import (
	"net/netip"
	"testing"

	"mars/internal/machine"
)

// flood sends datagrams of one size as fast as it may, with at most window of them unacknowledged: sink acknowledges
// every ackEvery-th of a face with a short one.
type flood struct {
	queues
	left, size, window int
	flying             map[machine.FaceID]int
	payload            []byte
	acked, total       int
	done               chan struct{}
}

const ackEvery = 32

func newFlood(total, size, window int) *flood {
	return &flood{
		queues: newQueues(), left: total, total: total, size: size, window: window,
		flying: map[machine.FaceID]int{}, payload: make([]byte, size), done: make(chan struct{}),
	}
}

func (f *flood) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, id := range f.faces {
		if f.left > 0 && f.flying[id] < f.window {
			dst = append(dst, id)
		}
	}
	return dst
}

func (f *flood) Transmit(_ machine.Time, id machine.FaceID, buf []byte) (int, machine.ECN) {
	if f.left == 0 || f.flying[id] >= f.window {
		return 0, machine.NotECT
	}
	f.left--
	f.flying[id]++
	return copy(buf, f.payload), machine.NotECT
}

func (f *flood) Receive(_ machine.Time, id machine.FaceID, _ machine.ECN, _ []byte) {
	f.flying[id] -= ackEvery
	if f.acked += ackEvery; f.acked == f.total {
		close(f.done)
	}
}

// sink acknowledges what it gets and forgets it.
type sink struct {
	queues
	got  map[machine.FaceID]int
	acks map[machine.FaceID]int
}

func newSink() *sink {
	return &sink{queues: newQueues(), got: map[machine.FaceID]int{}, acks: map[machine.FaceID]int{}}
}

func (s *sink) Receive(_ machine.Time, id machine.FaceID, _ machine.ECN, _ []byte) {
	if s.got[id]++; s.got[id]%ackEvery == 0 {
		s.acks[id]++
	}
}

func (s *sink) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, id := range s.faces {
		if s.acks[id] > 0 {
			dst = append(dst, id)
		}
	}
	return dst
}

func (s *sink) Transmit(_ machine.Time, id machine.FaceID, buf []byte) (int, machine.ECN) {
	if s.acks[id] == 0 {
		return 0, machine.NotECT
	}
	s.acks[id]--
	return copy(buf, "ack"), machine.NotECT
}

// opener is one way to open sockets.
type opener struct {
	name string
	open func(local, remote netip.AddrPort) (batchConn, error)
}

var openers = []opener{{"native", open}, {"portable", openPortable}}

// BenchmarkLoopback moves datagrams of 1,400 bytes between two drivers in one process; both ends count.
func BenchmarkLoopback(b *testing.B) {
	for _, kind := range openers {
		b.Run(kind.name, func(b *testing.B) {
			const size = 1400
			total := (b.N + ackEvery - 1) / ackEvery * ackEvery
			source := newFlood(total, size, 2048)
			d1, d2 := New(source, Options{}), New(newSink(), Options{})
			far, err := kind.open(loopback, netip.AddrPort{})
			if err != nil {
				b.Fatal(err)
			}
			near, err := kind.open(netip.AddrPort{}, far.localAddr())
			if err != nil {
				b.Fatal(err)
			}
			if err := d2.add(newSocket(d2, far, nil)); err != nil {
				b.Fatal(err)
			}
			if _, err := d1.dial(FaceSpec{Remote: far.localAddr()}, near); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			b.ResetTimer()
			start(b, d2)
			start(b, d1)
			await(b, "the last acknowledgement", source.done)
			b.StopTimer()
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "datagrams/s")
		})
	}
}

// BenchmarkRoundTrip passes one datagram to and fro between two drivers in one process.
func BenchmarkRoundTrip(b *testing.B) {
	c := newCounter(1, b.N, 200, 1)
	d1, d2 := New(c, Options{}), New(newEcho(), Options{})
	dial(b, d1, FaceSpec{Remote: listen(b, d2, loopback)})
	b.ResetTimer()
	start(b, d2)
	start(b, d1)
	await(b, "the last echo", c.done)
}
