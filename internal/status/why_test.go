package status

import "testing"

// TestExplain: every face and path that carries nothing has a reason, and those that carry have none.
func TestExplain(t *testing.T) {
	n := Node{
		Faces: []Face{
			{ID: 1, State: Up, Dialled: true, Way: "direct", In: 1e6},
			{ID: 2, State: Up, Dialled: true, Way: "relay:1"},
			{ID: 3, State: Suspended},
			{ID: 4, State: Handshake},
			{ID: 5, State: Handshake, Errors: 1, Error: "refused"},
			{ID: 6, State: Up},
			{ID: 7, State: Up, Dialled: true},
			{ID: 8, State: Up, Dialled: true, Way: "direct"},
			{ID: 9, State: Failing, Error: "no route"},
		},
		Flows: []Flow{
			{Rate: 1e6, Paths: []Path{{Face: 1, Rate: 1e6, Used: true}, {Face: 2, Why: "longer than the hop budget"}, {Face: 6, Spare: true, Used: true}}},
			{Paths: []Path{{Face: 1, Used: true}, {Face: 2, Used: true}}},
			{Queued: 3, Paths: []Path{{Face: 8, Used: true}}},
		},
	}
	n.Explain()
	for i, want := range []string{
		"", "longer than the hop budget", "silent: probed until it answers",
		"the peer doesn't answer the handshake: it isn't there, has another key, or doesn't let this node in", "sending fails: refused",
		"the other paths carry all that is asked for", "no route leads over it", "asked, and nothing comes yet", "sending fails: no route",
	} {
		if got := n.Faces[i].Why; got != want {
			t.Errorf("face %d: %q, want %q", i+1, got, want)
		}
	}
	if got := n.Flows[1].Paths[0].Why; got != "the flow asks for nothing" {
		t.Errorf("a path of a flow at rest: %q", got)
	}
	for hops, want := range map[int]string{0: "", 1: "direct", 2: "relay:1", 4: "relay:3", 255: ""} {
		if got := Way(hops); got != want {
			t.Errorf("%d hops are %q, want %q", hops, got, want)
		}
	}
}

// TestFind: a face is found by its number, name or address.
func TestFind(t *testing.T) {
	n := Node{Faces: []Face{{ID: 3, Name: "up", Peer: "192.0.2.1:6363"}, {ID: 4, Peer: "192.0.2.2:6363"}}}
	for called, id := range map[string]uint32{"3": 3, "up": 3, "192.0.2.2:6363": 4, "": 0, "down": 0} {
		f := n.Find(called)
		if f == nil && id != 0 || f != nil && f.ID != id {
			t.Errorf("%q is %v", called, f)
		}
	}
}
