package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// generator builds nodes, links and pairs from the parameters of the topology section.
type generator struct {
	*builder
	t    *section
	link linkSpec // of every link, unless a parameter lays something over it
}

// generatorNames and generators belong together.
var (
	generatorNames = []string{"core", "parallel", "dumbbell", "chain", "grid", "random"}
	generators     = []func(*generator){
		(*generator).core, (*generator).parallel, (*generator).dumbbell, (*generator).chain, (*generator).grid, (*generator).random,
	}
)

// add adds a node with a numbered name.
func (g *generator) add(role Role, mars bool, format string, args ...any) int {
	return g.addNode(g.t.at, g.t.key, Node{Name: fmt.Sprintf(format, args...), Role: role, MARS: mars})
}

// join links a, the end nearer to the consumer, with z.
func (g *generator) join(a, z int, spec linkSpec) { g.addLink(g.t.at, g.t.key, "", a, z, spec) }

// over returns spec with the keys of the parameter laid over it.
func (g *generator) over(spec linkSpec, key string) linkSpec {
	spec.read(g.t, key)
	return spec
}

// count reads a number of things.
func (g *generator) count(key string, fallback, low, high int) int {
	read(g.t, key, &fallback, integer(low, high))
	return fallback
}

// mars reads whether the relays are MARS nodes.
func (g *generator) mars() (mars bool) {
	read(g.t, "mars", &mars, parseBool)
	return mars
}

// bad reports whether something is wrong already, so that nothing should be built from half of the parameters.
func (g *generator) bad() bool { return len(g.d.report.list) > 0 }

// core is the topology of the MARS paper (§V-B): cores in a full mesh, producers behind one edge node each, consumers linked
// to all cores. Consumer i fetches from all producers behind core i, which makes group i.
func (g *generator) core() {
	cores := g.count("cores", 5, 1, 200)
	producers := g.count("producers", 5, 1, 1000)
	consumers := g.count("consumers", cores, 1, 200)
	mars := g.count("mars_cores", 0, 0, 200)
	coreLink := g.over(g.link, "core_link")
	consumerLink := g.over(g.link, "consumer_link")
	producerLink := g.over(g.link, "producer_link")
	rates := g.coreRates(cores)
	switch {
	case consumers > cores:
		g.d.fail(g.t.at, g.t.sub("consumers"), ErrValue, "each consumer fetches from a core of its own: add cores", "%d consumers, but %d cores", consumers, cores)
	case mars > cores:
		g.d.fail(g.t.at, g.t.sub("mars_cores"), ErrValue, "write at most the number of cores", "%d of %d cores", mars, cores)
	}
	if g.bad() {
		return
	}
	var core, consumer []int
	for i := range consumers {
		consumer = append(consumer, g.add(Consumer, false, "con%d", i))
	}
	for i := range cores {
		core = append(core, g.add(Relay, i < mars, "core%d", i))
	}
	for _, c := range consumer {
		for _, k := range core {
			g.join(c, k, consumerLink)
		}
	}
	for i, a := range core {
		for j := i + 1; j < cores; j++ {
			spec := coreLink
			if rate, ok := rates[[2]int{i, j}]; ok {
				spec.ab.Rate, spec.ba.Rate = rate, rate
			}
			g.join(a, core[j], spec)
		}
	}
	for i, c := range consumer {
		for k := range producers {
			n := i*producers + k
			edge, p := g.add(Relay, false, "edge%d", n), g.add(Producer, false, "p%d", n)
			g.join(core[i], edge, producerLink)
			g.join(edge, p, producerLink)
			g.pairs = append(g.pairs, pair{c, p, i})
			if g.full {
				return
			}
		}
	}
}

// coreRates reads the rates of single core–core links: a mapping from "0-1" to a rate.
func (g *generator) coreRates(cores int) map[[2]int]float64 {
	rates := map[[2]int]float64{}
	s, _ := g.t.section("core_rates")
	for _, f := range s.v.fields {
		s.asked = append(s.asked, f.key)
		left, right, _ := strings.Cut(f.key, "-")
		i, err := integer(0, cores-1)(left)
		j, err2 := integer(0, cores-1)(right)
		if err != nil || err2 != nil || i == j {
			g.d.fail(f.at, s.key, ErrNode, fmt.Sprintf("write two different numbers from 0 to %d, such as 0-1", cores-1), "%q names no two cores", f.key)
			continue
		}
		ends := [2]int{min(i, j), max(i, j)}
		if _, there := rates[ends]; there {
			g.d.fail(f.at, s.key, ErrDuplicate, "remove one", "the rate between cores %d and %d is there twice", ends[0], ends[1])
		}
		var rate float64
		parse(g.d, s.sub(f.key), f.val, &rate, parseRate)
		rates[ends] = rate
	}
	return rates
}

// parallel is one consumer and one producer with disjoint paths between them, each with its own links.
func (g *generator) parallel() {
	mars := g.mars()
	type route struct {
		spec linkSpec
		hops int
	}
	var routes []route
	g.t.each("paths", func(key string, v *value) {
		s := g.d.section(key, v)
		r := route{g.link, 2}
		read(s, "hops", &r.hops, integer(1, 100))
		r.spec.fields(s)
		s.done()
		routes = append(routes, r)
	})
	if len(routes) == 0 && !g.bad() {
		g.t.missing("paths", "[{rate: 40 Mbit/s}, {rate: 20 Mbit/s}]")
	}
	if g.bad() {
		return
	}
	c, p := g.add(Consumer, false, "con"), g.add(Producer, false, "pro")
	direct := 0
	for i, r := range routes {
		at := c
		for h := range r.hops - 1 {
			relay := g.add(Relay, mars, "r%d-%d", i, h)
			g.join(at, relay, r.spec)
			at = relay
		}
		name := ""
		if r.hops == 1 {
			if direct++; direct > 1 {
				name = fmt.Sprintf("con-pro-%d", direct)
			}
		}
		g.addLink(g.t.at, g.t.key, name, at, p, r.spec)
		if g.full {
			return
		}
	}
	g.pairs = append(g.pairs, pair{c, p, 0})
}

// dumbbell is pairs of consumers and producers around one shared link.
func (g *generator) dumbbell() {
	pairs, mars := g.count("pairs", 2, 1, 2000), g.mars()
	shared := g.over(g.link, "bottleneck")
	if g.bad() {
		return
	}
	left, right := g.add(Relay, mars, "left"), g.add(Relay, mars, "right")
	g.join(left, right, shared)
	for i := range pairs {
		c, p := g.add(Consumer, false, "con%d", i), g.add(Producer, false, "pro%d", i)
		g.join(c, left, g.link)
		g.join(right, p, g.link)
		g.pairs = append(g.pairs, pair{c, p, 0})
		if g.full {
			return
		}
	}
}

// chain is copies of one line of links, each copy with a consumer and a producer at its ends.
func (g *generator) chain() {
	copies, mars := g.count("copies", 1, 1, 2000), g.mars()
	var specs []linkSpec
	g.t.each("hops", func(key string, v *value) {
		s := g.d.section(key, v)
		spec := g.link
		spec.fields(s)
		s.done()
		specs = append(specs, spec)
	})
	if len(specs) == 0 && !g.bad() {
		g.t.missing("hops", "[{delay: 5ms}, {delay: 1ms}]")
	}
	if g.bad() {
		return
	}
	for i := range copies {
		c := g.add(Consumer, false, "con%d", i)
		at := c
		for h, spec := range specs[:len(specs)-1] {
			relay := g.add(Relay, mars, "r%d-%d", i, h)
			g.join(at, relay, spec)
			at = relay
		}
		p := g.add(Producer, false, "pro%d", i)
		g.join(at, p, specs[len(specs)-1])
		g.pairs = append(g.pairs, pair{c, p, i})
		if g.full {
			return
		}
	}
}

// grid is rows × columns of relays with consumers at corners and their producers at the opposite ones.
func (g *generator) grid() {
	rows, columns := g.count("rows", 3, 1, 100), g.count("columns", 3, 1, 100)
	pairs, mars := g.count("pairs", 1, 1, 4), g.mars()
	access := g.over(g.link, "access_link")
	if rows*columns < 2 {
		g.d.fail(g.t.at, g.t.sub("rows"), ErrValue, "add a row or a column", "a grid of one relay has no links")
	}
	if g.bad() {
		return
	}
	relays := make([]int, rows*columns)
	for i := range relays {
		relays[i] = g.add(Relay, mars, "r%d-%d", i/columns, i%columns)
	}
	for i, r := range relays {
		if (i+1)%columns != 0 {
			g.join(r, relays[i+1], g.link)
		}
		if i+columns < len(relays) {
			g.join(r, relays[i+columns], g.link)
		}
	}
	corners := []int{0, columns - 1, len(relays) - 1, len(relays) - columns}
	for i := range pairs {
		c, p := g.add(Consumer, false, "con%d", i), g.add(Producer, false, "pro%d", i)
		g.join(c, relays[corners[i]], access)
		g.join(relays[corners[(i+2)%len(corners)]], p, access)
		g.pairs = append(g.pairs, pair{c, p, i})
	}
}

// random is relays in a random connected graph, with consumers and producers linked to uplinks of them. The graph depends
// on graph_seed alone, never on the seed of a run.
func (g *generator) random() {
	relays, extra := g.count("relays", 10, 1, 2000), g.count("extra_links", 10, 0, 10_000)
	pairs, uplinks, mars := g.count("pairs", 1, 1, 1000), g.count("uplinks", 2, 1, 100), g.mars()
	seed := uint64(1)
	read(g.t, "graph_seed", &seed, parseSeed)
	rates := texts(g.t, "rates", parseRate)
	access := g.over(g.link, "access_link")
	if uplinks > relays {
		g.d.fail(g.t.at, g.t.sub("uplinks"), ErrValue, "add relays", "%d uplinks, but %d relays", uplinks, relays)
	}
	if g.bad() {
		return
	}
	draw := dice{seed}
	var nodes []int
	joined := map[[2]int]bool{}
	join := func(i, j int) {
		i, j = min(i, j), max(i, j)
		if i == j || joined[[2]int{i, j}] {
			return // the graph has at most extra_links more than a tree
		}
		joined[[2]int{i, j}] = true
		spec := g.link
		if len(rates) > 0 {
			spec.ab.Rate = rates[draw.below(len(rates))]
			spec.ba.Rate = spec.ab.Rate
		}
		g.join(nodes[i], nodes[j], spec)
	}
	for i := range relays {
		nodes = append(nodes, g.add(Relay, mars, "r%d", i))
		if i > 0 {
			join(draw.below(i), i)
		}
	}
	for range extra {
		join(draw.below(relays), draw.below(relays))
	}
	for i := range pairs {
		c, p := g.add(Consumer, false, "con%d", i), g.add(Producer, false, "pro%d", i)
		for _, r := range draw.some(uplinks, relays) {
			g.join(c, nodes[r], access)
		}
		for _, r := range draw.some(uplinks, relays) {
			g.join(nodes[r], p, access)
		}
		g.pairs = append(g.pairs, pair{c, p, i})
		if g.full {
			return
		}
	}
}

// dice is SplitMix64 (Steele et al., 2014): the same draws in every release of Go.
type dice struct{ state uint64 }

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n − 1. Its bias is below n ÷ 2⁶⁴.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// some returns k different numbers below n, ascending.
func (d *dice) some(k, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := range k {
		j := i + d.below(n-i)
		all[i], all[j] = all[j], all[i]
	}
	return slices.Sorted(slices.Values(all[:k]))
}
