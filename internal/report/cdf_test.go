package report

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCDF: a distribution rises from left to right, and ends at the share of flows that have a time.
func TestCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 2, 2.5, 3, 7}), 1, 40).Draw(t, "values")
		missing := rapid.IntRange(0, 5).Draw(t, "missing")
		slices.Sort(values)
		n := len(values) + missing
		steps := cdf(values, n)
		for i, p := range steps {
			if i > 0 && (p.x <= steps[i-1].x || p.y <= steps[i-1].y) {
				t.Fatalf("%v after %v", p, steps[i-1])
			}
			below := 0
			for _, v := range values {
				if v <= p.x {
					below++
				}
			}
			if p.y != float64(below)/float64(n) {
				t.Fatalf("%v: %d of %d are no greater", p, below, n)
			}
		}
		if end := steps[len(steps)-1]; end.y != float64(len(values))/float64(n) {
			t.Fatalf("ends at %v", end)
		}
	})
}

// TestCDFUnfinished: flows that never ended keep the curve from 100%, and are told.
func TestCDFUnfinished(t *testing.T) {
	f := newStudy(sample(true)).cdfs(95)
	if want := "2 not at all"; !contains(f.panels[0].desc, want) {
		t.Errorf("no %q in %q", want, f.panels[0].desc)
	}
}
