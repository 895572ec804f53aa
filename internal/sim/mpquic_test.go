package sim

import (
	"strings"
	"testing"
)

// TestMPQUICSystems: with mp-quic's controllers or a named one objects arrive, over every path that the exposure gives; the name of a
// controller ends the note on mp-quic's.
func TestMPQUICSystems(t *testing.T) {
	done := make(map[string]float64)
	for _, c := range []struct {
		name  string
		paths int
		note  bool
	}{
		{"QUIC", 1, false},
		{"QUIC:bbr", 1, false},
		{"MPQUIC-ECMP", 1, true},
		{"MPQUIC-Oracle", 5, true},
		{"MPQUIC-Oracle:cubic", 5, false},
		{"MPQUIC-Oracle:ferlin-mpcubic", 5, false},
	} {
		r, err := Run(emulation(0, 2_000_000), c.name, 3, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Flows {
			if f.T100 <= 0 || f.Paths != c.paths {
				t.Fatalf("%s: a flow over %d paths took %v", c.name, f.Paths, f.T100)
			}
			done[c.name] = max(done[c.name], float64(f.T100))
		}
		if note := strings.Contains(Note(c.name), "mp-quic:"); note != c.note {
			t.Errorf("%s: %q", c.name, Note(c.name))
		}
	}
	if done["MPQUIC-Oracle:cubic"] > 0.5*done["QUIC"] {
		t.Errorf("five paths gain too little: %v", done)
	}
}
