package report

import (
	"fmt"
	"slices"

	"mars/internal/scenario"
)

// rows describes pictures with a row per system and a point per run.
type rows struct {
	name, title, text string
	metric, axis      string  // axis: what the axis is of
	bars              bool    // from zero to the median
	line              float64 // where to draw a line, named
	lineName          string
	bound             bool    // a tick at the wire bound
	paper             string  // metric whose values of the paper are shown
	most              float64 // the axis ends there at the latest; 0: anywhere
	values            func(*scenario.System) []float64
}

// known are the values that are known.
func known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return x == -1 })
}

// runValues are a metric's values of each run.
func runValues(metric string) func(*scenario.System) []float64 {
	return func(s *scenario.System) (all []float64) {
		for i := range s.Runs {
			all = append(all, s.Runs[i].Values[metric])
		}
		return all
	}
}

// rowHeight is that of one system.
const rowHeight = 40.0

// figure draws a panel per point.
func (r rows) figure(s *study) *figure {
	f := &figure{name: r.name, title: r.title, text: r.text}
	m, _ := scenario.MetricOf(r.metric)
	lo, hi := r.fit(s)
	for i := range s.Points {
		pt := &s.Points[i]
		p := &panel{picture: picture{w: panelWidth, h: 84 + rowHeight*float64(len(pt.Systems))}}
		p.title = r.title + ", " + s.heading(i)
		p.y = scale{0, 1, p.h - 44, 28}
		for _, t := range ticks(lo, hi, 6) {
			at := scale{lo, hi, edge, p.w - edge}.at(t)
			p.rule(at, 28, at, p.h-44, "grid", 1)
		}
		p.horizontal(s.heading(i), r.axis, lo, hi, edge)
		if r.lineName != "" && r.line >= lo && r.line <= hi {
			at := p.x.at(r.line)
			p.add(mark{points: []point{{at, 26}, {at, p.h - 44}}, line: "muted", width: 1.2, dash: "1 3"})
		}
		for j := range pt.Systems {
			r.row(s, p, pt, &pt.Systems[j], 30+rowHeight*float64(j), m)
		}
		f.panels = append(f.panels, &p.picture)
	}
	return f
}

// fit is an axis that holds every value.
func (r rows) fit(s *study) (lo, hi float64) {
	lo, hi = 1e300, -1e300
	for i := range s.Points {
		pt := &s.Points[i]
		for j := range pt.Systems {
			e := pt.Systems[j].Summary.Metric(r.metric)
			for _, v := range known(append(r.values(&pt.Systems[j]), e.Median, e.CI95[0], e.CI95[1])) {
				lo, hi = min(lo, v), max(hi, v)
			}
			if v, ok := paperValue(pt, pt.Systems[j].Name, r.paper); ok {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	switch {
	case lo > hi:
		return 0, 1
	case r.bars:
		return 0, roundUp(hi*1.02, 6)
	}
	if r.lineName != "" {
		lo, hi = min(lo, r.line), max(hi, r.line)
	}
	if hi-lo < 1e-6 {
		lo, hi = lo-0.01, hi+0.01
	}
	step := stepOf((hi - lo) / 6)
	lo, hi = lo-mod(lo, step), hi+step-mod(hi+step, step)
	if r.most > 0 {
		hi = min(hi, r.most)
	}
	return lo, hi
}

// mod is what is left of x ≥ 0 by whole steps.
func mod(x, step float64) float64 {
	n := float64(int(x/step + 1e-9))
	return x - n*step
}

// paperValue is what the paper says of a system at a point.
func paperValue(p *scenario.Point, system, metric string) (float64, bool) {
	for _, v := range p.Paper {
		if v.System == system && v.Metric == metric {
			return v.Value, true
		}
	}
	return 0, false
}

// row draws one system: its name and figures, a bar to the median, the interval, and a sign per run.
func (r rows) row(s *study, p *panel, pt *scenario.Point, sys *scenario.System, y float64, m scenario.Metric) {
	l := s.looks[sys.Name]
	values := r.values(sys)
	good := known(values)
	e := sys.Summary.Metric(r.metric)
	text := estimateText(sys, m)
	p.desc += sys.Name + ": " + text
	p.add(mark{points: []point{{12, y + 11}}, text: sys.Name, size: small, anchor: "start", fill: l.colour, bold: true, halo: true})
	if 1.12*textWidth(sys.Name, small)+textWidth(text, small) > p.w-40 {
		text = m.Text(e.Median)
	}
	p.add(mark{points: []point{{p.w - 14, y + 11}}, text: text, size: small, anchor: "end", fill: "ink", halo: true})
	mid := y + 24
	if r.bars && e.Median > 0 {
		p.add(mark{points: []point{{p.x.from, mid - 7}, {p.x.at(e.Median), mid - 7}, {p.x.at(e.Median), mid + 7}, {p.x.from, mid + 7}}, closed: true, fill: l.colour, faint: 0.22})
	}
	if e.CI95[0] != -1 && e.CI95[1] != -1 && len(sys.Runs) > 1 {
		p.rule(p.x.at(e.CI95[0]), mid, p.x.at(e.CI95[1]), mid, l.colour, 2)
		for _, end := range e.CI95 {
			p.rule(p.x.at(end), mid-6, p.x.at(end), mid+6, l.colour, 2)
		}
	}
	for k, v := range good {
		p.marker(l, point{p.x.at(v), mid + float64(k%3-1)*3}, 3, 0.6)
	}
	if e.Median != -1 {
		p.rule(p.x.at(e.Median), mid-8, p.x.at(e.Median), mid+8, "ink", 2)
	}
	if n := len(values) - len(good); n > 0 {
		p.label(p.w-14, mid+4, "end", "ink", fmt.Sprintf("%d of %d unknown", n, len(values)))
		p.desc += fmt.Sprintf(", %d of %d unknown", n, len(values))
	}
	if r.bound && sys.Wire.MaxT95 > 0 {
		at := p.x.at(sys.Wire.MaxT95)
		p.add(mark{points: []point{{at, mid - 9}, {at, mid + 9}}, line: "muted", width: 2, dash: "2 2"})
		p.desc += fmt.Sprintf(", wire bound %.2f", sys.Wire.MaxT95)
	}
	if v, ok := paperValue(pt, sys.Name, r.paper); ok && v >= p.x.lo && v <= p.x.hi {
		at := p.x.at(v)
		p.add(mark{points: []point{{at, mid - 6}, {at + 6, mid}, {at, mid + 6}, {at - 6, mid}}, closed: true, line: "ink", width: 1.5})
		p.desc += fmt.Sprintf(", the paper's %s", m.Text(v))
	}
	p.desc += ". "
}
