package forward

import (
	"fmt"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// emulation is the paper's emulation topology with its delays and all 25 producers, five behind each core: links of 5 ms, 1 ms
// between cores. Only links between consumers and cores lose packets, in both directions.
func emulation(seed uint64, loss float64) (g *graph, prefix func(group, k int) wire.Name) {
	g = newGraph(seed, 5+5+5+25, Detours)
	g.loss = loss
	core := func(i int) int { return 5 + i }
	join := func(a, b int, delay machine.Time, lossless bool) {
		g.link(a, b)
		for _, v := range [2]int{a, b} {
			e := &g.nodes[v].faces[len(g.nodes[v].faces)-1]
			e.delay, e.lossless = delay, lossless
		}
	}
	for c := range 5 {
		g.nodes[c].relay = false
		for k := range 5 {
			join(c, core(k), 5*machine.Millisecond, false)
		}
		for a := range c {
			join(core(a), core(c), machine.Millisecond, true)
		}
		join(core(c), 10+c, 5*machine.Millisecond, true)
		for k := range 5 {
			g.nodes[15+5*c+k].relay = false
			join(10+c, 15+5*c+k, 5*machine.Millisecond, true)
		}
	}
	prefix = func(group, k int) wire.Name { return wire.MustParseName(fmt.Sprintf("/p%d-%d", group, k)) }
	g.start()
	for group := range 5 {
		for k := range 5 {
			g.dest, g.producers = prefix(group, k), []int{15 + 5*group + k}
			g.distances()
			for _, v := range g.nodes {
				g.route(v)
			}
			g.nodes[g.producers[0]].fw.AddRoute(g.dest, NextHop{Face: appOf})
		}
	}
	return g, prefix
}

// groupTime is how long the flows of one consumer's group take from their first Interests until each has five acknowledged
// faces, each of which leads over one core hop or none.
func groupTime(g *graph, prefix func(group, k int) wire.Name, group int) (took machine.Time) {
	begin := g.now
	var waiting []*flow
	for k := range 5 {
		g.dest, g.sources = prefix(group, k), nil
		g.ask(group, 1)
		waiting = append(waiting, g.flowAt(g.nodes[group], group))
	}
	for len(waiting) > 0 && g.step(begin+5*machine.Second) {
		waiting = slices.DeleteFunc(waiting, func(f *flow) bool {
			n := 0
			for i := range f.epochs[0].probes {
				if f.epochs[0].probes[i].state == acked {
					n++
				}
			}
			return n == 5
		})
	}
	return g.now - begin
}

// TestDiscoveryTime measures discovery on the paper's emulation topology, in round trips of the shortest path (30 ms): median
// over groups and seeds of the slowest flow of a group. In virtual time, so it is exact.
func TestDiscoveryTime(t *testing.T) {
	const rtt = 30 * machine.Millisecond
	seeds := 20
	if testing.Short() || raceEnabled {
		seeds = 3
	}
	for _, c := range []struct{ loss, most float64 }{{0, 4}, {0.01, 6}} {
		var times []float64
		probes, largest := 0, 0
		for seed := range uint64(seeds) {
			g, prefix := emulation(seed, c.loss)
			for group := range 5 {
				times = append(times, groupTime(g, prefix, group).Seconds()/rtt.Seconds())
			}
			probes += g.probes
			largest = max(largest, g.largest)
		}
		slices.Sort(times)
		median := times[len(times)/2]
		t.Logf("%g loss: median %.2f RTT, 90%% %.2f, worst %.2f; %d probe hops per flow; largest packet %d bytes",
			c.loss, median, times[len(times)*9/10], times[len(times)-1], probes/seeds/25, largest)
		if median > c.most || largest > 150 {
			t.Errorf("wanted at most %g RTT and 150 bytes", c.most)
		}
	}
}
