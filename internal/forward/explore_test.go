package forward

import (
	"hash/maphash"
	"slices"
	"testing"

	"mars/internal/wire"
)

// explorer runs discovery on one small lossless graph of real forwarders under every order in which its packets can arrive and
// its source's timer can fire. A choice is the packet that arrives next, or the timer. Forwarders can't be copied, so each
// branch runs again from the start; states that were met before aren't entered again.
type explorer struct {
	build    func() *graph
	src      int
	free     int // how often the timer may fire while packets are on their way
	seen     map[uint64]bool
	seed     maphash.Seed
	ends     int
	outcome  []uint64 // of the first end
	broken   string
	buf      []byte
	messages [][]byte
}

// longest is the most events of a run: more mean that discovery goes on for ever.
const longest = 400

// run continues g, which is where the choices in path lead, in every way.
func (x *explorer) run(g *graph, path []int, ticks int) {
	for x.broken == "" {
		n := x.choices(g, ticks)
		switch {
		case n == 0:
			x.end(g)
			return
		case len(path) > longest:
			x.broken = "no end"
			return
		}
		for c := 1; c < n; c++ {
			other, spent := x.replay(append(slices.Clone(path), c))
			if x.fresh(other, spent) {
				x.run(other, append(slices.Clone(path), c), spent)
			}
		}
		path = append(path, 0)
		ticks += x.take(g, 0)
		if !x.fresh(g, ticks) {
			return
		}
	}
}

func (x *explorer) replay(path []int) (g *graph, ticks int) {
	g = x.build()
	for _, c := range path {
		ticks += x.take(g, c)
	}
	return g, ticks
}

// choices is how many things may happen next: each packet's arrival, and the timer.
func (x *explorer) choices(g *graph, ticks int) int {
	n := len(g.inflight)
	if f := g.flowAt(g.nodes[x.src], x.src); f.epochs[0].finished == 0 && (n == 0 || ticks < x.free) {
		n++
	}
	return n
}

// take makes a choice; it returns 1 if the timer fired while packets were on their way.
func (x *explorer) take(g *graph, c int) int {
	if c < len(g.inflight) {
		m := g.inflight[c]
		g.inflight = slices.Delete(g.inflight, c, c+1)
		g.deliver(m)
		return 0
	}
	on := min(len(g.inflight), 1)
	g.now = max(g.now, g.flowAt(g.nodes[x.src], x.src).probeAt)
	g.nodes[x.src].fw.Advance(g.now)
	g.drain(x.src)
	return on
}

// fresh checks the invariants in a state, and tells whether it is new.
func (x *explorer) fresh(g *graph, ticks int) bool {
	if g.acyclic(); g.broken != "" {
		x.broken = g.broken
		return false
	}
	h := x.hash(g, ticks)
	if x.seen[h] {
		return false
	}
	x.seen[h] = true
	return true
}

// end checks that discovery has ended, and as it did in every other order.
func (x *explorer) end(g *graph) {
	x.ends++
	d := g.flowAt(g.nodes[x.src], x.src).epochs[0]
	got := reachable(g.edges(x.src, epochKey{d.boot, d.epoch}, true), x.src)
	if x.outcome == nil {
		x.outcome = got
	}
	if !slices.Equal(got, x.outcome) {
		x.broken = "the outcome depends on the order: " + difference(x.outcome, got)
	}
}

// hash is of all that decides what can happen: discovery at every node, pending Interests, packets on their way. Times, tokens
// and nonces are left out.
func (x *explorer) hash(g *graph, ticks int) uint64 {
	b := append(x.buf[:0], byte(ticks))
	for _, v := range g.nodes {
		if f := g.flowAt(v, x.src); f != nil {
			for _, d := range f.epochs {
				b = append(b, 1, byte(d.first), byte(d.index), byte(d.room), oneIf(d.finished > 0))
				for _, o := range d.done {
					b = append(b, 6, byte(o.room), byte(o.tier), oneIf(o.node), byte(o.turn))
				}
				for i := range d.probes {
					p := &d.probes[i]
					b = append(b, byte(p.state), byte(p.tries), byte(p.room), byte(p.tierConv), oneIf(p.nodeConv))
				}
			}
		}
		b = x.sorted(append(b, 2), len(v.fw.flows.pit.entries), func(b []byte, i int) []byte {
			e := v.fw.flows.pit.entries[i]
			if !e.live {
				return b
			}
			b = append(b, e.interest.Name...)
			for _, in := range e.in {
				b = append(b, 3, byte(in.face))
			}
			for _, o := range e.out {
				b = append(b, 4, byte(o.face), oneIf(o.dead))
			}
			return b
		})
	}
	x.buf = x.sorted(append(b, 5), len(g.inflight), func(b []byte, i int) []byte { return canonical(b, &g.inflight[i]) })
	return maphash.Bytes(x.seed, x.buf)
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// sorted appends n strings in order.
func (x *explorer) sorted(b []byte, n int, item func(b []byte, i int) []byte) []byte {
	for len(x.messages) < n {
		x.messages = append(x.messages, nil)
	}
	list := x.messages[:n]
	for i := range list {
		list[i] = item(list[i][:0], i)
	}
	slices.SortFunc(list, slices.Compare)
	for _, s := range list {
		b = append(append(b, byte(len(s))), s...)
	}
	return b
}

// canonical is what matters of a packet.
func canonical(b []byte, m *message) []byte {
	var p wire.Packet
	var it wire.Interest
	var d wire.Data
	if p.Decode(m.data) != nil {
		return b
	}
	b = append(b, byte(m.to), byte(m.face), oneIf(p.Nack), byte(p.NackReason), oneIf(p.Convergence.Tier), oneIf(p.Convergence.Node), byte(p.Label.Hash>>56))
	if it.Decode(p.Fragment) == nil {
		return append(append(b, it.HopLimit), it.Name...)
	}
	if d.Decode(p.Fragment) == nil {
		b = append(b, d.Name...)
	}
	return b
}

// connected lists every connected graph of n nodes, each a set of pairs.
func connected(n int) (graphs [][][2]int) {
	var pairs [][2]int
	for a := range n {
		for b := range a {
			pairs = append(pairs, [2]int{b, a})
		}
	}
	for set := range 1 << len(pairs) {
		var links [][2]int
		edges := make([]uint64, n)
		for i, p := range pairs {
			if set&(1<<i) != 0 {
				links = append(links, p)
				edges[p[0]] |= 1 << p[1]
				edges[p[1]] |= 1 << p[0]
			}
		}
		met := uint64(1)
		for range n {
			for v := range n {
				if met&(1<<v) != 0 {
					met |= edges[v]
				}
			}
		}
		if met == 1<<n-1 {
			graphs = append(graphs, links)
		}
	}
	return graphs
}

// newExplorer explores a graph whose consumer is node 0 and whose producer is the last. The consumer's first chunk starts
// discovery and is lost.
func newExplorer(nodes int, links [][2]int, free int, planted faults) *explorer {
	x := &explorer{free: free, seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	x.build = func() *graph {
		g := newGraph(1, nodes, Detours)
		g.cfg.faults = planted
		for _, l := range links {
			g.link(l[0], l[1])
		}
		g.start(nodes - 1)
		g.nodes[0].app = true
		g.ask(0, 1)
		g.inflight = slices.DeleteFunc(g.inflight, func(m message) bool { return !isProbe(m.data) })
		return g
	}
	return x
}

func isProbe(datagram []byte) bool {
	var p wire.Packet
	var it wire.Interest
	return p.Decode(datagram) == nil && it.Decode(p.Fragment) == nil && wire.SplitFlow(it.Name).Kind == wire.Discovery
}

func (x *explorer) explore() {
	g := x.build()
	x.fresh(g, 0)
	x.run(g, nil, 0)
}

// diamond has two relays that are equally far from the producer and linked with each other.
var diamond = [][2]int{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}

// TestExplore visits every order of arrivals on every connected graph of 2, 3 and 4 nodes: no cycle, no Interest twice at a node,
// stretch kept, flags rising, discovery ends, and always with the same valid faces. How many probes overlap is bounded: the
// source's timer fires only so often while packets are on their way.
func TestExplore(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  int
		graphs [][][2]int
		free   int
	}{
		{"2 nodes", 2, connected(2), 3},
		{"3 nodes", 3, connected(3), 2},
		{"4 nodes", 4, connected(4), 1},
		{"diamond", 4, [][][2]int{diamond}, 2},
	} {
		if testing.Short() || raceEnabled {
			c.free, c.graphs = 1, c.graphs[:min(len(c.graphs), 10)]
		}
		states, ends, most := 0, 0, 0
		for _, links := range c.graphs {
			x := newExplorer(c.nodes, links, c.free, 0)
			x.explore()
			if x.broken != "" {
				t.Fatalf("%s, links %v: %s", c.name, links, x.broken)
			}
			states += len(x.seen)
			ends += x.ends
			most = max(most, len(x.seen))
		}
		t.Logf("%s: %d graphs, timer free %d times: %d states, at most %d of one graph; %d ends", c.name, len(c.graphs), c.free, states, most, ends)
	}
}

// TestExploreFindsFaults: exploration notices a missing label check.
func TestExploreFindsFaults(t *testing.T) {
	x := newExplorer(4, diamond, 1, faultLabel)
	x.explore()
	if x.broken == "" {
		t.Errorf("nothing found in %d states", len(x.seen))
	}
	t.Logf("%d states: %s", len(x.seen), x.broken)
}
