package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: what a study leaves is found, and becomes a page, pictures and figures; the summary is told.
func TestReport(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("small.yaml", []byte(small))
	s.mars("sim", "run", "small.yaml", "-q", "-o", "all/one").want(t, 0)
	told := s.mars("report", "all/one")
	told.want(t, 0)
	if !strings.Contains(told.stdout, "loss 1%") || !strings.Contains(told.stdout, "report.html") {
		t.Errorf("told:\n%s", told.stdout)
	}
	if page, err := os.ReadFile(s.path("report.html")); err != nil || !strings.Contains(string(page), "MARS-paper") {
		t.Errorf("the page: %v", err)
	}
	s.mars("report", "all", "-q", "-o", "figures.csv", "--svg", "pictures").want(t, 0)
	if figures, err := os.ReadFile(s.path("figures.csv")); err != nil || !strings.Contains(string(figures), "small,loss=0.01,MARS-paper,2,max_t95_s,") {
		t.Errorf("the figures: %v\n%s", err, figures)
	}
	if pictures, _ := filepath.Glob(s.path("pictures/*.svg")); len(pictures) < 3 {
		t.Errorf("pictures: %v", pictures)
	}
	if page := s.mars("report", "all/one/result.json", "-o", "-"); !strings.HasPrefix(page.stdout, "<!DOCTYPE html>") || !strings.HasSuffix(page.stdout, "</html>\n") {
		t.Errorf("on standard output: %.80q", page.stdout)
	}
}

// TestReportMistakes: what can't be made a report of is told, with what to do.
func TestReportMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("empty/readme", nil)
	s.write("text.json", []byte("no JSON"))
	s.write("other.json", []byte(`{"name": "of something else"}`))
	s.write("hollow.json", []byte(`{"schema_version": 1, "points": [{"systems": [{"name": "MARS", "runs": [{"seed": 1}]}]}]}`))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "RESULT"},
		{[]string{"nothing"}, "mars sim run FILE -o DIR"},
		{[]string{"empty"}, "no result.json"},
		{[]string{"text.json"}, "isn't a result"},
		{[]string{"other.json"}, "schema version 0"},
		{[]string{"hollow.json"}, "no value of max_t95_s"},
		{[]string{"hollow.json", "-o", "x.pdf"}, ".html or .csv"},
	} {
		s.mars(append([]string{"report"}, c.args...)...).want(t, 2, c.want)
	}
}
