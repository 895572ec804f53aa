package sim

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestLimits: what is faster than physics allows is an error.
func TestLimits(t *testing.T) {
	w := twoWays(5_000_000) // 40 Mbit/s: a second
	p := &scenario.Point{Bounds: scenario.Bounds{Isolated: []float64{40}}}
	if err := plausible(w, p, &scenario.Run{Flows: []scenario.FlowResult{{T100: 1.01}}}); err != nil {
		t.Error(err)
	}
	if plausible(w, p, &scenario.Run{Flows: []scenario.FlowResult{{T100: 0.99}}}) == nil {
		t.Error("faster than its max-flow")
	}
}
