package bound

import (
	"fmt"
	"math"
	"slices"

	"mars/internal/scenario"
)

// network is a World as programs see it.
type network struct {
	w        *scenario.World
	capacity []float64 // by direction, Mbit/s
	class    []int     // of each flow
	classes  []class
}

// class is flows that are alike: they share the same links in the same ways, and what only one of them uses limits each in the
// same way. They get equal shares, so the programs need one column per path and class instead of one per path and flow.
type class struct {
	paths []load  // without repetition
	own   float64 // the most that one flow gets through the links that nobody else uses, Mbit/s
}

// load is what a path puts on directions, per byte of payload, ascending by direction.
type load []share

type share struct {
	direction int
	bytes     float64
}

// maxPaths is how many paths all flows together may have.
const maxPaths = 50_000

// newNetwork finds the paths and classes of w.
func newNetwork(w *scenario.World, cost Cost, lossy bool) (*network, error) {
	if cost.Stretch == 0 {
		cost.Stretch = 2
	}
	n := &network{w: w, capacity: capacities(w, lossy)}
	g := newGraph(w)
	loads := make([][]load, len(w.Flows))
	total := 0
	for i := range w.Flows {
		paths, err := g.allowed(&w.Flows[i], cost.Options, maxPaths-total)
		if err != nil {
			return nil, err
		}
		total += len(paths)
		for _, p := range paths {
			loads[i] = append(loads[i], pathLoad(w, w.Flows[i].Consumer, p, cost))
		}
	}
	users := make([]int, len(n.capacity))
	for _, paths := range loads {
		for _, d := range directions(paths) {
			users[d]++
		}
	}
	index := map[string]int{}
	for _, paths := range loads {
		c := n.newClass(paths, users)
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

// allowed returns the routes of a flow under the options.
func (g *graph) allowed(f *scenario.Flow, opt Options, limit int) ([][]int, error) {
	var paths [][]int
	switch {
	case opt.Paths > 0 && len(f.Paths) > 0:
		paths = f.Paths[:min(opt.Paths, len(f.Paths))]
	case opt.Paths > 0:
		paths = g.shortest(f.Consumer, f.Producer, opt.Paths)
	default:
		var more bool
		if paths, more = g.within(f.Consumer, f.Producer, opt.Stretch, limit); more {
			return nil, ErrTooManyPaths
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("flow %s has no route", f.Name)
	}
	return paths, nil
}

// pathLoad charges Data to the directions toward the consumer and Interests to the others.
func pathLoad(w *scenario.World, consumer int, path []int, cost Cost) (l load) {
	at := consumer
	for _, link := range path {
		there, back, next := 2*link, 2*link+1, w.Links[link].B
		if w.Links[link].A != at {
			there, back, next = back, there, w.Links[link].A
		}
		l = append(l, share{back, cost.Data})
		if cost.Interest > 0 {
			l = append(l, share{there, cost.Interest})
		}
		at = next
	}
	slices.SortFunc(l, func(a, b share) int { return a.direction - b.direction })
	return l
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

// newClass takes out of paths what they all use and no other flow does: that limits the flow as a whole.
func (n *network) newClass(paths []load, users []int) class {
	own := map[int]bool{}
	c := class{own: math.Inf(1)}
	for _, s := range paths[0] {
		everywhere := !slices.ContainsFunc(paths, func(p load) bool { return !slices.Contains(p, s) })
		if users[s.direction] == 1 && everywhere {
			own[s.direction] = true
			c.own = min(c.own, n.capacity[s.direction]/s.bytes)
		}
	}
	for _, p := range paths {
		rest := slices.DeleteFunc(slices.Clone(p), func(s share) bool { return own[s.direction] })
		if !slices.ContainsFunc(c.paths, func(o load) bool { return slices.Equal(o, rest) }) {
			c.paths = append(c.paths, rest)
		}
	}
	return c
}

// rates returns the max-min fair rate of one flow of each class, in Mbit/s of payload, where the numbers of flows under way
// are count. Rates of classes without any are 0.
func (n *network) rates(count []int) ([]float64, error) {
	var active []int
	for c, k := range count {
		if k > 0 {
			active = append(active, c)
		}
	}
	p := n.program(active, count)
	open := make([]float64, len(active)) // the number of flows of classes that may still get more
	for i, c := range active {
		open[i] = float64(count[c])
	}
	rates := make([]float64, len(count))
	level, left := 0.0, len(active)
	for left > 0 {
		more, pull := p.maximise(p.add(open))
		level += more
		tied := false
		for i, c := range active {
			// A class that pulls is short of capacity: this is its rate.
			if open[i] > 0 && pull[i] > epsilon {
				rates[c], open[i], tied = level, 0, true
				left--
			}
		}
		if !tied {
			return nil, errLost
		}
	}
	return rates, nil
}

// program has one row per active class: what its flows get is at most what its paths carry. Then come the rows of what single
// flows can get at most, then those of directions.
func (n *network) program(active, count []int) *program {
	limit := make([]float64, len(active))
	own := make([]int, len(active))
	for i, c := range active {
		own[i] = -1
		if cap := n.classes[c].own; !math.IsInf(cap, 1) {
			own[i] = len(limit)
			limit = append(limit, float64(cap*float64(count[c])))
		}
	}
	var used []int
	for _, c := range active {
		used = append(used, directions(n.classes[c].paths)...)
	}
	slices.Sort(used)
	used = slices.Compact(used)
	first := len(limit)
	for _, d := range used {
		limit = append(limit, n.capacity[d])
	}
	var columns [][]float64
	for i, c := range active {
		for _, path := range n.classes[c].paths {
			col := make([]float64, len(limit))
			col[i] = -1
			if own[i] >= 0 {
				col[own[i]] = 1
			}
			for _, s := range path {
				at, _ := slices.BinarySearch(used, s.direction)
				col[first+at] = s.bytes
			}
			columns = append(columns, col)
		}
	}
	return newProgram(columns, limit)
}
