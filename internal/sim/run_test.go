package sim

import (
	"testing"
	"time"
)

func TestEmulation(t *testing.T) {
	for _, sys := range []string{"MARS-paper", "MARS-IP-paper", "MARS-ENDPOINT-paper", "MARS-everywhere-paper"} {
		for _, loss := range []float64{0, 0.01} {
			began := time.Now()
			r, err := Run(emulation(loss, 18_240_000), sys, 1, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var worst, after, best, disc, t100, tail float64
			best = 1e9
			paths, resent := 0, int64(0)
			for _, f := range r.Flows {
				worst, after, best = max(worst, f.T95), max(after, f.T95AfterDiscovery), min(best, f.T95)
				t100 = max(t100, f.T100)
				tail += (f.T100 - f.T95) / f.T100 / 25
				disc = max(disc, f.DiscoveryMS)
				paths += f.Paths
				resent += f.Resent
			}
			t.Logf("%s %v: T95 %.2f..%.2f after %.2f T100 %.2f tail %.3f disc %.0f paths %d resent %d drops %d losses %d events %d wall %v", sys, loss, best, worst, after, t100, tail, disc, paths, resent, r.LinkDrops, r.LinkLosses, r.Events, time.Since(began))
		}
	}
}
