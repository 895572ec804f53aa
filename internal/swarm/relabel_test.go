package swarm

import (
	"slices"
	"testing"

	"mars/internal/scenario"
	"mars/internal/sim"
)

// TestLabels: the plan with other labels is the same network, and a run that differs is told.
func TestLabels(t *testing.T) {
	for seed := range uint64(100) {
		p := Make(seed)
		moved, named := renumbered(&p), renamed(&p)
		if slices.Equal(p.World.Nodes, moved.World.Nodes) || slices.Equal(p.World.Nodes, named.World.Nodes) {
			t.Fatalf("seed %d: its nodes are labelled as before", seed)
		}
		name := func(w *scenario.World, i int) string { return w.Nodes[i].Name }
		for i := range p.World.Links {
			was, is := &p.World.Links[i], &moved.World.Links[i]
			if name(&p.World, was.A) != name(&moved.World, is.A) || name(&p.World, was.B) != name(&moved.World, is.B) {
				t.Fatalf("seed %d: link %s joins others", seed, was.Name)
			}
		}
		if !moved.sound() || !named.sound() {
			t.Fatalf("seed %d: it isn't sound any more", seed)
		}
	}
	p := Make(1)
	v := Judge(&p, true)
	if v.Kind != sim.Fine {
		t.Fatalf("%s: %s", v.Kind, v.Why)
	}
	p.World.Flows[0].Bytes++
	if kind, why := relabelled(&p, v.Run.TraceHash); kind != Relabelled {
		t.Errorf("another plan's trace passes: %s", why)
	}
}
