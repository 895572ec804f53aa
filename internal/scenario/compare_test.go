package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// resultOf is a result of one system whose max T95 per seed is given; its Jain's index falls as that rises.
func resultOf(version string, first uint64, t95 ...float64) *Result {
	s := System{Name: "MARS-paper"}
	for i, t := range t95 {
		v := map[string]float64{}
		for _, m := range metrics {
			v[m] = 0.5
		}
		v["max_t95_s"], v["jain"], v["paths"] = t, -1, float64(int(t))
		if t != -1 {
			v["jain"] = 1 - t/100
		}
		s.Runs = append(s.Runs, Run{Seed: first + uint64(i), Values: v})
	}
	s.Summary.MaxT95 = estimate(t95)
	return &Result{
		SchemaVersion: SchemaVersion, Scenario: "s", Manifest: Manifest{Version: version, ScenarioHash: strings.Repeat("0", 64)},
		Points: []Point{{Params: map[string]float64{"loss": 0.01}, Systems: []System{s}}},
	}
}

func comparedMetric(t *testing.T, c *Comparison, name string) ComparedMetric {
	t.Helper()
	for _, m := range c.Points[0].Systems[0].Metrics {
		if m.Metric == name {
			return m
		}
	}
	t.Fatalf("no %s", name)
	return ComparedMetric{}
}

// TestComparePairs: seeds are pairs. Their differences all have one sign here, though the seeds differ much more than that.
func TestComparePairs(t *testing.T) {
	before := resultOf("v1", 1, 10, 20, 30, 40, 50, 60)
	after := resultOf("v2", 1, 9, 18.5, 29, 39, 49, 59.5)
	c, err := Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	m := comparedMetric(t, c, "max_t95_s")
	if m.Verdict != Better || m.Difference.Median != -1 || m.Difference.CI95[1] >= 0 || m.Pairs != 6 || m.Before.Median != 35 {
		t.Errorf("%+v", m)
	}
	if m := comparedMetric(t, c, "jain"); m.Verdict != Better || math.Abs(m.Difference.Median-0.01) > 1e-9 {
		t.Errorf("more of Jain's index is better: %+v", m)
	}
	if m := comparedMetric(t, c, "tail_s"); m.Verdict != Same {
		t.Errorf("%+v", m)
	}
	if m := comparedMetric(t, c, "paths"); m.Verdict != Changed && m.Verdict != Unclear {
		t.Errorf("paths are neither better nor worse: %+v", m)
	}
	if back, _ := Compare(after, before); comparedMetric(t, back, "max_t95_s").Verdict != Worse {
		t.Error("the other way round isn't worse")
	}
	if same, _ := Compare(before, before); comparedMetric(t, same, "max_t95_s").Verdict != Same || len(same.Warnings) > 0 {
		t.Errorf("with itself: %+v", same)
	}
}

// TestCompareCautious: no verdict with few seeds, with differences of both signs, or with what isn't known.
func TestCompareCautious(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after *Result
		pairs         int
		unknown       int
		warning       string
	}{
		{"few", resultOf("a", 1, 10, 20), resultOf("b", 1, 9, 19), 2, 0, "2 common seeds"},
		{"both signs", resultOf("a", 1, 10, 20, 30, 40, 50, 60), resultOf("b", 1, 9, 21, 29, 41, 49, 61), 6, 0, ""},
		{"unknown", resultOf("a", 1, 10, 20, 30, 40, 50, 60), resultOf("b", 1, 9, 19, -1, 39, 49, 59), 5, 1, ""},
		{"other seeds", resultOf("a", 1, 10, 20, 30, 40, 50, 60), resultOf("b", 4, 39, 49, 59, 1, 1, 1), 3, 0, "3 common seeds"},
	} {
		got, err := Compare(c.before, c.after)
		if err != nil {
			t.Fatal(err)
		}
		m := comparedMetric(t, got, "max_t95_s")
		if m.Verdict != Unclear || m.Pairs != c.pairs || m.Unknown != c.unknown {
			t.Errorf("%s: %+v", c.name, m)
		}
		if warned := fmt.Sprint(got.Warnings); c.warning == "" && len(got.Warnings) > 0 || !strings.Contains(warned, c.warning) {
			t.Errorf("%s: warnings %s", c.name, warned)
		}
	}
}

// TestCompareNothing: results of different points, systems or seeds can't be compared; another scenario is told.
func TestCompareNothing(t *testing.T) {
	a, b := resultOf("a", 1, 1, 2), resultOf("b", 3, 1, 2)
	if _, err := Compare(a, b); err == nil {
		t.Error("no seed in common")
	}
	b = resultOf("b", 1, 1, 2)
	b.Points[0].Params["loss"] = 0
	if _, err := Compare(a, b); err == nil {
		t.Error("no point in common")
	}
	b = resultOf("b", 1, 1, 2)
	b.Manifest.ScenarioHash = "another"
	if c, err := Compare(a, b); err != nil || !strings.Contains(fmt.Sprint(c.Warnings), "scenarios differ") {
		t.Errorf("%v, %v", c, err)
	}
}

// TestCompareTable: what differs has a row; what is the same is named.
func TestCompareTable(t *testing.T) {
	c, err := Compare(resultOf("v1", 1, 10, 20, 30, 40, 50, 60), resultOf("v2", 1, 9, 18.5, 29, 39, 49, 59.5))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.Table(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loss = 0.01", "-1.00 [-1.25 -0.75]", "-2.9", "better", "the same in every seed: after discovery s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	schema := compile(t, "../../docs/comparison.schema.json")
	if err := schema.Validate(instance(t, c)); err != nil {
		t.Error(err)
	}
}
