package lab

import (
	"errors"
	"slices"
	"testing"
	"time"

	"mars/internal/scenario"
)

// TestFindSystem: names say how many connections and which congestion control; what the lab doesn't have is refused.
func TestFindSystem(t *testing.T) {
	for _, c := range []struct {
		name, protocol, control string
		count                   int
	}{
		{"TCP", "tcp", "cubic", 1},
		{"TCP:bbr", "tcp", "bbr", 1},
		{"8xTCP:reno", "tcp", "reno", 8},
		{"MPTCP-Oracle:bbr", "mptcp", "bbr", 1},
		{"MPQUIC-Oracle", "mpquic", "", 1},
		{"MPQUIC-ECMP:olia", "mpquic", "olia", 1},
		{"MARS", "", "cubic", 0},
	} {
		s, err := findSystem(c.name)
		if err != nil || s.name != c.name || s.stream.Protocol != c.protocol || s.stream.Control != c.control || s.stream.Count != c.count {
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
	for _, name := range []string{"", "TCP:vegas", "MPQUIC-Oracle:vegas", "0xTCP", "axTCP", "MARS:bbr", "PCON"} {
		if _, err := findSystem(name); !errors.Is(err, ErrNothing) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range Systems() {
		if _, err := findSystem(name); err != nil {
			t.Error(err)
		}
	}
}

// diamond is a consumer and a producer with relays a, b and c: a and b between both, c behind b only.
func diamond() *scenario.World {
	d := scenario.Direction{Rate: 10e6, Packets: 100, MTU: 1500}
	w := &scenario.World{Nodes: []scenario.Node{
		{Name: "con", Role: scenario.Consumer},
		{Name: "a", Role: scenario.Relay},
		{Name: "b", Role: scenario.Relay},
		{Name: "c", Role: scenario.Relay},
		{Name: "pro", Role: scenario.Producer},
	}}
	for _, l := range [][2]int{{0, 1}, {0, 2}, {1, 4}, {2, 3}, {3, 4}, {1, 2}} {
		w.Links = append(w.Links, scenario.Link{A: l[0], B: l[1], AB: d, BA: d})
	}
	w.Flows = []scenario.Flow{{Name: "f", Consumer: 0, Producer: 4, Bytes: 1e6}}
	return w
}

// TestRoutes: the shortest route by each link of the consumer's, and distances that avoid a node.
func TestRoutes(t *testing.T) {
	w := diamond()
	if got := oracle(w, 0); len(got) != 2 || !slices.Equal(got[0], []int{0, 2}) || !slices.Equal(got[1], []int{1, 3, 4}) {
		t.Errorf("oracle: %v", got)
	}
	if got := shortest(w, 0); len(got) != 1 || !slices.Equal(got[0], []int{0, 2}) {
		t.Errorf("shortest: %v", got)
	}
	if got := hopsTo(w, 4, 1); got[2] != 2 || got[0] != 3 || got[1] != unreachable {
		t.Errorf("without a: %v", got)
	}
	w.Flows[0].Paths = [][]int{{1, 3, 4}}
	if got := oracle(w, 0); len(got) != 1 || !slices.Equal(got[0], []int{1, 3, 4}) {
		t.Errorf("given: %v", got)
	}
	if heavy := objectDirections(w); !slices.Equal(heavy, []bool{false, false, false, true, false, false, false, true, false, true, false, false}) {
		t.Errorf("directions: %v", heavy)
	}
}

// TestMeter: T95 lies between two looks, bytes are put into their steps.
func TestMeter(t *testing.T) {
	begin := time.Unix(100, 0)
	m := NewMeter(3, begin, 1000, time.Second)
	at := func(s float64) time.Time { return begin.Add(seconds(s)) }
	m.At(at(0.5), 500)
	m.At(at(1.5), 900)
	e := m.Done(at(2.5))
	if e.Flow != 3 || e.T100 != 2.5 || e.T95 != 2 {
		t.Errorf("%+v", e)
	}
	if want := []float64{500 * 8 / 1e6, 400 * 8 / 1e6, 100 * 8 / 1e6}; !slices.Equal(e.SeriesMbs, want) {
		t.Errorf("series %v, want %v", e.SeriesMbs, want)
	}
}

// TestHistogram: quantiles of a known distribution.
func TestHistogram(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("of nothing")
	}
	for i := range 100 {
		h.add(time.Duration(i) * 10 * time.Microsecond)
	}
	h.add(time.Hour)
	if got := h.quantile(0.5); got != 510*time.Microsecond {
		t.Errorf("median %v", got)
	}
	if got := h.quantile(0.999); got < 20*time.Millisecond {
		t.Errorf("the last %v", got)
	}
}
