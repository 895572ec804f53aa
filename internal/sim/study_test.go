package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mars/internal/bound"
	"mars/internal/scenario"
)

const smallFile = "../../scenarios/two-paths.yaml"

func load(t *testing.T, file string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func study(t *testing.T, s *scenario.Scenario, opt StudyOptions) *scenario.Result {
	t.Helper()
	r, err := Study(context.Background(), s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWorkersDontMatter: the whole result is the same with one worker and with several.
func TestWorkersDontMatter(t *testing.T) {
	s := load(t, smallFile)
	var texts []string
	for _, workers := range []int{1, 2, 5} {
		text, err := json.Marshal(study(t, s, StudyOptions{Workers: workers}))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Error("the result depends on the number of workers")
	}
}

// TestSelection: systems, seeds and points are those asked for, and what there isn't is refused.
func TestSelection(t *testing.T) {
	s := load(t, smallFile)
	r := study(t, s, StudyOptions{Systems: []string{"MARS-paper"}, Seeds: scenario.Seeds{First: 9, Count: 2}, Points: map[string]float64{"loss": 0}})
	if len(r.Points) != 1 || len(r.Points[0].Systems) != 1 || len(r.Points[0].Systems[0].Runs) != 2 || r.Points[0].Systems[0].Runs[1].Seed != 10 {
		t.Errorf("%+v", r)
	}
	for name, opt := range map[string]StudyOptions{
		"system": {Systems: []string{"MARS-papr"}}, "point": {Points: map[string]float64{"loss": 0.5}}, "parameter": {Points: map[string]float64{"los": 0}},
	} {
		if _, err := Study(context.Background(), s, opt); err == nil {
			t.Errorf("a %s that there isn't was taken", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Study(ctx, s, StudyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTracesDontChangeAnything: a traced run has the same bits, and its trace tells of packets and of the flow.
func TestTracesDontChangeAnything(t *testing.T) {
	s := load(t, smallFile)
	one := StudyOptions{Systems: []string{"MARS-paper"}, Seeds: scenario.Seeds{First: 1, Count: 1}, Points: map[string]float64{"loss": 0.01}}
	plain := study(t, s, one)
	file := filepath.Join(t.TempDir(), "trace")
	one.Traced = func(int, string, uint64) (Options, error) {
		w, err := os.Create(file)
		return Options{Trace: w, Every: 10}, err
	}
	traced := study(t, s, one)
	if a, b := plain.Points[0].Systems[0].Runs[0].TraceHash, traced.Points[0].Systems[0].Runs[0].TraceHash; a != b {
		t.Errorf("%s with a trace, %s without", b, a)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var e struct{ Ev string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events[e.Ev]++
	}
	if events["arrive"] == 0 || events["chunk"] == 0 || events["discovered"] == 0 {
		t.Errorf("%v", events)
	}
}

// TestImpossible: what is faster than physics allows is an error, not a result.
func TestImpossible(t *testing.T) {
	w := twoWays(5_000_000) // 40 Mbit/s: a second
	run := func(t100 float64) *scenario.Point {
		f := scenario.FlowResult{Name: "f", T95: 0.95 * t100, T100: t100}
		return &scenario.Point{Systems: []scenario.System{{Name: "MARS-everywhere-paper", Runs: []scenario.Run{{Flows: []scenario.FlowResult{f}}}}}}
	}
	if err := conclude(w, run(1.1)); err != nil {
		t.Error(err)
	}
	if err := conclude(w, run(0.9)); !errors.Is(err, bound.ErrImpossible) {
		t.Errorf("faster than its max-flow: %v", err)
	}
}

// TestThousandFlows: 1,000 flows over 200 nodes run, end, and need memory for what is under way only.
func TestThousandFlows(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a few seconds")
	}
	w := &scenario.World{Limit: 60e9}
	link := func(a, b int) {
		d := scenario.Direction{Rate: 200e6, Delay: 2e6, Packets: 500, MTU: 1500}
		w.Links = append(w.Links, scenario.Link{Name: fmt.Sprintf("%d-%d", a, b), A: a, B: b, AB: d, BA: d})
	}
	for i := range 200 {
		role := scenario.Relay
		switch {
		case i >= 150:
			role = scenario.Producer
		case i >= 100:
			role = scenario.Consumer
		}
		w.Nodes = append(w.Nodes, scenario.Node{Name: fmt.Sprint("n", i), Role: role})
	}
	for i := range 100 { // a ring with chords
		link(i, (i+1)%100)
		link(i, (i+17)%100)
	}
	for i := 100; i < 200; i++ {
		link(i, i-100)
		link(i, (i*7)%100)
	}
	for i := range 1000 {
		w.Flows = append(w.Flows, scenario.Flow{
			Name: fmt.Sprint("f", i), Consumer: 100 + i%50, Producer: 150 + i*31%50, Bytes: 20_000, Start: time.Duration(i) * 1e6,
		})
	}
	r, err := Run(w, "MARS-everywhere-paper", 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Flows {
		if f.T100 < 0 {
			t.Fatalf("%s never ended", f.Name)
		}
	}
}
