package forward

import (
	"testing"

	"mars/internal/machine"
)

// TestRestartWithOtherRoutes: a node restarts and has other routes by then, so it joins the running epoch anew with a higher label, and
// goes on by a neighbour from which the old ways lead back to it: u→v (of before), v→w, w→u. Whoever uses the old hop is refused,
// no Interest goes around, and the chunk comes by another way within the same epoch.
func TestRestartWithOtherRoutes(t *testing.T) {
	const s, u, v, w, x, y, p = 0, 1, 2, 3, 4, 5, 6
	g := newGraph(3, 7, Detours)
	for _, l := range [][2]int{{s, u}, {s, w}, {u, v}, {w, u}, {v, p}, {v, w}, {w, x}, {x, y}, {y, p}} {
		g.link(l[0], l[1])
	}
	g.nodes[s].relay, g.nodes[p].relay, g.nodes[s].app = false, false, true
	g.start(p)
	toP, toW := 1, 2 // faces of v, after the one to u
	g.setLink(v, toW, false)
	g.ask(s, 1)
	g.run(400*machine.Millisecond, true)
	epoch := g.newest(s).epoch
	old := func(node, face int) *probe { return g.newest(node).find(machine.FaceID(face + 1)) }
	if hop := old(u, 1); hop.state != acked || old(w, 1).state != acked {
		t.Fatalf("u→v is %v, w→u is %v", hop.state, old(w, 1).state)
	}
	g.setLink(v, toP, false)
	g.setLink(v, toW, true)
	g.boot(g.nodes[v])
	for k := range uint64(4) {
		g.ask(s, 10+k)
	}
	g.run(50*machine.Millisecond, false)
	if g.broken != "" {
		t.Fatal(g.broken)
	}
	if g.newest(s).epoch != epoch {
		t.Fatal("a new epoch has begun already")
	}
	if d := g.newest(v); d.epoch != epoch || d.label.Hops != 4 {
		t.Errorf("v joined epoch %d with %d hops", d.epoch, d.label.Hops)
	}
	if hop := old(u, 1); hop.state != looped {
		t.Errorf("u→v is %v", hop.state)
	}
	if len(g.got) != len(g.asked) {
		t.Errorf("%d of %d chunks came", len(g.got), len(g.asked))
	}
	g.run(5*machine.Second, true)
	if g.newest(s).epoch == epoch || g.broken != "" {
		t.Errorf("no new epoch; %s", g.broken)
	}
}
