package sim

import "testing"

// BenchmarkEndpoint is the speed scenario with the endpoints that MARS is compared with at the ends of its paths.
func BenchmarkEndpoint(b *testing.B) {
	for _, system := range []string{"TCP", "TCP:reno", "MPTCP-ECMP"} {
		b.Run(system, func(b *testing.B) {
			const flows, size = 25, 18e6
			w := threeHops(flows, size)
			var events int64
			b.ReportAllocs()
			for b.Loop() {
				r, err := Run(w, system, 1, Options{})
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			report(b, events, flows*size*float64(b.N))
		})
	}
}
