package report

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestTicks: ticks are round, evenly spaced, within the axis, and as many as asked for or a few less; their texts say what
// they are, and differ.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := math.Pow(10, rapid.Float64Range(-4, 6).Draw(t, "width"))
		n := rapid.IntRange(2, 10).Draw(t, "n")
		lo := width * rapid.Float64Range(-1e3, 1e3).Draw(t, "lo") // nearer to each other, and floating point can't tell them apart
		hi := lo + width
		all := ticks(lo, hi, n)
		if len(all) > max(n, 5)+1 || len(all) < 2 {
			t.Fatalf("%d ticks", len(all))
		}
		for i, v := range all {
			if v < lo-width*1e-6 || v > hi+width*1e-6 {
				t.Fatalf("%v is outside of %v…%v", v, lo, hi)
			}
			if i > 1 && math.Abs((all[i]-all[i-1])-(all[1]-all[0])) > width*1e-6 {
				t.Fatalf("%v aren't evenly spaced", all)
			}
		}
		text := tickText(all)
		for i, s := range text {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || math.Abs(v-all[i]) > width*1e-3 {
				t.Fatalf("%q stands for %v", s, all[i])
			}
		}
		if len(slices.Compact(text)) != len(all) {
			t.Fatalf("%q repeats itself", text)
		}
	})
}

func TestTicksKnown(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []string
	}{
		{0, 20, []string{"0", "5", "10", "15", "20"}},
		{0, 6.2, []string{"0", "2", "4", "6"}},
		{0.98, 1, []string{"0.980", "0.985", "0.990", "0.995", "1.000"}},
		{-1, 1, []string{"-1.0", "-0.5", "0", "0.5", "1.0"}},
		{3, 3, []string{"3"}},
	} {
		if got := tickText(ticks(c.lo, c.hi, 5)); !slices.Equal(got, c.want) {
			t.Errorf("%v…%v: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}
