package report

import (
	"fmt"
	"strings"

	"mars/internal/scenario"
)

// windowed are the pictures of flows that were measured over a window.
func (s *study) windowed() (all []*figure) {
	seen := map[string]bool{}
	for i := range s.Points {
		for _, f := range s.Points[i].Figures() {
			if !seen[f.Name] && !strings.HasPrefix(f.Name, "goodput:") && !strings.HasPrefix(f.Name, "benefit:") {
				seen[f.Name] = true
				all = append(all, s.boxes(f))
			}
		}
	}
	if f := s.maps(); f != nil {
		all = append(all, f)
	}
	if f := s.subflows(); f != nil {
		all = append(all, f)
	}
	return all
}

// what says in words what a figure is.
func what(f scenario.Figure) string {
	name, of, _ := strings.Cut(f.Name, ":")
	switch name {
	case "benefit":
		return "Aggregate benefit"
	case "jain":
		if of == "" {
			return "Jain's index, mean over bottlenecks"
		}
		return "Jain's index on " + of
	case "use":
		return "Part of " + of + " that is used"
	case "accuracy":
		return "Accuracy of detection"
	case "detection_s":
		return "Time to detection"
	case "missed":
		return "Changes never detected"
	}
	return f.Head
}

// shortName leaves out what the names of all systems begin with.
func (s *study) shortName(name string) string {
	base, control, ok := strings.Cut(name, ":")
	for _, o := range s.systems {
		ok = ok && strings.HasPrefix(o, base+":")
	}
	if !ok {
		return name
	}
	return control
}

// boxRow is the height of one system.
const boxRow = 26.0

// boxes shows how a figure spreads over the runs: a panel per point.
func (s *study) boxes(fig scenario.Figure) *figure {
	f := &figure{
		name: plain(strings.ReplaceAll(fig.Name, ":", "-")), title: what(fig),
		text: "Box: quartiles; black tick: median; whiskers: least and largest run; disc on a thick line: mean ± standard deviation. " + s.seeds() + ".",
	}
	lo, hi, left := 1e300, -1e300, 0.0
	for _, name := range s.systems {
		left = max(left, 20+textWidth(s.shortName(name), small))
	}
	s.each(fig.Name, func(_ int, _ string, d scenario.Spread) {
		lo, hi = min(lo, d.Min, d.Mean-d.SD), max(hi, d.Max, d.Mean+d.SD)
	})
	if fig.Name == "detection_s" || fig.Name == "missed" {
		lo = 0
	}
	if hi-lo < 1e-3 {
		lo, hi = lo-0.01, hi+0.01
	}
	step := stepOf((hi - lo) / 5)
	lo, hi = floorTo(lo, step), -floorTo(-hi, step)
	for i := range s.Points {
		p := &panel{picture: picture{w: panelWidth, h: 78 + boxRow*float64(len(s.systems))}}
		p.title = what(fig) + ", " + s.heading(i)
		for _, t := range ticks(lo, hi, 5) {
			at := scale{lo, hi, left, p.w - edge}.at(t)
			p.rule(at, 28, at, p.h-44, "grid", 1)
		}
		p.y = scale{0, 1, p.h - 44, 28}
		p.horizontal(s.heading(i), fig.Head, lo, hi, left)
		for j, name := range s.systems {
			y := 28 + boxRow*(float64(j)+0.5)
			p.add(mark{points: []point{{12, y + 4}}, text: s.shortName(name), size: small, anchor: "start", fill: s.looks[name].colour, bold: true})
			for k := range s.Points[i].Systems {
				sys := &s.Points[i].Systems[k]
				if d, ok := sys.Measured[fig.Name]; ok && sys.Name == name {
					p.box(d, s.looks[name].colour, y)
					p.desc += fmt.Sprintf("%s: %s, median %.3g. ", s.shortName(name), fig.Text(sys.Measured), d.Median)
				}
			}
		}
		f.panels = append(f.panels, &p.picture)
	}
	return f
}

// floorTo is the multiple of step at or below x.
func floorTo(x, step float64) float64 {
	n := float64(int(x / step))
	if n*step > x+step*1e-9 {
		n--
	}
	return n * step
}

// each visits how a figure spreads, at every point and of every system that has it.
func (s *study) each(name string, visit func(point int, system string, d scenario.Spread)) {
	for i := range s.Points {
		for j := range s.Points[i].Systems {
			sys := &s.Points[i].Systems[j]
			if d, ok := sys.Measured[name]; ok {
				visit(i, sys.Name, d)
			}
		}
	}
}

// box draws one spread.
func (p *panel) box(d scenario.Spread, colour string, y float64) {
	at := p.x.at
	p.rule(at(d.Min), y-3, at(d.Max), y-3, colour, 1)
	for _, v := range []float64{d.Min, d.Max} {
		p.rule(at(v), y-6, at(v), y, colour, 1)
	}
	p.add(mark{points: []point{{at(d.Q1), y - 8}, {at(d.Q3), y - 8}, {at(d.Q3), y + 2}, {at(d.Q1), y + 2}}, closed: true, fill: colour, line: colour, width: 1, faint: 0.35})
	p.rule(at(d.Median), y-9, at(d.Median), y+3, "ink", 2)
	p.rule(at(max(d.Mean-d.SD, p.x.lo)), y+7, at(min(d.Mean+d.SD, p.x.hi)), y+7, colour, 3)
	p.add(mark{points: []point{{at(d.Mean), y + 7}}, radius: 3.5, fill: "ink"})
}
