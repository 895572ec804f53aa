package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mars/internal/scenario"
)

// network is a World as programs see it.
type network struct {
	w        *scenario.World
	g        *graph
	cost     Cost
	capacity []float64 // by direction, Mbit/s
	class    []int     // of each flow
	classes  []class
}

// class is flows that are alike: apart from links that only one of them can use, they have the same routes. They get equal
// shares, so the programs need one column per route and class instead of one per route and flow.
type class struct {
	own      float64 // the most that one flow gets through its own links, Mbit/s
	from, to int     // where those end, on the consumer's and on the producer's side
	hops     int     // the most links between
	given    []load  // the routes between; nil: all of at most so many hops
}

// load is what a route puts on directions, per byte of payload, ascending by direction.
type load []share

type share struct {
	direction int
	bytes     float64
}

// newNetwork finds the classes of w.
func newNetwork(w *scenario.World, cost Cost, lossy bool) (*network, error) {
	cost.Stretch = cmp.Or(cost.Stretch, 2)
	n := &network{w: w, g: newGraph(w), cost: cost, capacity: capacities(w, lossy)}
	flows := make([]int, len(w.Nodes)) // by node: the flows that end there
	for _, f := range w.Flows {
		flows[f.Consumer]++
		flows[f.Producer]++
	}
	index := map[string]int{}
	for i := range w.Flows {
		c, err := n.newClass(&w.Flows[i], flows)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(c)
		k, there := index[key]
		if !there {
			k = len(n.classes)
			index[key] = k
			n.classes = append(n.classes, c)
		}
		n.class = append(n.class, k)
	}
	return n, nil
}

// newClass returns the class of a flow.
func (n *network) newClass(f *scenario.Flow, flows []int) (class, error) {
	shortest := n.g.hopsTo(f.Producer)[f.Consumer]
	if shortest < 0 {
		return class{}, fmt.Errorf("flow %s has no route", f.Name)
	}
	var own []int
	c := class{own: math.Inf(1)}
	c.to, own = n.g.stub(f.Producer, f.Consumer, flows, own)
	c.from, own = n.g.stub(f.Consumer, c.to, flows, own)
	for _, d := range n.ownLoad(f, own) {
		c.own = min(c.own, n.capacity[d.direction]/d.bytes)
	}
	c.hops = max(shortest, int(math.Ceil(float64(n.cost.Stretch*float64(shortest))))-1) - len(own)
	if n.cost.Paths == 0 {
		return c, nil
	}
	paths := f.Paths[:min(n.cost.Paths, len(f.Paths))]
	if len(paths) == 0 {
		paths = n.g.shortest(f.Consumer, f.Producer, n.cost.Paths)
	}
	for _, p := range paths {
		between := slices.DeleteFunc(slices.Clone(p), func(l int) bool { return slices.Contains(own, l) })
		c.given = append(c.given, n.load(c.from, between))
	}
	return c, nil
}

// stub walks from an end of a flow over links that nothing else can use: while there is only one way on and only one flow
// behind. It returns where that ends, and appends the links.
func (g *graph) stub(end, stop int, flows, links []int) (int, []int) {
	if flows[end] != 1 || len(g.edges[end]) != 1 {
		return end, links
	}
	at, came := end, -1
	for at != stop {
		on := slices.IndexFunc(g.edges[at], func(e edge) bool { return e.link != came })
		if on < 0 || at != end && (len(g.edges[at]) != 2 || !g.carries(at)) {
			break
		}
		came, at = g.edges[at][on].link, g.edges[at][on].to
		links = append(links, came)
	}
	return at, links
}

// ownLoad is what the flow puts on its own links, each of which is on every route.
func (n *network) ownLoad(f *scenario.Flow, own []int) (l load) {
	if len(own) == 0 {
		return nil
	}
	path := n.g.shortest(f.Consumer, f.Producer, 1)[0]
	for _, s := range n.load(f.Consumer, path) {
		if slices.Contains(own, s.direction/2) {
			l = append(l, s)
		}
	}
	return l
}

// load charges Data to the directions toward the consumer and Interests to the others.
func (n *network) load(from int, path []int) (l load) {
	at := from
	for _, link := range path {
		there, back, next := n.g.step(at, link)
		l = append(l, share{back, n.cost.Data})
		if n.cost.Interest > 0 {
			l = append(l, share{there, n.cost.Interest})
		}
		at = next
	}
	slices.SortFunc(l, func(a, b share) int { return a.direction - b.direction })
	return l
}

// step returns the direction from a node over a link, the one back, and the other end.
func (g *graph) step(at, link int) (there, back, next int) {
	if l := &g.w.Links[link]; l.A != at {
		return 2*link + 1, 2 * link, l.A
	}
	return 2 * link, 2*link + 1, g.w.Links[link].B
}

// fair is one program of max-min fair shares.
type fair struct {
	n          *network
	p          program
	active     []int       // classes
	share, own []int       // rows by index into active: what flows get is at most what routes carry; what own links let through
	directions map[int]int // rows of directions
	columns    map[string]bool
}

// rates returns the max-min fair rate of one flow of each class, in Mbit/s of payload, where the numbers of flows under way
// are count. Rates of classes without any are 0. work counts up to maxWork; false: that was not enough, or rounding errors led
// astray.
func (n *network) rates(count []int, work *float64) ([]float64, bool) {
	f := fair{n: n, p: program{work: work}, directions: map[int]int{}, columns: map[string]bool{}}
	for c, k := range count {
		if k > 0 {
			f.add(c, k)
		}
	}
	rates := make([]float64, len(count))
	open := slices.Clone(count) // the flows of classes that may still get more
	for level, left := 0.0, len(f.active); left > 0; {
		var entries []entry
		for i, c := range f.active {
			if open[c] > 0 {
				entries = append(entries, entry{f.share[i], float64(open[c])})
			}
		}
		more, ok := f.p.maximise(f.p.column(entries), f.price)
		if !ok {
			return nil, false
		}
		level += more
		tied := false
		for i, c := range f.active {
			// A class with a dual value is short of capacity: this is its rate.
			if open[c] > 0 && f.p.dual(f.share[i]) > epsilon {
				rates[c], open[c], tied = level, 0, true
				left--
			}
		}
		if !tied {
			return nil, false
		}
	}
	return rates, true
}

// add adds the rows of a class with so many flows, and its routes if they are given.
func (f *fair) add(c, count int) {
	i := len(f.active)
	f.active = append(f.active, c)
	f.share = append(f.share, f.p.row(0))
	f.own = append(f.own, -1)
	if own := f.n.classes[c].own; !math.IsInf(own, 1) {
		f.own[i] = f.p.row(float64(own * float64(count)))
	}
	for _, l := range f.n.classes[c].given {
		f.route(i, l)
	}
}

// route adds a route of a class, unless it is there; it reports whether it was new.
func (f *fair) route(i int, l load) bool {
	key := fmt.Sprint(i, l)
	if f.columns[key] {
		return false
	}
	f.columns[key] = true
	entries := []entry{{f.share[i], -1}}
	if f.own[i] >= 0 {
		entries = append(entries, entry{f.own[i], 1})
	}
	for _, s := range l {
		row, there := f.directions[s.direction]
		if !there {
			row = f.p.row(f.n.capacity[s.direction])
			f.directions[s.direction] = row
		}
		entries = append(entries, entry{row, s.bytes})
	}
	f.p.column(entries)
	return true
}

// price adds for each class the route that would help most, if one would: the cheapest, where directions cost their dual
// value (column generation; Ford and Fulkerson, 1958). So no program needs to hold all routes, of which there may be millions.
func (f *fair) price() (found bool) {
	toll := make([]float64, len(f.n.capacity)) // 0 while no route uses a direction
	for d := range toll {
		if row, there := f.directions[d]; there {
			toll[d] = max(0, f.p.dual(row))
		}
	}
	for i, c := range f.active {
		k := &f.n.classes[c]
		if k.given != nil {
			continue
		}
		*f.p.work += float64(k.hops * len(f.n.capacity))
		worth := f.p.dual(f.share[i])
		if f.own[i] >= 0 {
			worth -= f.p.dual(f.own[i])
		}
		path, cost := f.n.g.cheapest(k.from, k.to, k.hops, func(at, link int) float64 {
			there, back, _ := f.n.g.step(at, link)
			return float64(f.n.cost.Data*toll[back]) + float64(f.n.cost.Interest*toll[there])
		})
		if cost < worth-epsilon && f.route(i, f.n.load(k.from, path)) {
			found = true
		}
	}
	return found
}
