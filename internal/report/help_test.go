package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mars/internal/scenario"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (look at it, then run with -update):\n%s", name, diff)
	}
}

// sample is a result of two points, two systems and two seeds of two flows; with unfinished flows if so asked.
func sample(unfinished bool) *scenario.Result {
	r := &scenario.Result{
		SchemaVersion: scenario.SchemaVersion, Scenario: "sample", Title: "Two flows <over> two paths",
		Manifest: scenario.Manifest{Runner: "sim", Version: "v1", ScenarioHash: "abc", FirstSeed: 1, Seeds: 2, GOOS: "linux", GOARCH: "amd64", Notes: []string{"[R] a note"}},
	}
	for i, loss := range []float64{0, 0.01} {
		p := scenario.Point{
			Params: map[string]float64{"loss": loss},
			Bounds: scenario.Bounds{MaxT95: 3, PayloadT95: []float64{3, 3}, PayloadT100: []float64{3.2, 3.2}},
			Paper:  []scenario.PaperValue{{System: "MARS-paper", Metric: "max_t95_s", Value: 4.5, Source: "§V"}},
		}
		for j, name := range []string{"MARS-paper", "best-route"} {
			s := scenario.System{Name: name, Wire: scenario.WireBound{MaxT95: 3.5, MaxT100: 3.7, BytesPerByte: 1.08}}
			for seed := range 2 {
				s.Runs = append(s.Runs, sampleRun(seed, 4+float64(6*j)+float64(i)+0.1*float64(seed), unfinished && j == 1))
			}
			s.Summary = sampleSummary(s.Runs)
			p.Systems = append(p.Systems, s)
		}
		r.Points = append(r.Points, p)
	}
	return r
}

func sampleRun(seed int, t float64, unfinished bool) scenario.Run {
	r := scenario.Run{Seed: uint64(seed + 1), Values: map[string]float64{}}
	for k := range 2 {
		f := scenario.FlowResult{
			Name: fmt.Sprintf("c%d-p", k), T95: t - 0.5*float64(k), T95AfterDiscovery: t - 0.1, T100: t + 0.3, Goodput: 10 - float64(k), Paths: 2, DiscoveryMS: 100,
			SeriesStep: 1, Series: []float64{2, 10, 11, 9 + float64(k)},
			Graph: []scenario.Hop{
				{From: "c", To: "a", State: "acked", Used: true},
				{From: "c", To: "b", State: "acked", Tier: 1, Used: true},
				{From: "a", To: "p", State: "route", Used: true},
				{From: "b", To: "a", State: "route", Used: true},
				{From: "b", To: "p", State: "dead", Why: "no answer"},
			},
		}
		if unfinished && k == 0 {
			f.T95, f.T95AfterDiscovery, f.T100, f.Goodput = -1, -1, -1, 0
		}
		r.Flows = append(r.Flows, f)
	}
	for _, m := range scenario.Metrics() {
		r.Values[m.Name] = t / 10
	}
	r.Values["jain"] = 1 - t/1000
	r.Values["max_t95_s"], r.Values["bound_ratio"] = t, t/3.5
	if unfinished {
		r.Values["max_t95_s"], r.Values["bound_ratio"] = -1, -1
	}
	return r
}

// sampleSummary takes the first run for the median and both for the interval.
func sampleSummary(runs []scenario.Run) (s scenario.Summary) {
	e := func(metric string) scenario.Estimate {
		return scenario.Estimate{Median: runs[0].Values[metric], CI95: [2]float64{runs[0].Values[metric], runs[1].Values[metric]}}
	}
	s = scenario.Summary{
		MaxT95: e("max_t95_s"), MaxT95AfterDiscovery: e("max_t95_after_discovery_s"), MedianT95: e("median_t95_s"), MinT95: e("min_t95_s"),
		MaxT100: e("max_t100_s"), Tail: e("tail_s"), TailShare: e("tail_share"), Jain: e("jain"), MinJain: e("jain_min"), Overhead: e("overhead"),
		RetransmitRatio: e("retransmit_ratio"), Paths: e("paths"), DiscoveryMS: e("discovery_ms"), DiscoveryShare: e("discovery_share"),
		BoundRatio: e("bound_ratio"), Flows: 4,
	}
	if runs[0].Values["max_t95_s"] == -1 {
		s.Unfinished = 2
	}
	return s
}
