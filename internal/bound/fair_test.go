package bound

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"pgregory.net/rapid"

	"mars/internal/scenario"
)

// drawWorld draws a small connected World with flows between leaves of a ring with chords.
func drawWorld(t *rapid.T) *scenario.World {
	rate := rapid.SampledFrom([]float64{5e6, 10e6, 25e6, 40e6})
	relays := rapid.IntRange(2, 5).Draw(t, "relays")
	w := &scenario.World{}
	join := func(a, b int) {
		d := scenario.Direction{Rate: rate.Draw(t, "rate"), Packets: 1, MTU: 1500}
		back := d
		back.Rate = rate.Draw(t, "back")
		w.Links = append(w.Links, scenario.Link{A: a, B: b, AB: d, BA: back})
	}
	for i := range relays {
		w.Nodes = append(w.Nodes, scenario.Node{Role: scenario.Relay})
		if i > 0 {
			join(i-1, i)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "chords") {
		a := rapid.IntRange(0, relays-2).Draw(t, "a")
		join(a, rapid.IntRange(a+1, relays-1).Draw(t, "b"))
	}
	for range rapid.IntRange(1, 4).Draw(t, "flows") {
		c := len(w.Nodes)
		w.Nodes = append(w.Nodes, scenario.Node{Role: scenario.Consumer}, scenario.Node{Role: scenario.Producer})
		for end := c; end < c+2; end++ {
			for range rapid.IntRange(1, 2).Draw(t, "uplinks") {
				join(end, rapid.IntRange(0, relays-1).Draw(t, "at"))
			}
		}
		w.Flows = append(w.Flows, scenario.Flow{Consumer: c, Producer: c + 1, Bytes: rapid.Int64Range(1e5, 5e6).Draw(t, "bytes")})
	}
	return w
}

// within lists every loop-free route of fewer than stretch times the hops of the shortest, for networks small enough.
func (g *graph) within(from, to int, stretch float64) (paths [][]int) {
	hops := g.hopsTo(to)
	if hops[from] < 0 {
		return nil
	}
	longest := int(math.Ceil(float64(stretch*float64(hops[from])))) - 1
	longest = max(longest, hops[from])
	on := make([]bool, len(g.edges))
	var links []int
	var walk func(n int)
	walk = func(n int) {
		if n == to {
			paths = append(paths, slices.Clone(links))
			return
		}
		on[n] = true
		defer func() { on[n] = false }()
		for _, e := range g.edges[n] {
			// hops bounds what is left, so few walks end in nothing.
			if on[e.to] || e.to != to && !g.carries(e.to) || hops[e.to] < 0 || len(links)+1+hops[e.to] > longest {
				continue
			}
			links = append(links, e.link)
			walk(e.to)
			links = links[:len(links)-1]
		}
	}
	walk(from)
	return paths
}

// directions returns what the paths use, each once.
func directions(paths []load) (all []int) {
	for _, p := range paths {
		for _, s := range p {
			all = append(all, s.direction)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// most asks gonum for the most that flow f can get while every flow keeps its floor, in Mbit/s.
func most(w *scenario.World, n *network, floor []float64, f int) (float64, error) {
	var loads []load
	var owner []int
	for i := range w.Flows {
		for _, p := range n.g.within(w.Flows[i].Consumer, w.Flows[i].Producer, 2) {
			loads, owner = append(loads, n.load(w.Flows[i].Consumer, p)), append(owner, i)
		}
	}
	used := directions(loads)
	rows, columns := len(used)+len(floor), len(loads)+len(used)+len(floor)
	a, b, c := mat.NewDense(rows, columns, nil), make([]float64, rows), make([]float64, columns)
	for j, l := range loads {
		for _, s := range l {
			at, _ := slices.BinarySearch(used, s.direction)
			a.Set(at, j, s.bytes)
		}
		a.Set(len(used)+owner[j], j, 1)
		if owner[j] == f {
			c[j] = -1
		}
	}
	for i, d := range used {
		a.Set(i, len(loads)+i, 1)
		b[i] = n.capacity[d]
	}
	for i, r := range floor {
		a.Set(len(used)+i, len(loads)+len(used)+i, -1)
		b[len(used)+i] = r
	}
	value, _, err := lp.Simplex(c, a, b, 1e-10, nil)
	return -value, err
}

// TestMaxMin: no flow can get more without taking from one that has no more than it has. Gonum's solver is the judge.
func TestMaxMin(t *testing.T) {
	judged, lost := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		cost := Cost{Data: 1}
		if rapid.Bool().Draw(t, "wire") {
			cost = Cost{Data: 1.0625, Interest: 0.03125}
		}
		n, err := newNetwork(w, cost, true)
		if err != nil {
			t.Fatal(err)
		}
		count := make([]int, len(n.classes))
		for _, c := range n.class {
			count[c]++
		}
		rates, ok := n.rates(count, new(float64))
		if !ok {
			t.Fatal("not found")
		}
		for f := range w.Flows {
			mine := rates[n.class[f]]
			floor := make([]float64, len(w.Flows))
			for i := range floor {
				// A hair below, or the judge calls the program infeasible; Interests can make a thousand of it.
				floor[i] = max(0, min(mine, rates[n.class[i]])-1e-9)
			}
			best, err := most(w, n, floor, f)
			if err != nil {
				lost++ // it gives up on some degenerate programs
				continue
			}
			judged++
			if math.Abs(best-mine) > 1e-4 {
				t.Fatalf("flow %d has %v, and could have %v; all have %v", f, mine, best, rates)
			}
		}
	})
	if judged < 4*lost || judged == 0 {
		t.Errorf("gonum judged %d and gave up on %d", judged, lost)
	}
	t.Logf("gonum judged %d and gave up on %d", judged, lost)
}

// TestIsolated: alone, a flow with every path gets what max-flow says, and with those within the stretch no more.
func TestIsolated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Flows = w.Flows[:1]
		for _, stretch := range []float64{2, 100} {
			n, err := newNetwork(w, Cost{Data: 1, Options: Options{Stretch: stretch}}, false)
			if err != nil {
				t.Fatal(err)
			}
			rates, ok := n.rates([]int{1}, new(float64))
			if !ok {
				t.Fatal("not found")
			}
			flow := n.isolated(&w.Flows[0])
			if stretch == 100 && math.Abs(rates[0]-flow) > 1e-6 || rates[0] > flow+1e-6 {
				t.Fatalf("stretch %v: %v by program, %v by max-flow", stretch, rates[0], flow)
			}
		}
	})
}

// TestOrderDoesNotMatter: listing flows and links in another order changes no bound.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before, err := Of(w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(w.Flows)
		slices.Reverse(w.Links)
		after, err := Of(w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(after.PayloadT100)
		slices.Reverse(after.Isolated)
		for i := range before.PayloadT100 {
			if math.Abs(before.PayloadT100[i]-after.PayloadT100[i]) > 1e-6 || math.Abs(before.Isolated[i]-after.Isolated[i]) > 1e-6 {
				t.Fatalf("flow %d: %+v, reversed %+v", i, before, after)
			}
		}
	})
}

// TestNoFasterThanAlone: no bound beats a flow's max-flow, and 95% come before 100%.
func TestNoFasterThanAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		b, err := Of(w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range w.Flows {
			if alone := size(f) / b.Isolated[i]; b.PayloadT100[i] < alone-1e-9 || b.PayloadT95[i] < 0.95*alone-1e-9 || b.PayloadT95[i] >= b.PayloadT100[i] {
				t.Fatalf("flow %d: %v and %v s, alone %v s", i, b.PayloadT95[i], b.PayloadT100[i], alone)
			}
		}
	})
}
