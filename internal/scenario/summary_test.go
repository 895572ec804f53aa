package scenario

import (
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// twoGroups is a World of three flows over two links each: two of group 0 and one of group 7.
func twoGroups() *World {
	return &World{
		Nodes: []Node{{Role: Consumer}, {Role: Relay}, {Role: Producer}},
		Links: []Link{{A: 0, B: 1}, {A: 2, B: 1}},
		Flows: []Flow{
			{Name: "a", Producer: 2, Bytes: 1_000_000, Group: 0},
			{Name: "b", Producer: 2, Bytes: 1_000_000, Group: 0},
			{Name: "c", Producer: 2, Bytes: 2_000_000, Group: 7},
		},
	}
}

func flowOf(name string, t95, t100, discovery float64) FlowResult {
	return FlowResult{
		Name: name, T95: t95, T95AfterDiscovery: t95 - discovery/1000, T100: t100, DiscoveryMS: discovery,
		Paths: 2, Requests: 100, Resent: 1,
	}
}

func TestSummarise(t *testing.T) {
	run := Run{LinkBytes: 8_800_000, Flows: []FlowResult{flowOf("a", 0.9, 1, 10), flowOf("b", 1.8, 2, 30), flowOf("c", 2.7, 4, 20)}}
	got := Summarise(twoGroups(), WireBound{MaxT95: 1.8}, []Run{run, run, run})
	one := func(x float64) Estimate { return Estimate{x, [2]float64{x, x}} }
	want := Summary{
		MaxT95: one(2.7), MaxT95AfterDiscovery: one(2.68), MedianT95: one(1.8), MinT95: one(0.9), MaxT100: one(4),
		Tail: one(0.2), TailShare: one(0.1),
		Jain:     one(0.95), // the median of 0.9 (8 and 4 Mbit/s) and 1
		MinJain:  one(0.9),
		Overhead: one(0.1), RetransmitRatio: one(0.01), Paths: one(2),
		DiscoveryMS:    one(25), // of 30 and 20
		DiscoveryShare: one(0.01),
		BoundRatio:     one(1.5),
		Flows:          9,
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
		t.Error(diff)
	}
}

// TestUnfinished: a flow that didn't end, or that nobody reported, makes unknown what depends on it, and is counted.
func TestUnfinished(t *testing.T) {
	whole := []FlowResult{flowOf("a", 0.9, 1, 10), flowOf("b", 1.8, 2, 30), flowOf("c", 2.7, 4, 20)}
	for name, flows := range map[string][]FlowResult{
		"at the limit": {whole[0], whole[1], {Name: "c", T95: -1, T95AfterDiscovery: -1, T100: -1, DiscoveryMS: -1}},
		"not reported": whole[:2],
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := Run{Flows: whole, LinkBytes: 8e6}, Run{Flows: flows, LinkBytes: 8e6}
			s := Summarise(twoGroups(), WireBound{MaxT95: 1.8}, []Run{bad, good, bad})
			if s.Unfinished != 2 || s.Flows != 9 {
				t.Errorf("%d of %d unfinished", s.Unfinished, s.Flows)
			}
			if s.MaxT95 != (Estimate{-1, [2]float64{2.7, -1}}) || s.MaxT100.Median != -1 || s.Overhead.Median != -1 || s.BoundRatio.Median != -1 {
				t.Errorf("%+v", s)
			}
			if s.MedianT95.Median != 1.8 || s.MinT95.Median != 0.9 {
				t.Errorf("what two of three flows decide: %+v", s)
			}
			// Group 7 is its flow alone: nobody of it has anything.
			if s.MinJain.Median != -1 {
				t.Errorf("Jain: %+v", s.MinJain)
			}
			if s = Summarise(twoGroups(), WireBound{}, []Run{good, good, bad}); s.MaxT95.Median != 2.7 || s.MaxT95.CI95[1] != -1 || s.Unfinished != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
	if s := Summarise(twoGroups(), WireBound{}, nil); s.MaxT95.Median != -1 || s.Unfinished != 0 {
		t.Errorf("without runs: %+v", s)
	}
}

// TestEstimate: the interval holds the median, lies within the values, and is the same whenever it is asked for.
func TestEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0.1, 100), 1, 20).Draw(t, "values")
		e := estimate(values)
		if e != estimate(values) {
			t.Fatal("not the same twice")
		}
		low, high := slices.Min(values), slices.Max(values)
		if e.CI95[0] > e.Median || e.Median > e.CI95[1] || e.CI95[0] < low || e.CI95[1] > high {
			t.Fatalf("%+v of %v", e, values)
		}
	})
	// Ten values: 2.5% of resampled medians lie below the third or so.
	e := estimate([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if e.Median != 5.5 || e.CI95[0] < 2 || e.CI95[0] > 4 || e.CI95[1] < 7 || e.CI95[1] > 9 {
		t.Errorf("%+v", e)
	}
}

// sampleResult is a result of two systems over the first and last points of the emulation study, with invented times.
func sampleResult(t *testing.T) *Result {
	t.Helper()
	s, err := Load("../../scenarios/mars-emulation-heterogeneous.yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{
		SchemaVersion: SchemaVersion, Scenario: s.Name, Title: s.Title,
		Manifest: Manifest{
			Runner: "sim", Version: "v0", ScenarioHash: s.Hash(), FirstSeed: 1, Seeds: 3, GOARCH: "amd64", GOOS: "linux", Notes: s.Notes,
		},
	}
	for _, i := range []int{0, len(worlds) - 1} {
		w := &worlds[i]
		p := Point{Params: w.ParamMap(), Bounds: Bounds{MaxT95: 3.47}, Paper: s.PaperAt(w)}
		for k, name := range []string{"MARS-paper", "best-route"} {
			sys := System{Name: name, Wire: WireBound{MaxT95: 3.7, MaxT100: 3.9, BytesPerByte: 1.1}}
			for seed := range 3 {
				run := Run{Seed: uint64(seed + 1), TraceHash: "0", LinkBytes: 1 << 31}
				for j, f := range w.Flows {
					slow := float64((5*k + 1)) * (4 + float64(j%5)/10 + float64(seed*(i+1))/20)
					run.Flows = append(run.Flows, FlowResult{
						Name: f.Name, Group: f.Group, T95: slow, T95AfterDiscovery: slow - 0.15, T100: slow * 1.07, Goodput: 30, Paths: 5 - 4*k,
						DiscoveryMS: 150, Requests: 3032, Resent: int64(i),
					})
				}
				if k == 1 && i > 0 && seed > 0 {
					run.Flows[3].T95, run.Flows[3].T100 = -1, -1
				}
				sys.Runs = append(sys.Runs, run)
			}
			sys.Summary = Summarise(w, sys.Wire, sys.Runs)
			p.Systems = append(p.Systems, sys)
		}
		r.Points = append(r.Points, p)
	}
	return r
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := sampleResult(t).Table(&b); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs; run go test -update and read the change:\n%s", golden, diff)
	}
}
