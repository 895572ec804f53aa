package report

import (
	"fmt"
	"maps"
	"slices"

	"mars/internal/scenario"
)

// sensitivities shows how the slowest flow's T95 depends on each parameter that is swept, the others being the first point's.
func (s *study) sensitivities() (all []*figure) {
	for _, name := range slices.Sorted(maps.Keys(s.Points[0].Params)) {
		var points []*scenario.Point
		for i := range s.Points {
			if sameBut(&s.Points[i], &s.Points[0], name) {
				points = append(points, &s.Points[i])
			}
		}
		if len(points) < 2 {
			continue
		}
		slices.SortStableFunc(points, func(a, b *scenario.Point) int {
			if a.Params[name] < b.Params[name] {
				return -1
			}
			return 1
		})
		f := &figure{
			name: "sensitivity-" + plain(name), title: "Sensitivity to " + name, legend: s.legend(),
			text: "The slowest flow's T95 over the values of " + name + " (evenly spaced): at the left in seconds, at the right as a change from the first value. " +
				"Signs: median over " + s.seeds() + "; whiskers: 95% bootstrap interval.",
		}
		f.panels = append(f.panels, s.sensitivity(points, name, false), s.sensitivity(points, name, true))
		all = append(all, f)
	}
	return all
}

// sameBut tells whether two points differ in one parameter at most.
func sameBut(a, b *scenario.Point, name string) bool {
	for k, v := range a.Params { // order: all must hold
		if k != name && b.Params[k] != v {
			return false
		}
	}
	return len(a.Params) == len(b.Params)
}

// bar is a median with its interval.
type bar struct{ lo, mid, hi float64 }

// measured returns max T95 of a system at each point, in seconds or as a change in percent from the first; false where it
// isn't known.
func measured(points []*scenario.Point, system string, relative bool) (bars []bar, ok []bool) {
	base := -1.0
	for _, p := range points {
		b, good := bar{}, false
		for i := range p.Systems {
			if e := p.Systems[i].Summary.MaxT95; p.Systems[i].Name == system && e.Median > 0 {
				b, good = bar{e.CI95[0], e.Median, e.CI95[1]}, true
				if e.CI95[0] == -1 || e.CI95[1] == -1 {
					b.lo, b.hi = b.mid, b.mid
				}
			}
		}
		if relative && good {
			if base < 0 {
				base = b.mid
			}
			b = bar{(b.lo/base - 1) * 100, (b.mid/base - 1) * 100, (b.hi/base - 1) * 100}
		}
		bars, ok = append(bars, b), append(ok, good)
	}
	return bars, ok
}

func (s *study) sensitivity(points []*scenario.Point, param string, relative bool) *picture {
	lo, hi := 0.0, 0.0
	for _, name := range s.systems {
		bars, _ := measured(points, name, relative)
		for _, b := range bars {
			lo, hi = min(lo, b.lo), max(hi, b.hi)
		}
	}
	heading, axis, format := "Slowest flow's T95", "max T95, s", "%.2f s"
	if relative {
		heading, axis, format = "Its change", "change of max T95, %", "%+.1f%%"
	}
	hi = roundUp(hi*1.02, 5)
	if step := stepOf((hi - lo) / 5); lo < 0 {
		lo = -step * float64(int(-lo/step)+1)
	}
	p := newPanel(heading, "", axis, -0.3, float64(len(points))-0.7, lo, hi)
	p.title = heading + " over " + param
	for i, pt := range points {
		at := p.x.at(float64(i))
		p.rule(at, p.y.from, at, p.y.from+4, "edge", 1)
		p.label(at, p.y.from+18, "middle", "muted", paramText(param, pt.Params[param]))
	}
	p.label((p.x.from+p.x.to)/2, p.h-8, "middle", "muted", param)
	var names labels
	for j, name := range s.systems {
		l := s.looks[name]
		bars, ok := measured(points, name, relative)
		var line []point
		p.desc += name + ":"
		for i, b := range bars {
			if !ok[i] {
				continue
			}
			c := point{p.x.at(float64(i)) + 5*(float64(j)-float64(len(s.systems)-1)/2), p.y.at(b.mid)}
			line = append(line, c)
			p.rule(c.x, p.y.at(b.lo), c.x, p.y.at(b.hi), l.colour, 1.5)
			p.marker(l, c, 4, 0)
			p.desc += fmt.Sprintf(" "+format+" at %s,", b.mid, paramText(param, points[i].Params[param]))
		}
		p.desc += " "
		if len(line) > 1 {
			p.add(mark{points: line, line: l.colour, width: 2, dash: l.dash})
			names.add(name, l.colour, line)
		}
	}
	names.draw(&p.picture, box{p.x.from, p.y.to, p.x.to, p.y.from})
	return &p.picture
}
