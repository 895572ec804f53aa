package channel

import (
	"math"
	"testing"

	"mars/internal/scenario"
)

// TestBurstsLoseTheirPart: in the long run the bad state holds enter/(enter+leave) of the packets, and loses its part of them.
func TestBurstsLoseTheirPart(t *testing.T) {
	for name, c := range map[string]struct {
		b    Burst
		want float64
	}{
		"none":  {Burst{}, 0},
		"own":   {NewBurst(scenario.Loss{BurstEnter: 0.02, BurstLeave: 0.08, BurstLoss: 0.5}), 0.1},
		"fault": {FaultBurst(0.4), 0.04},
	} {
		r, lost := Stream(1, name), 0
		const n = 200_000
		for range n {
			if c.b.Loses(r) {
				lost++
			}
		}
		if got := float64(lost) / n; math.Abs(got-c.want) > 0.006 {
			t.Errorf("%s: %.4f lost, want %.4f", name, got, c.want)
		}
	}
}
