package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// generatorCases are topologies with what they make: nodes, links and flows, and some of the links.
var generatorCases = []struct {
	topology string
	counts   [3]int
	links    []string // name, Mbit/s from A to B, ms
}{
	{
		"  generate: core\n  core_link: {delay: 1ms}\n  core_rates: {0-1: 25 Mbit/s, 4-2: 60 Mbit/s}\n",
		[3]int{60, 85, 25},
		[]string{"con4-core0 40 5", "core0-core1 25 1", "core2-core4 60 1", "core4-edge24 40 5", "edge24-p24 40 5"},
	},
	{
		"  generate: core\n  cores: 4\n  consumers: 2\n  producers: 3\n  consumer_link: {rate: 1 Mbit/s}\n  producer_link: {delay: 7ms}\n",
		[3]int{2 + 4 + 12, 8 + 6 + 12, 6},
		[]string{"con1-core3 1 5", "core1-edge5 40 7", "core2-core3 40 5"},
	},
	{
		"  generate: parallel\n  paths: [{rate: 1 Mbit/s, hops: 1}, {rate: 2 Mbit/s, hops: 1}, {rate: 3 Mbit/s}, {rate: 4 Mbit/s, hops: 3, ab: {rate: 5 Mbit/s}}]\n",
		[3]int{5, 7, 1},
		[]string{"con-pro 1 5", "con-pro-2 2 5", "con-r2-0 3 5", "r3-1-pro 5 5"},
	},
	{"  generate: dumbbell\n  pairs: 3\n  bottleneck: {rate: 9 Mbit/s}\n", [3]int{8, 7, 3}, []string{"left-right 9 5", "con2-left 40 5", "right-pro2 40 5"}},
	{"  generate: chain\n  copies: 2\n  hops: [{delay: 1ms}, {delay: 2ms}, {delay: 3ms}]\n", [3]int{8, 6, 2}, []string{"con1-r1-0 40 1", "r1-0-r1-1 40 2", "r1-1-pro1 40 3"}},
	{"  generate: chain\n  hops: [{}]\n", [3]int{2, 1, 1}, []string{"con0-pro0 40 5"}},
	{"  generate: grid\n  rows: 2\n  columns: 3\n  pairs: 4\n  access_link: {delay: 1ms}\n", [3]int{14, 15, 4}, []string{"r0-0-r0-1 40 5", "r0-2-r1-2 40 5", "con0-r0-0 40 1", "r1-2-pro0 40 1", "con1-r0-2 40 1", "r1-0-pro1 40 1"}},
	{"  generate: random\n  relays: 12\n  extra_links: 0\n  pairs: 3\n  uplinks: 2\n", [3]int{18, 11 + 12, 3}, nil},
}

func TestGenerators(t *testing.T) {
	for _, c := range generatorCases {
		t.Run(strings.Fields(c.topology)[1], func(t *testing.T) {
			_, worlds := mustLoad(t, generated(c.topology))
			w := &worlds[0]
			sound(t, w)
			if got := [3]int{len(w.Nodes), len(w.Links), len(w.Flows)}; got != c.counts {
				t.Errorf("%v nodes, links and flows, want %v", got, c.counts)
			}
			var all []string
			for _, l := range w.Links {
				all = append(all, fmt.Sprintf("%s %g %d", l.Name, l.AB.Rate/1e6, l.AB.Delay/time.Millisecond))
			}
			for _, want := range c.links {
				if !slices.Contains(all, want) {
					t.Errorf("no %q in %q", want, all)
				}
			}
		})
	}
}

// TestEmulation holds the paper's study to what is known of it.
func TestEmulation(t *testing.T) {
	s, err := Load("../../scenarios/mars-emulation-heterogeneous.yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	w := &worlds[3]
	for i, f := range w.Flows {
		starts := []time.Duration{0, 1, 2, 1, 2}
		want := Flow{
			Name: fmt.Sprintf("con%d-p%d", i/5, i), Consumer: i / 5, Bytes: 3032 * 6016, ChunkSize: 6016, Group: i / 5,
			Start: starts[i/5] * time.Second, Producer: slices.IndexFunc(w.Nodes, func(n Node) bool { return n.Name == fmt.Sprintf("p%d", i) }),
		}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Error(diff)
		}
		if hops := newReach(w).hops(f.Consumer)[f.Producer]; hops != 3 {
			t.Errorf("%s is %d links long, want 3: it must end behind its consumer's core", f.Name, hops)
		}
	}
	lossy := 0
	rates := map[string]float64{}
	for _, l := range w.Links {
		for _, d := range []Direction{l.AB, l.BA} {
			if d.Loss.Random > 0 {
				lossy++
			}
			if d.Loss.Random > 0 && (d.Loss.Random != 0.01 || w.Nodes[l.A].Role != Consumer) {
				t.Errorf("%s loses %v", l.Name, d.Loss)
			}
			if d.Packets != 1000 {
				t.Errorf("%s: queue of %d", l.Name, d.Packets)
			}
		}
		if strings.Count(l.Name, "core") == 2 {
			rates[strings.NewReplacer("core", "", "-", "").Replace(l.Name)] = l.BA.Rate / 1e6
			if l.AB.Delay != time.Millisecond {
				t.Errorf("%s: %v", l.Name, l.AB.Delay)
			}
		}
	}
	if lossy != 50 {
		t.Errorf("%d lossy directions, want those of 25 links", lossy)
	}
	want := map[string]float64{"01": 25, "02": 40, "03": 50, "04": 60, "12": 80, "13": 25, "14": 40, "23": 50, "24": 60, "34": 80}
	if diff := cmp.Diff(want, rates); diff != "" {
		t.Error(diff)
	}
}

// TestMARSCores: the placement sweep turns one core after another into a MARS node.
func TestMARSCores(t *testing.T) {
	s, err := Load("../../scenarios/mars-placement.yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range worlds {
		var mars []string
		for _, n := range w.Nodes {
			if n.MARS {
				mars = append(mars, n.Name)
			}
		}
		var want []string
		for i := range int(w.ParamMap()["mars_cores"]) {
			want = append(want, fmt.Sprintf("core%d", i))
		}
		if !slices.Equal(mars, want) {
			t.Errorf("%v: %v", w.Params, mars)
		}
	}
}

// TestRandomGraph: the same graph_seed gives the same graph, another one another, and rates are from the list.
func TestRandomGraph(t *testing.T) {
	graph := func(more string) World {
		_, worlds := mustLoad(t, generated("  generate: random\n  relays: 20\n  extra_links: 15\n  rates: [25 Mbit/s, 80 Mbit/s]\n"+more))
		return worlds[0]
	}
	a := graph("")
	if diff := cmp.Diff(a, graph("  graph_seed: 1\n")); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(a, graph("  graph_seed: 2\n")) {
		t.Error("two seeds, one graph")
	}
	seen := map[float64]int{}
	for _, l := range a.Links {
		if a.Nodes[l.A].Role == Relay && a.Nodes[l.B].Role == Relay {
			seen[l.AB.Rate]++
		}
	}
	if len(seen) != 2 || seen[25e6] == 0 || seen[80e6] == 0 {
		t.Errorf("%v", seen)
	}
}
