package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mars/internal/scenario"
)

// windowedResult is of two systems that were measured over a window, at six points.
func windowedResult() *scenario.Result {
	r := &scenario.Result{SchemaVersion: 1, Scenario: "on", Title: "t", Manifest: scenario.Manifest{Runner: "sim", Seeds: 3}}
	for _, loss := range []float64{0, 0.01, 0.02} {
		for _, buffer := range []float64{1, 2, 4} {
			p := scenario.Point{Params: map[string]float64{"loss": loss, "buffer": buffer}}
			for i, name := range []string{"MPTCP-Oracle:lia", "MPTCP-Oracle:ba-mpcubic"} {
				s := scenario.System{Name: name}
				for seed := range 3 {
					x := float64(seed+i) / 10
					run := scenario.Run{Seed: uint64(seed), SimSeconds: 4, Measured: map[string]float64{"benefit": x, "jain": 1 - x, "use:B1": x}}
					if i == 1 {
						run.Measured["accuracy"] = 0.9
					}
					run.Flows = []scenario.FlowResult{{Name: "mp", Subflows: []scenario.Subflow{{Series: []float64{1, 2, 3, 4}}, {Series: []float64{4, 3, 2, 1}}}}}
					s.Runs = append(s.Runs, run)
				}
				s.Measured = scenario.Spreads(s.Runs)
				p.Systems = append(p.Systems, s)
			}
			r.Points = append(r.Points, p)
		}
	}
	return r
}

// TestWindowed: the page of flows that go on has a picture of each figure, the map and the subflows, and nothing that times objects.
func TestWindowed(t *testing.T) {
	var names []string
	for _, f := range newStudy(windowedResult()).figures() {
		names = append(names, f.name)
		for _, p := range f.panels {
			for _, m := range p.marks {
				for _, q := range m.points {
					if q.x < -1 || q.x > p.w+1 || q.y < -1 || q.y > p.h+1 {
						t.Errorf("%s: a mark at %v outside %v×%v", f.name, q, p.w, p.h)
					}
				}
			}
		}
	}
	if want := []string{"benefit", "jain", "use-B1", "accuracy", "map", "subflows"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	var b bytes.Buffer
	if err := HTML(&b, []*scenario.Result{windowedResult()}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"most benefit: ba-mpcubic (median 0.200)", "fairest: lia (median 0.900)", "0.20±0.10"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
	if strings.Contains(b.String(), "T95") {
		t.Error("the page times objects")
	}
}

func TestFloorTo(t *testing.T) {
	for _, c := range [][3]float64{{0.31, 0.1, 0.3}, {-0.31, 0.1, -0.4}, {0.5, 0.5, 0.5}, {-0.5, 0.5, -0.5}, {0, 1, 0}} {
		if got := floorTo(c[0], c[1]); abs(got-c[2]) > 1e-9 {
			t.Errorf("floorTo(%v, %v) = %v", c[0], c[1], got)
		}
	}
}
