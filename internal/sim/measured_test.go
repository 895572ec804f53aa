package sim

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mars/cc"
	"mars/internal/scenario"
)

// TestControls: scenarios know the controllers that there are.
func TestControls(t *testing.T) {
	var names []string
	for _, a := range cc.Algorithms() {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, scenario.KnownControls()) {
		t.Errorf("%v, package cc has %v", scenario.KnownControls(), names)
	}
}

// shorter is a point of a study cut to a few seconds, with routes that change every second.
func shorter(t *testing.T, file string, point int) *scenario.World {
	t.Helper()
	worlds, err := load(t, file).Worlds()
	if err != nil {
		t.Fatal(err)
	}
	w := &worlds[point]
	w.Limit, w.Measure = 4*time.Second, scenario.Measure{From: time.Second, To: 4 * time.Second, Step: time.Second}
	for i := range w.Flows {
		for k := range w.Flows[i].Moves {
			w.Flows[i].Moves[k].From, w.Flows[i].Moves[k].Every = time.Second, time.Second
		}
	}
	return w
}

// TestStudyGolden: a few seconds of each study give the same bits on every machine.
func TestStudyGolden(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		study, control string
		point          int
	}{
		{"ba-mpcubic-1", "ba-mpcubic", 3},
		{"ba-mpcubic-2", "le-mpcubic", 2},
		{"ba-mpcubic-3", "ferlin-mpcubic", 3},
		{"ba-mpcubic-4", "u-mpcubic", 4},
		{"ba-mpcubic-5", "ba-mpcubic-noecn", 2},
		{"coupled-cubic", "coupled-cubic", 2},
	} {
		r, err := Run(shorter(t, "../../scenarios/"+c.study+".yaml", c.point), "MPTCP-Oracle:"+c.control, 7, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s events=%d hash=%s benefit=%.6f\n", c.study, c.control, r.Events, r.TraceHash, r.Measured["benefit"])
	}
	const file = "testdata/studies.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

// TestMovesAndStops: a subflow's packets take the other link while its route is there; a flow that stops sends nothing more; a
// background flow has its own controller and leaves what it should to the others.
func TestMovesAndStops(t *testing.T) {
	d := scenario.Direction{Rate: 10e6, Delay: 10 * time.Millisecond, Packets: 40, MTU: 1500}
	w := &scenario.World{
		Limit: 6 * time.Second, Measure: scenario.Measure{To: 6 * time.Second, Step: time.Second},
		Nodes: []scenario.Node{
			{Name: "c", Role: scenario.Consumer},
			{Name: "p", Role: scenario.Producer},
			{Name: "r1", Role: scenario.Router},
			{Name: "r2", Role: scenario.Router},
		},
		Links: []scenario.Link{
			{Name: "a1", A: 0, B: 2, AB: d, BA: d},
			{Name: "b1", A: 2, B: 1, AB: d, BA: d},
			{Name: "a2", A: 0, B: 3, AB: d, BA: d},
			{Name: "b2", A: 3, B: 1, AB: d, BA: d},
		},
		Flows: []scenario.Flow{
			{
				Name: "mp", Consumer: 0, Producer: 1, Stop: 5 * time.Second, Paths: [][]int{{0, 1}, {0, 1}},
				Moves: []scenario.Move{{Path: 1, To: []int{2, 3}, From: 2 * time.Second, Every: 2 * time.Second}},
			},
			{Name: "bg", Consumer: 0, Producer: 1, Background: "reno", Start: 3 * time.Second, Paths: [][]int{{0, 1}}},
		},
	}
	r, err := Run(w, "MPTCP-Oracle:u-mpcubic", 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mp, bg := r.Flows[0], r.Flows[1]
	if len(mp.Subflows) != 2 || len(bg.Subflows) != 1 {
		t.Fatalf("%d and %d subflows", len(mp.Subflows), len(bg.Subflows))
	}
	sum := func(s int) float64 { return mp.Subflows[0].Series[s] + mp.Subflows[1].Series[s] }
	switch a, b := sum(1), sum(3); {
	case a > 10 || a < 5:
		t.Errorf("behind one link: %v Mbit/s", a)
	case b < 1.3*a:
		t.Errorf("%v Mbit/s behind two links, %v behind one", b, a)
	}
	if sum(5) > 0.5 {
		t.Errorf("%v Mbit/s after its stop", sum(5))
	}
	if s := bg.Subflows[0].Series; s[2] != 0 || s[5] < 2*s[4] {
		t.Errorf("the background has %v", s)
	}
	if v := r.Measured; v["use:b2"] <= 0 || v["jain:b1"] <= 0 || v["benefit"] == 0 {
		t.Errorf("%v", v)
	}
}

// TestDetections: what a controller detects is told of MPTCP's subflows as of MPQUIC's paths, and only if it detects.
func TestDetections(t *testing.T) {
	for _, c := range []struct {
		system string
		study  string
		want   []int // groups in the end; nil: nothing is detected
	}{
		{"MPTCP-Oracle:ba-mpcubic", "ba-mpcubic-2", []int{0, 0}},
		{"MPQUIC-Oracle:ba-mpcubic", "ba-mpcubic-2", []int{0, 0}},
		{"MPQUIC-Oracle:ba-mpcubic", "ba-mpcubic-3", []int{0, 1, 1}},
		{"MPQUIC-Oracle:u-mpcubic", "ba-mpcubic-2", nil},
		{"MPQUIC-Oracle", "ba-mpcubic-2", nil},
	} {
		w := shorter(t, "../../scenarios/"+c.study+".yaml", 3) // 50 ms, with marks
		w.Limit, w.Measure.To = 12*time.Second, 12*time.Second
		r, err := Run(w, c.system, 1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := r.Flows[0].Detections
		switch {
		case len(all) == 0:
			if c.want != nil {
				t.Errorf("%s, %s: nothing was detected", c.system, c.study)
			}
		case !slices.Equal(all[len(all)-1].Groups, c.want):
			t.Errorf("%s, %s: groups %v, want %v", c.system, c.study, all, c.want)
		}
	}
}

// TestOnlyEndpointsGoOn: what fetches whole objects says so.
func TestOnlyEndpointsGoOn(t *testing.T) {
	w := shorter(t, "../../scenarios/ba-mpcubic-2.yaml", 0)
	if _, err := Run(w, "MARS-paper", 1, Options{}); err == nil || !strings.Contains(err.Error(), "whole objects") {
		t.Errorf("%v", err)
	}
}

// TestControlled: each endpoint system gets each controller, others none.
func TestControlled(t *testing.T) {
	got, err := controlled([]string{"MARS-paper", "TCP", "MPTCP-Oracle:lia"}, []string{"reno", "cubic"})
	if want := []string{"MARS-paper", "TCP:reno", "TCP:cubic", "MPTCP-Oracle:lia"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := controlled([]string{"TCP"}, []string{"renoo"}); err == nil {
		t.Error("a controller that there isn't was taken")
	}
}
