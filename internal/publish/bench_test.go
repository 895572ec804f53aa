package publish

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// BenchmarkChunk is what one chunk costs the engine, without reading it from anywhere. For a plain name that is mostly its
// digest.
func BenchmarkChunk(b *testing.B) {
	f := newFixture("/site/data/object", 8_000_000, 0, 1)
	for _, c := range []struct {
		name string
		of   func(uint64) wire.Name
	}{
		{"dt", func(i uint64) wire.Name { return f.dt("", f.version(), i) }},
		{"plain", func(i uint64) wire.Name { return f.name("", f.version(), i) }},
		{"manifest", func(uint64) wire.Name { return f.dt("32=manifest", f.version(), 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := New(Config{Prefix: site})
			e.objects[key{string(f.o.Name), f.version()}] = f.o
			var interests [1000][]byte
			for i := range interests {
				h := wire.Packet{PitToken: []byte{1, 2, 3, 4, 5, 6}, SizeHint: wire.ChunkSize}
				in := wire.Interest{Name: c.of(uint64(i)), Nonce: 1, HasNonce: true}
				h.Fragment = in.Append(nil)
				interests[i] = h.Append(nil)
			}
			var requests []Request
			var buf [wire.MaxPacket + 512]byte
			spare := [][]byte{make([]byte, wire.ChunkSize)}
			b.SetBytes(wire.ChunkSize)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				now := machine.Time(n)
				e.Receive(now, Face, machine.NotECT, interests[n%len(interests)])
				requests = e.Requests(requests[:0])
				for _, r := range requests {
					last := len(spare) - 1
					e.Read(now, r.ID, spare[last], nil)
					spare = spare[:last]
				}
				if size, _ := e.Transmit(now, Face, buf[:]); size < wire.ChunkSize {
					b.Fatal(size)
				}
				spare = e.Spent(spare)
			}
		})
	}
}
