package sim

import (
	"testing"

	"mars/internal/scenario"
)

// TestSystems: every system finishes every flow of the emulation, and what arrives is right.
func TestSystems(t *testing.T) {
	for _, name := range Systems() {
		t.Run(name, func(t *testing.T) {
			r, err := Run(emulation(0, 1_000_000), name, 1, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Flows {
				if f.T100 < 0 || f.T95 < 0 || f.T95 > f.T100 || f.Corrupt > 0 {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestRepeats: the same seed gives the same bits, another seed others.
func TestRepeats(t *testing.T) {
	run := func(seed uint64) scenario.Run {
		r, err := Run(emulation(0.01, 300_000), "MARS-paper", seed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b, c := run(1), run(1), run(2)
	if a.TraceHash != b.TraceHash {
		t.Errorf("seed 1 gave %s and %s", a.TraceHash, b.TraceHash)
	}
	if a.TraceHash == c.TraceHash {
		t.Error("seed 2 gave what seed 1 gave")
	}
}
