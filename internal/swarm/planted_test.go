//go:build planted

package swarm

import (
	"testing"
	"time"

	"mars/internal/planted"
	"mars/internal/sim"
)

// The swarm must find each planted bug within most seeds, and show it with a small plan.
const (
	most       = 1000
	mostNodes  = 10
	mostFaults = 3
	shrinking  = 300 // runs
)

// TestPlanted plants the bugs, one after the other. A failure counts only if it is gone with the bug.
func TestPlanted(t *testing.T) {
	defer planted.Plant(planted.None)
	for _, bug := range planted.All() {
		t.Run(bug.String(), func(t *testing.T) {
			began := time.Now()
			f, ok := find(t, bug)
			if !ok {
				t.Fatalf("not found in %d seeds", most)
			}
			small, v := Shrink(f.Plan, f.Verdict.Kind, shrinking)
			planted.Plant(planted.None)
			w := &small.World
			switch clean := Judge(&small, false); clean.Kind {
			case sim.Fine:
			case v.Kind:
				t.Errorf("the smaller plan fails without the bug, too: %s: %s", clean.Kind, clean.Why)
			default: // the bug is what was found; making the plan smaller has found something else besides
				t.Logf("without the bug the smaller plan fails otherwise: %s: %s", clean.Kind, clean.Why)
			}
			faults := 0
			for i := range w.Faults {
				if w.Faults[i].For > 0 || w.Faults[i].Node >= 0 { // not the one that heals
					faults++
				}
			}
			if len(w.Nodes) > mostNodes || faults > mostFaults {
				t.Errorf("it takes %d nodes and %d faults", len(w.Nodes), faults)
			}
			t.Logf("seed %d, %s: %s: %s; %d nodes, %d flows, %d faults (%.1f s)",
				f.Plan.Seed, f.Plan.System, v.Kind, v.Why, len(w.Nodes), len(w.Flows), faults, time.Since(began).Seconds())
		})
	}
}

// find looks for the first seed that fails with the bug and passes without.
func find(t *testing.T, bug planted.Bug) (Failure, bool) {
	const step = 20
	for start := uint64(0); start < most; start += step {
		planted.Plant(bug)
		out := Run(t.Context(), Options{Start: start, Seeds: step})
		planted.Plant(planted.None)
		for _, f := range out.Failures {
			if Judge(&f.Plan, false).Kind == sim.Fine {
				planted.Plant(bug)
				return f, true
			}
		}
	}
	return Failure{}, false
}
