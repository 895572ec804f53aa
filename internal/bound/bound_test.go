package bound

import (
	"fmt"
	"math"
	"testing"
	"time"

	"mars/internal/scenario"
)

// point loads a shipped scenario and returns its first point.
func point(t testing.TB, name string) *scenario.World {
	t.Helper()
	s, err := scenario.Load("../../scenarios/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	return &worlds[0]
}

// TestPaperLimits is the table of limits of the emulation study, in s, by consumer.
func TestPaperLimits(t *testing.T) {
	all := func(t95, t100 float64) [5][2]float64 {
		e := [2]float64{t95, t100}
		return [5][2]float64{e, e, e, e, e}
	}
	for _, c := range []struct {
		name, file string
		opt        Options
		together   bool // all groups start at once
		want       [5][2]float64
	}{
		{
			"five one-core-hop paths", "mars-emulation-heterogeneous",
			Options{Paths: 5},
			false,
			[5][2]float64{{3.75, 3.94}, {4.08, 4.29}, {3.47, 3.65}, {3.75, 3.94}, {3.47, 3.65}},
		},
		{
			"five paths, together", "mars-emulation-heterogeneous",
			Options{Paths: 5},
			true,
			[5][2]float64{{3.75, 3.94}, {4.08, 4.29}, {3.47, 3.65}, {3.75, 3.94}, {3.47, 3.65}},
		},
		{"detours", "mars-emulation-heterogeneous", Options{}, false, all(3.47, 3.65)},
		{"detours, together", "mars-emulation-heterogeneous", Options{}, true, all(3.47, 3.65)},
		{"homogeneous", "mars-emulation-homogeneous", Options{Paths: 5}, false, all(3.47, 3.65)},
		{"homogeneous, detours", "mars-emulation-homogeneous", Options{}, true, all(3.47, 3.65)},
		{"one path", "mars-emulation-heterogeneous", Options{Paths: 1}, false, all(17.33, 18.24)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := point(t, c.file)
			if c.together {
				for i := range w.Flows {
					w.Flows[i].Start = 0
				}
			}
			begin := time.Now()
			b, err := Of(w, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v", time.Since(begin))
			for i, f := range w.Flows {
				got := fmt.Sprintf("%.2f/%.2f", b.PayloadT95[i], b.PayloadT100[i])
				want := fmt.Sprintf("%.2f/%.2f", c.want[f.Group][0], c.want[f.Group][1])
				if got != want {
					t.Errorf("%s: %s, want %s", f.Name, got, want)
				}
				if math.Abs(b.Isolated[i]-40) > 1e-6 {
					t.Errorf("%s alone: %v Mbit/s, want 40", f.Name, b.Isolated[i])
				}
			}
		})
	}
}

// TestPaperWireLimits: 6% of headers and the loss of the consumers' links lengthen the five paths and the detours by just
// that; Interests take from the Data of groups that cross theirs.
func TestPaperWireLimits(t *testing.T) {
	s, err := scenario.Load("../../scenarios/mars-emulation-heterogeneous.yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		point         int
		data, inquire float64
		paths         int
		want          string
	}{
		{0, 1, 0, 5, "4.08/4.29"},
		{0, 1.06, 0, 5, "4.32/4.55"},
		{0, 1.06, 0, 0, "3.67/3.87"},
		{3, 1.06, 0, 0, "3.71/3.91"}, // the consumers' links lose 1%
		{0, 1.06, 0.03, 5, "4.34/4.57"},
		{0, 1.06, 0.03, 0, "3.72/3.91"},
	} {
		b, err := Wire(&worlds[c.point], Cost{Data: c.data, Interest: c.inquire, Options: Options{Paths: c.paths}})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%.2f/%.2f", b.MaxT95, b.MaxT100); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
