package bound

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mars/internal/scenario"
)

// world loads a scenario from text and returns its first point.
func world(t *testing.T, text string) *scenario.World {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	text = "name: s\ntitle: t\nsystems: [MARS]\nlimit: 60s\n" + text
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	return &worlds[0]
}

const shared = `
topology:
  generate: dumbbell
  pairs: 2
  link: {rate: 100 Mbit/s, delay: 1ms, queue: 10 packets}
  bottleneck: {rate: 8 Mbit/s}
workload:
`

func near(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

// TestSharedLink: 1 MB/s. The first flow has it alone for a second, then shares it until it has its 2 MB.
func TestSharedLink(t *testing.T) {
	w := world(t, shared+"  size: 2 MB\n")
	w.Flows[1].Start = time.Second
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Flow 0: 1 MB by 1 s, the other by 3 s. Flow 1: 1 MB by 3 s, the other alone by 4 s, which is 3 s from its start.
	near(t, "T100", b.PayloadT100, 3, 3)
	near(t, "T95", b.PayloadT95, 2.8, 2.9)
	near(t, "max", []float64{b.MaxT95}, 2.9)
	near(t, "alone", b.Isolated, 8, 8)
}

// TestIdleGap: nothing runs between two flows.
func TestIdleGap(t *testing.T) {
	w := world(t, shared+"  size: 1 MB\n")
	w.Flows[1].Start = 5 * time.Second
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "T100", b.PayloadT100, 1, 1)
}

// TestUnequalPaths: a flow splits over both paths; a second one that has only the larger takes that from it.
func TestUnequalPaths(t *testing.T) {
	w := world(t, `
topology:
  link: {rate: 80 Mbit/s, delay: 1ms, queue: 10 packets}
  nodes: [{name: c, role: consumer}, {name: d, role: consumer}, {name: a, role: relay}, {name: b, role: relay},
    {name: p, role: producer}, {name: q, role: producer}]
  links:
    - {between: [c, a]}
    - {between: [c, b], ba: {rate: 8 Mbit/s}}
    - {between: [d, a]}
    - {between: [a, p], ba: {rate: 24 Mbit/s}}
    - {between: [b, p]}
workload: {size: 1 MB, flows: [{consumer: c, producer: p}, {consumer: d, producer: p}]}
`)
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "alone", b.Isolated, 32, 24)
	near(t, "T100", b.PayloadT100, 0.5, 0.5) // 16 each: c has 8 over b and 8 over a, d has 16 over a
	if b, err = Of(w, Options{Paths: 1}); err != nil {
		t.Fatal(err)
	}
	near(t, "T100 of one path", b.PayloadT100, 8.0/12, 8.0/12)
	w.Flows[0].Paths = [][]int{{1, 4}}
	if b, err = Of(w, Options{Paths: 1}); err != nil {
		t.Fatal(err)
	}
	near(t, "T100 of the named path", b.PayloadT100, 1, 1.0/3)
}

// TestWire: Data are charged where they go, Interests where they come from, and loss is taken off.
func TestWire(t *testing.T) {
	w := world(t, `
topology:
  generate: chain
  link: {rate: 8 Mbit/s, delay: 1ms, queue: 10 packets}
  hops: [{loss: 10%}, {}]
workload: {size: 1 MB}
`)
	for _, c := range []struct {
		cost Cost
		want float64 // T100
	}{
		{Cost{Data: 1}, 1 / 0.9},
		{Cost{Data: 1.08, Interest: 0.02}, 1.08 / 0.9},
		{Cost{Data: 1, Interest: 4}, 4 / 0.9},
	} {
		b, err := Wire(w, c.cost)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprint(c.cost), []float64{b.MaxT100, b.MaxT95, b.BytesPerByte}, c.want, 0.95*c.want, c.cost.Data+c.cost.Interest)
	}
	w.Links[1].AB.Loss, w.Links[1].BA.Loss = scenario.Loss{}, scenario.Loss{Random: 0.5, BurstEnter: 0.1, BurstLeave: 0.3, BurstLoss: 0.8}
	b, err := Wire(w, Cost{Data: 1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bursts", []float64{b.MaxT100}, 1/(0.5*0.8)) // a quarter of the time four fifths are lost
	w.Links[1].BA.Loss.Random = 1
	if b, err = Wire(w, Cost{Data: 1}); err != nil || b.MaxT95 != -1 || b.MaxT100 != -1 {
		t.Errorf("a link that loses all: %+v, %v", b, err)
	}
}

// TestFaultsThatHelp: a rate that a fault raises, or a loss that it lowers, counts from the start, or the bound would be none.
func TestFaultsThatHelp(t *testing.T) {
	w := world(t, shared+"  size: 1 MB\n")
	w.Flows = w.Flows[:1]
	w.Faults = []scenario.Fault{{Kind: scenario.SetRate, Link: 0, Value: 16e6}, {Kind: scenario.SetRate, Link: 1, Value: 1e6}}
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "T100", b.PayloadT100, 0.5)
	w.Links[0].BA.Loss.Random = 0.5
	w.Faults = []scenario.Fault{{Kind: scenario.SetLoss, Link: 0, Value: 0.2}, {Kind: scenario.SetLoss, Link: 0, Value: 0.9}}
	wire, err := Wire(w, Cost{Data: 1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "T100 of the least loss", []float64{wire.MaxT100}, 1/0.8)
}

// TestPaths: the shortest first, then by delay, then by index; never through others' ends.
func TestPaths(t *testing.T) {
	w := point(t, "mars-emulation-heterogeneous")
	for _, c := range []struct {
		flow string
		want []string // the links from the consumer, to core 1
	}{
		{"con0-p0", []string{"con0-core0", "con0-core1 core0-core1", "con0-core2 core0-core2", "con0-core3 core0-core3", "con0-core4 core0-core4"}},
		{"con4-p24", []string{"con4-core4", "con4-core0 core0-core4", "con4-core1 core1-core4", "con4-core2 core2-core4", "con4-core3 core3-core4"}},
	} {
		paths := Paths(w, w.FlowIndex(c.flow), 5)
		var got []string
		for _, p := range paths {
			text := w.Links[p[0]].Name
			for _, l := range p[1 : len(p)-2] {
				text += " " + w.Links[l].Name
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.flow, got, c.want)
		}
	}
	if all := Paths(w, 0, 100); len(all) != 65 { // 1 + 4 + 4·3 + 4·3·2 + 4·3·2·1: the orders of other cores before core 0
		t.Errorf("%d loop-free paths, want 65", len(all))
	}
	within := newGraph(w).within(w.Flows[0].Consumer, w.Flows[0].Producer, 2)
	if len(within) != 17 {
		t.Errorf("%d paths within twice the hops, want 17", len(within))
	}
}

// TestDelayDecides: of two routes with as many hops the quicker one is first.
func TestDelayDecides(t *testing.T) {
	w := world(t, `
topology:
  generate: parallel
  link: {rate: 8 Mbit/s, queue: 10 packets}
  paths: [{delay: 9ms}, {delay: 5ms}, {delay: 1ms, hops: 3}]
workload: {size: 1 MB}
`)
	paths := Paths(w, 0, 9)
	if len(paths) != 3 || w.Links[paths[0][0]].Name != "con-r1-0" || w.Links[paths[1][0]].Name != "con-r0-0" {
		t.Errorf("%v", paths)
	}
	if got := Paths(w, 0, 0); got != nil {
		t.Errorf("no paths wanted: %v", got)
	}
}

// TestMillionsOfPaths: what can't be listed can be bounded.
func TestMillionsOfPaths(t *testing.T) {
	w := world(t, `
topology:
  generate: grid
  rows: 9
  columns: 9
  pairs: 4
  link: {rate: 8 Mbit/s, delay: 1ms, queue: 10 packets}
  access_link: {rate: 80 Mbit/s}
workload: {size: 1 MB}
`)
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "alone", b.Isolated, 16, 16, 16, 16) // two links leave a corner
	near(t, "T100", b.PayloadT100, 0.5, 0.5, 0.5, 0.5)
}

// TestTooMuchWork: a World that is too large has no bound rather than a wrong one, or none of its results.
func TestTooMuchWork(t *testing.T) {
	w := world(t, shared+"  size: 1 MB\n")
	n, err := newNetwork(w, Cost{Data: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]int, len(n.classes))
	for _, c := range n.class {
		count[c]++
	}
	work := float64(maxWork)
	if rates, ok := n.rates(count, &work); ok {
		t.Errorf("%v", rates)
	}
	near(t, "latest", []float64{latest([]float64{3, -1, 2})}, -1)
}

// TestTenCores holds the largest study to what a run can wait for.
func TestTenCores(t *testing.T) {
	w := point(t, "mars-sim-10core")
	b, err := Of(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "max T95", []float64{math.Round(b.MaxT95 * 100)}, 684)
}

func BenchmarkTenCores(b *testing.B) {
	s, err := scenario.Load("../../scenarios/mars-sim-10core.yaml")
	if err != nil {
		b.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		b.Fatal(err)
	}
	w := &worlds[len(worlds)-1]
	for b.Loop() {
		if _, err := Wire(w, Cost{Data: 1.06, Interest: 0.03}); err != nil {
			b.Fatal(err)
		}
	}
}
