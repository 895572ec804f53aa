package scenario

import (
	"math"
	"testing"
	"time"
)

// twoBottlenecks has a connection with two paths, each beside a TCP; 10 Mbit/s of IP.
func twoBottlenecks() *World {
	d := Direction{Rate: 10e6, Packets: 10, MTU: 1500}
	w := &World{
		Measure: Measure{To: 40 * time.Second, Step: time.Second},
		Nodes:   []Node{{Name: "c", Role: Consumer}, {Name: "p", Role: Producer}},
		Links:   []Link{{"B1", 0, 1, d, d}, {"B2", 0, 1, d, d}},
		Flows: []Flow{
			{Name: "mp", Producer: 1, Paths: [][]int{{0}, {1}}},
			{Name: "t1", Producer: 1, Background: "cubic", Paths: [][]int{{0}}},
			{Name: "t2", Producer: 1, Background: "cubic", Paths: [][]int{{1}}},
		},
	}
	return w
}

// steady is a subflow at a rate for 40 s.
func steady(mbps float64) Subflow {
	s := Subflow{Goodput: mbps}
	for range 40 {
		s.Series = append(s.Series, mbps)
	}
	return s
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 || math.IsNaN(got) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestMeasured: hand-made shares have the benefit and the fairness that they should.
func TestMeasured(t *testing.T) {
	payload := 10 * 1448.0 / 1500
	run := func(a, b, t1, t2 float64) map[string]float64 {
		return twoBottlenecks().Measured(&Run{Flows: []FlowResult{
			{Name: "mp", Goodput: a + b, Subflows: []Subflow{steady(a), steady(b)}},
			{Name: "t1", Goodput: t1, Subflows: []Subflow{steady(t1)}},
			{Name: "t2", Goodput: t2, Subflows: []Subflow{steady(t2)}},
		}})
	}
	half := payload / 2
	v := run(half, half, half, half)
	near(t, "all of both shares", v["benefit"], 1)
	near(t, "equal", v["jain"], 1)
	near(t, "used", v["use:B1"], 0.5)
	v = run(half/2, half/2, half, half)
	near(t, "as much as one path", v["benefit"], 0)
	near(t, "half beside a whole", v["jain:B2"], 2.25/2.5)
	near(t, "nothing at all", run(0, 0, half, half)["benefit"], -1)
	v = run(3, 1, 3, 3)
	near(t, "mean of both", v["jain"], (1+16.0/20)/2)
	if _, ok := v["accuracy"]; ok {
		t.Error("accuracy without a detection")
	}
}

// TestSharedCountsAsOne: subflows of one connection behind one bottleneck are one flow there, wherever they are at the moment.
func TestSharedCountsAsOne(t *testing.T) {
	w := twoBottlenecks()
	w.Flows[0].Moves = []Move{{Path: 1, To: []int{0}, From: 20 * time.Second}}
	v := w.Measured(&Run{Flows: []FlowResult{
		{Name: "mp", Goodput: 4, Subflows: []Subflow{steady(2), steady(2)}},
		{Name: "t1", Subflows: []Subflow{steady(3)}},
		{Name: "t2", Subflows: []Subflow{steady(2)}},
	}})
	near(t, "B1: 2 and 4 beside 3", v["jain:B1"], 1)
	near(t, "B2: 2 and 0 beside 2", v["jain:B2"], 9.0/10)
}

// TestDetected: verdicts are right, late or missing as they are.
func TestDetected(t *testing.T) {
	w := twoBottlenecks()
	w.Flows[0].Moves = []Move{{Path: 1, To: []int{0}, From: 20 * time.Second}}
	apart, together := []int{0, 1}, []int{0, 0}
	run := func(all ...Detection) map[string]float64 {
		return w.Measured(&Run{Flows: []FlowResult{
			{Name: "mp", Goodput: 4, Subflows: []Subflow{steady(2), steady(2)}, Detections: all}, {Name: "t1"}, {Name: "t2"},
		}})
	}
	v := run(Detection{3, apart}, Detection{24, together})
	near(t, "accuracy", v["accuracy"], 33.0/37)
	near(t, "time", v["detection_s"], (3+4)/2.0)
	near(t, "missed", v["missed"], 0)
	v = run(Detection{3, together}, Detection{8, apart})
	near(t, "accuracy", v["accuracy"], 12.0/37)
	near(t, "time, the second never", v["detection_s"], (8+20)/2.0)
	near(t, "missed", v["missed"], 0.5)
}

func TestSpread(t *testing.T) {
	s := spread([]float64{4, 1, 3, 2, 10})
	if s.N != 5 || s.Min != 1 || s.Q1 != 2 || s.Median != 3 || s.Q3 != 4 || s.Max != 10 {
		t.Errorf("%+v", s)
	}
	near(t, "mean", s.Mean, 4)
	near(t, "SD", s.SD, math.Sqrt(50.0/4))
	if s := spread([]float64{7}); s.SD != 0 || s.Q1 != 7 || s.Max != 7 {
		t.Errorf("one value: %+v", s)
	}
}
