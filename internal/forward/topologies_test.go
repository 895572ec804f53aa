package forward

// paperTopology is the MARS paper's emulation topology: 5 consumers, 5 cores in full mesh, edges and producers; con_i asks a
// producer behind core_i. It returns the graph, the consumer and the producer for group i.
func paperTopology(seed uint64, mode DiscoveryMode) (g *graph, consumers []int, producer func(group int) int) {
	g = newGraph(seed, 5+5+5+5, mode) // consumers, cores, edges, producers (one per core)
	core := func(i int) int { return 5 + i }
	for c := range 5 {
		g.nodes[c].relay = false
		for k := range 5 {
			g.link(c, core(k))
		}
	}
	for a := range 5 {
		for b := range a {
			g.link(core(a), core(b))
		}
		g.link(core(a), 10+a)
		g.link(10+a, 15+a)
		g.nodes[15+a].relay = false
	}
	return g, []int{0, 1, 2, 3, 4}, func(i int) int { return 15 + i }
}

// randomGraph draws one of several kinds of connected multigraph.
func randomGraph(seed uint64, mode DiscoveryMode, most int) *graph {
	g := newGraph(seed, 0, mode)
	n := 2 + g.rng.IntN(most-1)
	for i := range n {
		g.nodes = append(g.nodes, &vertex{id: i, relay: true})
	}
	switch g.rng.IntN(6) {
	case 0: // ring
		for i := range n {
			if n > 2 || i == 0 {
				g.link(i, (i+1)%n)
			}
		}
	case 1: // full mesh, small
		for i := range min(n, 7) {
			for j := range i {
				g.link(i, j)
			}
		}
		for i := 7; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
	case 2: // grid
		w := 1
		for w*w < n {
			w++
		}
		for i := range n {
			if i%w > 0 {
				g.link(i, i-1)
			}
			if i >= w {
				g.link(i, i-w)
			}
		}
	case 3: // tree with a few extra links
		for i := 1; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
		for range n / 4 {
			g.extra()
		}
	default: // random, parallel links included
		for i := 1; i < n; i++ {
			g.link(i, g.rng.IntN(i))
		}
		for range n + g.rng.IntN(n+1) {
			g.extra()
		}
	}
	return g
}

func (g *graph) extra() {
	a, b := g.rng.IntN(len(g.nodes)), g.rng.IntN(len(g.nodes))
	if a != b && len(g.nodes[a].faces) < 12 && len(g.nodes[b].faces) < 12 {
		g.link(a, b)
	}
}
