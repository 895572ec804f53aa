package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mars/internal/scenario"
)

// graphs shows where the requests of one flow may go in each system; nil if no result says so.
func (s *study) graphs() *figure {
	p := &s.Points[0]
	f := &figure{
		name: "paths", title: "Paths found",
		text: "Where the requests of one flow may go: solid lines are used, dashed ones were tried and aren't. With discovery, as it had ended; " +
			"else by the routes. Seed " + fmt.Sprint(s.Manifest.FirstSeed) + ", " + s.heading(0) + ".",
	}
	for i := range p.Systems {
		for j := range p.Systems[i].Runs[0].Flows {
			if flow := &p.Systems[i].Runs[0].Flows[j]; len(flow.Graph) > 0 {
				f.panels = append(f.panels, s.graph(p.Systems[i].Name, flow))
				break
			}
		}
	}
	if f.panels == nil {
		return nil
	}
	return f
}

// layout is a graph in columns from its source.
type layout struct {
	source string
	next   map[string][]string // by used hops
	layer  map[string]int
	cols   [][]string // nodes, and the bends of hops that cross a column
	place  map[string]point
}

// newLayout puts nodes into columns: as far from the source as their longest way of used hops, or the shortest where requests
// may go in a circle.
func newLayout(hops []scenario.Hop) *layout {
	g := &layout{source: hops[0].From, next: map[string][]string{}, layer: map[string]int{hops[0].From: 0}}
	nodes := []string{g.source}
	for _, h := range hops {
		for _, n := range []string{h.From, h.To} {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
		if h.Used {
			g.next[h.From] = append(g.next[h.From], h.To)
		}
	}
	if g.circular() {
		g.shortest()
	} else {
		g.longest(g.source)
	}
	for changed := true; changed; { // what only unused hops lead to
		changed = false
		for _, h := range hops {
			from, ok := g.layer[h.From]
			if _, done := g.layer[h.To]; ok && !done {
				g.layer[h.To], changed = from+1, true
			}
		}
	}
	for _, n := range nodes {
		if l, ok := g.layer[n]; ok {
			for len(g.cols) <= l {
				g.cols = append(g.cols, nil)
			}
			g.cols[l] = append(g.cols[l], n)
		}
	}
	return g
}

// longest moves everything behind n as far out as n's place makes it. Only for graphs without circles.
func (g *layout) longest(n string) {
	for _, m := range g.next[n] {
		if l, ok := g.layer[m]; !ok || l < g.layer[n]+1 {
			g.layer[m] = g.layer[n] + 1
			g.longest(m)
		}
	}
}

// shortest is the breadth-first order.
func (g *layout) shortest() {
	queue := []string{g.source}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, m := range g.next[n] {
			if _, ok := g.layer[m]; !ok {
				g.layer[m] = g.layer[n] + 1
				queue = append(queue, m)
			}
		}
	}
}

// circular tells whether requests may come back to a node.
func (g *layout) circular() bool {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(n string) bool
	visit = func(n string) bool {
		state[n] = open
		for _, m := range g.next[n] {
			if state[m] == open || state[m] == 0 && visit(m) {
				return true
			}
		}
		state[n] = done
		return false
	}
	return visit(g.source)
}

// paths is the number of ways from n to the end; only for graphs without circles.
func (g *layout) paths(n, end string, known map[string]int) int {
	if n == end {
		return 1
	}
	if _, ok := known[n]; !ok {
		sum := 0
		for _, m := range g.next[n] {
			sum += g.paths(m, end, known)
		}
		known[n] = sum
	}
	return known[n]
}

// bend is the name of the place where a hop crosses a column.
func bend(h scenario.Hop, layer int) string { return fmt.Sprintf("%s>%s>%d", h.From, h.To, layer) }

// arrange orders each column so that hops are short, and gives everything its place.
func (g *layout) arrange(hops []scenario.Hop, w, top, height float64) {
	near := map[string][]string{}
	join := func(a, b string) { near[a], near[b] = append(near[a], b), append(near[b], a) }
	for _, h := range hops {
		if from, to := g.layer[h.From], g.layer[h.To]; to > from {
			at := h.From
			for l := from + 1; l < to; l++ {
				b := bend(h, l)
				g.cols[l] = append(g.cols[l], b)
				join(at, b)
				at = b
			}
			join(at, h.To)
		}
	}
	g.place = map[string]point{}
	set := func() {
		for l, col := range g.cols {
			x := w / 2
			if len(g.cols) > 1 {
				x = 34 + (w-68)*float64(l)/float64(len(g.cols)-1)
			}
			for i, n := range col {
				g.place[n] = point{x, top + height*(float64(i)+0.5)/float64(len(col))}
			}
		}
	}
	set()
	for range 6 {
		for _, col := range g.cols {
			middle := map[string]float64{}
			for _, n := range col {
				sum := 0.0
				for _, m := range near[n] {
					sum += g.place[m].y
				}
				middle[n] = g.place[n].y
				if len(near[n]) > 0 {
					middle[n] = sum / float64(len(near[n]))
				}
			}
			slices.SortStableFunc(col, func(a, b string) int {
				switch d := middle[a] - middle[b]; {
				case d < -1e-9:
					return -1
				case d > 1e-9:
					return 1
				}
				return 0
			})
		}
		set()
	}
}

func (s *study) graph(system string, f *scenario.FlowResult) *picture {
	g := newLayout(f.Graph)
	var drawn []scenario.Hop
	left := map[string]int{} // reasons of those that aren't drawn
	for _, h := range f.Graph {
		if h.Used || h.State != "unsent" {
			drawn = append(drawn, h)
		} else {
			left[h.Why]++
		}
	}
	end := g.cols[len(g.cols)-1][0]
	most := 0
	for _, c := range g.cols {
		most = max(most, len(c))
	}
	p := &picture{w: panelWidth, h: 96 + 30*float64(max(most, 3))}
	p.add(mark{points: []point{{12, 17}}, text: system, size: large, anchor: "start", fill: s.looks[system].colour, bold: true})
	what := fmt.Sprintf("%s: requests may go in circles", f.Name)
	if !g.circular() {
		what = fmt.Sprintf("%s: %d loop-free paths", f.Name, g.paths(g.source, end, map[string]int{}))
		if what = strings.TrimSuffix(what, "s"); !strings.HasSuffix(what, " 1 loop-free path") {
			what += "s"
		}
	}
	p.label(12, 35, "start", "muted", what)
	g.arrange(drawn, p.w, 46, p.h-46-36)
	for _, h := range drawn {
		p.hop(g, h, s.looks[system].colour)
	}
	for _, n := range slices.Sorted(maps.Keys(g.layer)) {
		at := g.place[n]
		half := textWidth(n, small)/2 + 5
		p.add(mark{points: []point{{at.x - half, at.y - 9}, {at.x + half, at.y - 9}, {at.x + half, at.y + 9}, {at.x - half, at.y + 9}}, closed: true, fill: "bg", line: "edge", width: 1})
		p.label(at.x, at.y+4, "middle", "ink", n)
	}
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(left)) {
		reasons = append(reasons, fmt.Sprintf("%d more faces: %s", left[why], why))
	}
	p.label(12, p.h-10, "start", "muted", strings.Join(reasons, "; "))
	p.title = "Paths found by " + system
	p.desc = what + ". " + strings.Join(reasons, "; ")
	return p
}

// hop draws one hop with the tip of an arrow.
func (p *picture) hop(g *layout, h scenario.Hop, colour string) {
	from, to := g.place[h.From], g.place[h.To]
	half := func(n string) float64 { return textWidth(n, small)/2 + 5 }
	line := []point{from}
	if g.layer[h.To] > g.layer[h.From] {
		line[0].x += half(h.From)
		for l := g.layer[h.From] + 1; l < g.layer[h.To]; l++ {
			b := g.place[bend(h, l)]
			line = append(line, point{b.x - 20, b.y}, point{b.x + 20, b.y}) // level, past the nodes of the column
		}
		to.x -= half(h.To) + 1
		line = append(line, to)
	} else { // in the same column, or back: around
		from.x, to.x = from.x+half(h.From), to.x+half(h.To)
		line[0] = from
		side := 6 + abs(to.y-from.y)/4
		for k := 1; k <= 12; k++ {
			t := float64(k) / 12
			line = append(line, point{from.x + (to.x-from.x)*t + side*4*t*(1-t), from.y + (to.y-from.y)*t})
		}
	}
	m := mark{points: line, line: colour, width: 1.8}
	if !h.Used {
		m.line, m.width, m.dash = "edge", 1.2, "3 3"
	}
	p.add(m)
	if g.layer[h.To] > g.layer[h.From] && h.Used {
		a, b := line[len(line)-2], line[len(line)-1]
		d := max(abs(b.x-a.x)+abs(b.y-a.y), 1)
		ux, uy := (b.x-a.x)/d, (b.y-a.y)/d
		p.add(mark{points: []point{b, {b.x - 8*ux - 4*uy, b.y - 8*uy + 4*ux}, {b.x - 8*ux + 4*uy, b.y - 8*uy - 4*ux}}, closed: true, fill: colour})
	}
}
