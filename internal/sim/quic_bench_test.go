package sim

import "testing"

// BenchmarkThreeHopsQUIC is simulator.md's speed scenario with QUIC at the ends.
func BenchmarkThreeHopsQUIC(b *testing.B) {
	const flows, size = 25, 18e6
	var events int64
	for b.Loop() {
		r, err := Run(threeHops(flows, size), "QUIC", 1, Options{})
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	report(b, events, flows*size*float64(b.N))
}
