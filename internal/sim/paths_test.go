package sim

import (
	"testing"
)

// TestPathsOfFlows: a result that is asked for it says where requests may go: from the consumer over every core to the
// producer, and over no node twice; by routers as by best-route nodes.
func TestPathsOfFlows(t *testing.T) {
	for _, name := range []string{"MARS-paper", "MARS-IP-paper", "MARS-everywhere-paper", "best-route", "PCON"} {
		r, err := Run(emulation(0, 100_000), name, 1, Options{Graph: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Flows {
			next := map[string][]string{}
			reached := map[string]bool{}
			for _, h := range f.Graph {
				if h.Used {
					next[h.From] = append(next[h.From], h.To)
					reached[h.To] = true
				} else if h.Why == "" {
					t.Errorf("%s, %s: %s to %s isn't used, and doesn't say why", name, f.Name, h.From, h.To)
				}
			}
			w := emulation(0, 100_000)
			sf := w.Flows[0]
			for i := range w.Flows {
				if w.Flows[i].Name == f.Name {
					sf = w.Flows[i]
				}
			}
			consumer, producer := w.Nodes[sf.Consumer].Name, w.Nodes[sf.Producer].Name
			want := 5
			if name == "best-route" {
				want = 1
			}
			if len(next[consumer]) != want || !reached[producer] {
				t.Errorf("%s, %s: %d ways from the consumer, producer reached: %v", name, f.Name, len(next[consumer]), reached[producer])
			}
		}
		if r, err = Run(emulation(0, 100_000), name, 1, Options{}); err != nil || r.Flows[0].Graph != nil {
			t.Errorf("%s: a graph that nobody asked for (%v)", name, err)
		}
	}
}
