package bound

import (
	"errors"
	"testing"
	"time"

	"mars/internal/scenario"
)

func TestCheck(t *testing.T) {
	w := world(t, shared+"  size: 1 MB\n") // alone 1 s, both at once 2 s
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(times ...float64) (r scenario.Run) {
		for i, t := range times {
			r.Flows = append(r.Flows, scenario.FlowResult{Name: w.Flows[i].Name, T95: 0.95 * t, T100: t})
		}
		return r
	}
	unfinished := run(1, 1.2)
	unfinished.Flows[1].T95, unfinished.Flows[1].T100 = -1, -1
	late := run(1, 1.2)
	late.Flows[0].T95 = 0.9
	for _, c := range []struct {
		name   string
		run    scenario.Run
		apart  time.Duration
		refuse bool
	}{
		{"as the fluid", run(2, 2), 0, false},
		{"slower", run(3, 2.5), 0, false},
		{"unfair, but possible", run(1, 2), 0, false},
		{"one faster than alone", run(0.9, 2.1), 0, true},
		{"95% sooner than alone", late, 0, true},
		{"both faster than together", run(1.5, 1.6), 0, true},
		{"apart", run(1.5, 1.6), time.Second, false},
		{"one that never ends", unfinished, 0, false},
	} {
		w.Flows[1].Start = c.apart
		if err := Check(w, b, c.run); errors.Is(err, ErrImpossible) != c.refuse || !c.refuse && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := Check(w, b, run(2)); err == nil || errors.Is(err, ErrImpossible) {
		t.Errorf("a flow is missing: %v", err)
	}
}
