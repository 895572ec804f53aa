package lab

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mars/internal/scenario"
)

// needsLab skips a test where there can be no lab.
func needsLab(t *testing.T) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip(err)
	}
}

// pair is two hosts with a link of 20 Mbit/s and 10 ms.
func pair(change func(*scenario.Direction)) *scenario.World {
	d := scenario.Direction{Rate: 20e6, Delay: 10 * time.Millisecond, Packets: 100, Discipline: scenario.DropTail, MTU: 1500}
	if change != nil {
		change(&d)
	}
	return &scenario.World{
		Limit: time.Minute,
		Nodes: []scenario.Node{{Name: "c", Role: scenario.Consumer}, {Name: "p", Role: scenario.Producer}},
		Links: []scenario.Link{{Name: "c-p", A: 0, B: 1, AB: d, BA: d}},
		Flows: []scenario.Flow{{Name: "f", Consumer: 0, Producer: 1, Bytes: 1e6}},
	}
}

// TestNetworkCarries: packets of real programs cross an emulated link with its delay, and nothing is left when it is closed.
func TestNetworkCarries(t *testing.T) {
	needsLab(t)
	n, err := newNetwork(pair(nil), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	c, err := n.calibrate([]bool{true, true}, 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c, c.Problems)
	if c.Packets < 1500 {
		t.Errorf("only %d packets came", c.Packets)
	}
	if _, err := os.Stat("/run/netns/" + n.namespace(1)); err != nil {
		t.Error("the namespace that is to be removed isn't there")
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"/run/netns/" + n.namespace(0), "/run/netns/" + n.namespace(1), n.state.path, n.dir} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}
