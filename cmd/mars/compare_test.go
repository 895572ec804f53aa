package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mars/internal/scenario"
)

// TestSimCompare: the same program differs from its earlier result in nothing; another network does, seed by seed. What the
// earlier result has is run without being asked for.
func TestSimCompare(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("small.yaml", []byte(small))
	s.mars("sim", "run", "small.yaml", "-q", "-o", "before", "--point", "loss=0", "--seeds", "5", "--first-seed", "7").want(t, 0)
	same := s.mars("sim", "run", "small.yaml", "-q", "--compare", "before")
	same.want(t, 0)
	if !strings.Contains(same.stdout, "the same in every seed: every metric") || strings.Contains(same.stdout, "loss = 0.01") {
		t.Errorf("the same program:\n%s", same.stdout)
	}
	s.write("small.yaml", []byte(strings.Replace(small, "delay: 1ms", "delay: 9ms", 1)))
	slower := s.mars("sim", "run", "small.yaml", "-q", "--compare", "before/result.json", "--json", "-o", "after")
	slower.want(t, 0)
	var c scenario.Comparison
	if err := json.Unmarshal([]byte(slower.stdout), &c); err != nil {
		t.Fatal(err)
	}
	m := c.Points[0].Systems[0].Metrics[0]
	if m.Metric != "max_t95_s" || m.Verdict != scenario.Worse || m.Pairs != 5 || len(c.Warnings) != 1 {
		t.Errorf("%+v, %q", m, c.Warnings)
	}
	s.mars("report", "after", "--compare", "before", "-q").want(t, 0)
	if page, err := os.ReadFile(s.path("report.html")); err != nil || !strings.Contains(string(page), "worse") || !strings.Contains(string(page), "The scenarios differ") {
		t.Errorf("the page doesn't compare (%v)", err)
	}
}

// TestSimCompareMistakes: what can't be compared is told before anything is run.
func TestSimCompareMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("small.yaml", []byte(small))
	s.write("other.yaml", []byte(strings.Replace(strings.ReplaceAll(small, "[0, 1%]", "[3%]"), "name: small", "name: other", 1)))
	s.mars("sim", "run", "small.yaml", "-q", "-o", "all/a").want(t, 0)
	s.mars("sim", "run", "other.yaml", "-q", "-o", "all/b").want(t, 0)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sim", "run", "small.yaml", "--compare", "nothing"}, "no such file"},
		{[]string{"sim", "run", "small.yaml", "--compare", "all"}, "give one"},
		{[]string{"sim", "run", "small.yaml", "--compare", "all/b"}, "no point of the sweep"},
		{[]string{"sim", "run", "small.yaml", "--compare", "all/a", "--first-seed", "40", "-q"}, "in common"},
		{[]string{"report", "all", "--compare", "all/a"}, "one RESULT"},
		{[]string{"report", "all/a", "--compare", "all/b"}, "in common"},
	} {
		s.mars(c.args...).want(t, 2, c.want)
	}
}
