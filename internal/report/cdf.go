package report

import (
	"fmt"

	"mars/internal/scenario"
)

// cdf returns the steps of the distribution of sorted values among n: the share of n that is no greater than x.
func cdf(sorted []float64, n int) (steps []point) {
	for i, x := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == x {
			continue
		}
		steps = append(steps, point{x, float64(i+1) / float64(n)})
	}
	return steps
}

// cdfs shows at which time which part of all flows had 95%, or all, of their objects.
func (s *study) cdfs(percent int) *figure {
	of := func(f *scenario.FlowResult) float64 { return f.T95 }
	if percent == 100 {
		of = func(f *scenario.FlowResult) float64 { return f.T100 }
	}
	most := s.largest(func(_ *scenario.System, r *scenario.Run) (t float64) {
		for i := range r.Flows {
			t = max(t, of(&r.Flows[i]))
		}
		return t
	})
	f := &figure{
		name: fmt.Sprintf("cdf-t%d", percent), title: fmt.Sprintf("When flows had %d%% of their objects", percent), legend: s.legend(),
		text: fmt.Sprintf("Share of all flows of all runs (%s) that had %d%% of their object by a time, counted from the request. "+
			"A curve further left is faster; a steeper one is fairer. The dotted line is the time that physics allows the slowest flow, headers free.", s.seeds(), percent),
	}
	for i := range s.Points {
		p := newPanel(s.heading(i), fmt.Sprintf("T%d, s", percent), "flows, %", 0, roundUp(most*1.02, 6), 0, 100)
		s.drawCDF(p, i, percent, of)
		f.panels = append(f.panels, &p.picture)
	}
	return f
}

func (s *study) drawCDF(p *panel, i, percent int, of func(*scenario.FlowResult) float64) {
	pt := &s.Points[i]
	limit := pt.Bounds.MaxT95
	if percent == 100 {
		limit = -1
		for _, t := range pt.Bounds.PayloadT100 {
			limit = max(limit, t)
		}
	}
	if limit > 0 && limit < p.x.hi {
		at := p.x.at(limit)
		p.add(mark{points: []point{{at, p.y.from}, {at, p.y.to}}, line: "muted", width: 1.2, dash: "1 3"})
		p.label(at-4, p.y.to+10, "end", "muted", "bound")
	}
	p.title = fmt.Sprintf("T%d of all flows, %s", percent, s.heading(i))
	var names labels
	for j := range pt.Systems {
		sys := &pt.Systems[j]
		l := s.looks[sys.Name]
		values, n := times(sys, of)
		steps := cdf(values, n)
		var line []point
		for _, q := range steps {
			if line == nil {
				line = append(line, point{p.x.at(q.x), p.y.at(0)})
			}
			line = append(line, point{p.x.at(q.x), line[len(line)-1].y}, point{p.x.at(q.x), p.y.at(100 * q.y)})
		}
		if len(values) > 0 {
			p.add(mark{points: line, line: l.colour, width: 2, dash: l.dash})
			names.add(sys.Name, l.colour, line)
			middle := values[(len(values)-1)/2]
			p.desc += fmt.Sprintf("%s: half of the flows by %.2f s, the last of %d at %.2f s", sys.Name, middle, len(values), values[len(values)-1])
		}
		if len(values) < n {
			p.desc += fmt.Sprintf(", %d not at all", n-len(values))
		}
		p.desc += ". "
	}
	names.draw(&p.picture, box{p.x.from, p.y.to, p.x.to, p.y.from})
}
