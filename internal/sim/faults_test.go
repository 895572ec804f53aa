package sim

import (
	"testing"
	"time"

	"mars/internal/forward"
	"mars/internal/scenario"
)

// twoWays joins a consumer and a producer by two relays: links 0 and 1 by the first, 2 and 3 by the second.
func twoWays(size int64, faults ...scenario.Fault) *scenario.World {
	w := &scenario.World{Limit: 60 * time.Second, Faults: faults, Nodes: []scenario.Node{
		{Name: "con", Role: scenario.Consumer},
		{Name: "r1", Role: scenario.Relay},
		{Name: "r2", Role: scenario.Relay},
		{Name: "pro", Role: scenario.Producer},
	}}
	for _, l := range [][2]int{{0, 1}, {1, 3}, {0, 2}, {2, 3}} {
		d := scenario.Direction{Rate: 20e6, Delay: 5 * time.Millisecond, Packets: 200, MTU: 1500}
		w.Links = append(w.Links, scenario.Link{Name: w.Nodes[l[0]].Name + "-" + w.Nodes[l[1]].Name, A: l[0], B: l[1], AB: d, BA: d})
	}
	w.Flows = []scenario.Flow{{Name: "f", Consumer: 0, Producer: 3, Bytes: size}}
	return w
}

func fetched(t *testing.T, w *scenario.World, seed uint64) (*world, scenario.FlowResult) {
	t.Helper()
	s, err := findSystem("MARS-everywhere-paper")
	if err != nil {
		t.Fatal(err)
	}
	sim, err := s.build(w, seed, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sim.run(60e9)
	if err := sim.audit(); err != nil {
		t.Error(err)
	}
	return sim, sim.result(Options{}).Flows[0]
}

// TestFaults: a transfer survives every fault that leaves it one of its two ways, and the fault shows where it should.
func TestFaults(t *testing.T) {
	_, calm := fetched(t, twoWays(4_000_000), 1)
	if calm.T100 < 0 || calm.Paths != 2 {
		t.Fatalf("without a fault: %+v", calm)
	}
	for _, c := range []struct {
		name   string
		fault  scenario.Fault
		slower bool // than without
		shows  func(w *world) bool
	}{
		{"blackhole", scenario.Fault{Kind: scenario.Blackhole, Link: 0}, true, func(w *world) bool { return w.net.links[0].losses > 0 }},
		{"blackhole behind the relay", scenario.Fault{Kind: scenario.Blackhole, Link: 1}, true, func(w *world) bool { return w.net.links[2].losses > 0 }},
		{"down", scenario.Fault{Kind: scenario.LinkDown, Link: 0}, true, func(w *world) bool { return w.net.links[0].down }},
		{"excluded", scenario.Fault{Kind: scenario.Exclude, Link: 2}, true, func(w *world) bool { return !w.net.links[4].down }},
		{"slower", scenario.Fault{Kind: scenario.SetRate, Link: 0, Value: 2e6}, true, nil},
		{"faster", scenario.Fault{Kind: scenario.SetRate, Link: 0, Value: 40e6}, false, nil},
		{"farther", scenario.Fault{Kind: scenario.SetDelay, Link: 0, Value: 0.05}, true, nil},
		{"lossy", scenario.Fault{Kind: scenario.SetLoss, Link: 0, Value: 0.02}, false, func(w *world) bool { return w.net.links[0].losses+w.net.links[1].losses > 0 }},
		{"relay restarts", scenario.Fault{Kind: scenario.Restart, Node: 1}, false, nil},
		{"bursts", scenario.Fault{Kind: scenario.SetBurst, Link: 0, Value: 0.5}, false, func(w *world) bool { return w.net.links[0].losses+w.net.links[1].losses > 0 }},
		{"reordered", scenario.Fault{Kind: scenario.Reorder, Link: 0, Value: 0.02}, false, func(w *world) bool { return w.net.late.seq > 0 }},
		{"duplicated", scenario.Fault{Kind: scenario.Duplicate, Link: 0, Value: 0.02}, false, func(w *world) bool { return w.net.late.seq > 0 }},
		{"corrupted", scenario.Fault{Kind: scenario.Corrupt, Link: 0, Value: 0.02}, false, func(w *world) bool { return w.flows[0].corrupt > 0 }},
		{"smaller MTU", scenario.Fault{Kind: scenario.SetMTU, Link: 0, Value: 600}, true, func(w *world) bool { return w.net.links[1].losses > 0 }},
		{"deaf consumer", scenario.Fault{Kind: scenario.Deaf, Link: 0, Node: 0}, true, func(w *world) bool { return w.net.links[1].losses > 0 && w.net.links[0].losses == 0 }},
		{"stale feedback", scenario.Fault{Kind: scenario.Stale, Link: 0}, false, func(w *world) bool { return w.net.links[1].mischief.have }},
		{"fast clock", scenario.Fault{Kind: scenario.Skew, Node: 1, Value: 0.05}, false, func(w *world) bool { return w.net.hosts[1].local(2e9) > 2e9 }},
		{"producer restarts", scenario.Fault{Kind: scenario.Restart, Node: 3}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fault.At = 300 * time.Millisecond
			w, f := fetched(t, twoWays(4_000_000, c.fault), 1)
			switch {
			case f.T100 < 0:
				t.Errorf("it never ended: %v of %v bytes, %v", w.flows[0].received, w.flows[0].size, w.flows[0].failed)
			case c.slower && f.T100 <= calm.T100:
				t.Errorf("%.3f s, and %.3f s without the fault", f.T100, calm.T100)
			}
			if c.shows != nil && !c.shows(w) {
				t.Error("the fault didn't happen")
			}
		})
	}
}

// TestFaultEnds: after a fault that ends, the link is as it was; and one that counts from the end of discovery waits for it.
func TestFaultEnds(t *testing.T) {
	w, f := fetched(t, twoWays(8_000_000, scenario.Fault{Kind: scenario.LinkDown, Link: 0, After: "f", At: 100 * time.Millisecond, For: 300 * time.Millisecond}), 1)
	if f.T100 < 0 || w.net.links[0].down || w.net.links[1].down {
		t.Errorf("%+v, link down: %v", f, w.net.links[0].down)
	}
	if w.nodes[0].Forwarder().Dropped(forward.DropFaceDown) == 0 {
		t.Error("nothing was lost: the fault didn't happen")
	}
}

// TestConsumersDontRestart: a plan that can't be carried out is refused.
func TestConsumersDontRestart(t *testing.T) {
	if _, err := Run(twoWays(1000, scenario.Fault{Kind: scenario.Restart, Node: 0}), "MARS-everywhere-paper", 1, Options{}); err == nil {
		t.Error("a consumer was restarted")
	}
}
