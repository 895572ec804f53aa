package node

import (
	"testing"

	"mars/internal/forward"
	"mars/internal/wire"
)

// TestTooManyChoices: applications can't fill the node's memory with choices; one that is there can still be changed.
func TestTooManyChoices(t *testing.T) {
	n := New(forward.Config{Seed: 1})
	c := newClient(t, n, 7)
	for k := range uint64(maxChoices - 1) { // and that of everything
		n.fw.Choose(wire.Name(nil).AppendNumber(wire.TypeGeneric, k), forward.BestRoute)
	}
	p := named("/xyz")
	p.Strategy, p.HasStrategy = marsName, true
	if r := c.command(0, "strategy-choice/set", p); r.Code != codeFull {
		t.Fatalf("%d %s", r.Code, r.Text)
	}
	p.Name = wire.Name(nil).AppendNumber(wire.TypeGeneric, 5)
	if r := c.command(0, "strategy-choice/set", p); r.Code != codeOK {
		t.Fatalf("a change: %d %s", r.Code, r.Text)
	}
	for _, choice := range n.fw.Choices(nil) {
		if choice.Prefix.Equal(p.Name) && choice.Strategy != forward.Mars {
			t.Fatal("granted and not done")
		}
	}
}
