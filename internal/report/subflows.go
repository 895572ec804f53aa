package report

import (
	"fmt"
	"slices"
	"strings"

	"mars/internal/scenario"
)

// subflows shows what each subflow of the first seed received over time, at the first point, a panel per system whose detection was
// watched, or per system if none was; nil without series.
func (s *study) subflows() *figure {
	f := &figure{
		name: "subflows", title: "Subflows over time",
		text: fmt.Sprintf("What each subflow received, seed %d, %s.", s.Manifest.FirstSeed, s.heading(0)),
	}
	pt := &s.Points[0]
	watched := slices.ContainsFunc(pt.Systems, func(sys scenario.System) bool { _, ok := sys.Measured["accuracy"]; return ok })
	for i := range pt.Systems {
		sys := &pt.Systems[i]
		if _, ok := sys.Measured["accuracy"]; watched && !ok {
			continue
		}
		for j := range sys.Runs[0].Flows {
			if flow := &sys.Runs[0].Flows[j]; len(flow.Subflows) > 1 && len(flow.Subflows[0].Series) > 1 {
				f.panels = append(f.panels, s.lines(sys.Name, flow, sys.Runs[0].SimSeconds))
				for k := range flow.Subflows {
					if len(f.legend) == k {
						f.legend = append(f.legend, entry{fmt.Sprintf("SF%d", k+1), looks[k%len(looks)]})
					}
				}
				break
			}
		}
	}
	if f.panels == nil {
		return nil
	}
	return f
}

// lines draws the series of one flow's subflows.
func (s *study) lines(system string, flow *scenario.FlowResult, seconds float64) *picture {
	n, high := len(flow.Subflows[0].Series), 0.0
	for k := range flow.Subflows {
		high = max(high, slices.Max(flow.Subflows[k].Series))
	}
	p := newPanel(s.shortName(system), "s", "Mbit/s", 0, seconds, 0, roundUp(high, 5))
	p.title = "Subflows over time of " + system
	for k := range flow.Subflows {
		l := looks[k%len(looks)]
		var line []point
		for i, v := range flow.Subflows[k].Series {
			line = append(line, point{p.x.at((float64(i) + 0.5) * seconds / float64(n)), p.y.at(v)})
		}
		p.add(mark{points: line, line: l.colour, width: 1.4, dash: l.dash})
		p.desc += fmt.Sprintf("SF%d: %.2f Mbit/s on average. ", k+1, flow.Subflows[k].Goodput)
	}
	return &p.picture
}

// maps shows, where two parameters are swept, how much of each bottleneck is used over both: a panel per bottleneck and system.
func (s *study) maps() *figure {
	names := s.swept()
	if len(names) != 2 {
		return nil
	}
	across, down := s.values(names[0]), s.values(names[1])
	if len(across) < 3 || len(down) < 3 {
		return nil
	}
	f := &figure{
		name: "map", title: "Use over " + names[1] + " and " + names[0],
		text: "Part of a bottleneck's payload that is used, mean over " + s.seeds() + ". The darker a cell, the more is used.",
	}
	for _, fig := range s.Points[0].Figures() {
		if !strings.HasPrefix(fig.Name, "use:") {
			continue
		}
		for _, system := range s.systems {
			p := &picture{w: panelWidth, h: 96 + 30*float64(len(down))}
			p.title = fig.Head + " of " + system
			p.add(mark{points: []point{{12, 17}}, text: s.shortName(system) + ": " + fig.Head, size: large, anchor: "start", fill: "ink", bold: true})
			cell := (p.w - 96) / float64(len(across))
			s.each(fig.Name, func(i int, name string, d scenario.Spread) {
				if name != system {
					return
				}
				x := 84 + cell*float64(slices.Index(across, s.Points[i].Params[names[0]]))
				y := 34 + 30*float64(slices.Index(down, s.Points[i].Params[names[1]]))
				p.add(mark{points: []point{{x, y}, {x + cell - 2, y}, {x + cell - 2, y + 28}, {x, y + 28}}, closed: true, fill: s.looks[system].colour, faint: max(0.02, 0.55*min(d.Mean, 1))})
				p.add(mark{points: []point{{x + cell/2, y + 19}}, text: fmt.Sprintf("%.2f", d.Mean), size: small, anchor: "middle", fill: "ink"})
			})
			for k, v := range down {
				p.label(78, 53+30*float64(k), "end", "muted", paramText(names[1], v))
			}
			for k, v := range across {
				p.label(84+cell*(float64(k)+0.5), 48+30*float64(len(down)), "middle", "muted", paramText(names[0], v))
			}
			p.label(p.w/2, 68+30*float64(len(down)), "middle", "muted", names[0]+" across, "+names[1]+" down")
			f.panels = append(f.panels, p)
		}
	}
	return f
}

// swept lists the parameters that have several values, in order of their names.
func (s *study) swept() (names []string) {
	for name := range s.Points[0].Params { // order: sorted below
		if len(s.values(name)) > 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// values are those of a parameter, in order.
func (s *study) values(name string) (all []float64) {
	for i := range s.Points {
		if v := s.Points[i].Params[name]; !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}
