package secure

import "testing"

func BenchmarkSeal(b *testing.B) {
	w := newWorld(b)
	w.dial()
	w.run(3 * w.latency)
	plain, dst := make([]byte, 1368), make([]byte, 0, 1500)
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		w.a.guard.Seal(w.now, 1, dst, plain)
	}
}

func BenchmarkReceive(b *testing.B) {
	w := newWorld(b)
	w.dial()
	w.run(3 * w.latency)
	plain, dst := make([]byte, 1368), make([]byte, 0, 1500)
	plain[0] = 1
	plain[len(plain)-1] = 1
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	var sealed [256][]byte
	for i := 0; b.Loop(); i++ {
		if i%len(sealed) == 0 {
			b.StopTimer()
			for j := range sealed {
				sealed[j] = w.a.guard.Seal(w.now, 1, nil, plain)
			}
			b.StartTimer()
		}
		if a := w.b.guard.Receive(w.now, nil, sealed[i%len(sealed)], dst); a.Plain == nil {
			b.Fatal("nothing came out")
		}
	}
}

func BenchmarkHandshake(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		w.b.guard.plain, w.b.guard.proved, w.a.guard.proved = limiter{rate: 1 << 30, burst: 1 << 20}, limiter{rate: 1 << 30, burst: 1 << 20}, limiter{rate: 1 << 30, burst: 1 << 20}
		w.dial()
		w.run(3 * w.latency)
		w.a.guard.Close(1)
	}
}
