package report

import (
	"fmt"

	"mars/internal/scenario"
)

// goodput shows what each flow of the first seed got over time, at the first and the last point; nil without series.
func (s *study) goodput() *figure {
	f := &figure{
		name: "goodput", title: "Goodput over time",
		text: fmt.Sprintf("What each flow got, from its start, with seed %d: a line per flow; the flow that ended last is black (white on dark).", s.Manifest.FirstSeed),
	}
	shown := []int{0}
	if last := len(s.Points) - 1; last > 0 {
		shown = append(shown, last)
		f.text += " The first and the last point of the sweep."
	}
	long, high := 0.0, 0.0
	for _, i := range shown {
		for j := range s.Points[i].Systems {
			for _, flow := range s.Points[i].Systems[j].Runs[0].Flows {
				long = max(long, float64(len(flow.Series))*flow.SeriesStep)
				for _, v := range flow.Series {
					high = max(high, v)
				}
			}
		}
	}
	if long == 0 || high == 0 {
		return nil
	}
	for _, i := range shown {
		for j := range s.Points[i].Systems {
			sys := &s.Points[i].Systems[j]
			name := sys.Name
			if len(s.Points) > 1 {
				name += ", " + s.heading(i)
			}
			p := newPanel(name, "s from the flow's start", "Mbit/s", 0, long, 0, roundUp(high, 5))
			p.title = "Goodput over time of " + name
			drawSeries(p, s.looks[sys.Name], sys.Runs[0].Flows)
			f.panels = append(f.panels, &p.picture)
		}
	}
	return f
}

func drawSeries(p *panel, l look, flows []scenario.FlowResult) {
	last := -1
	for i := range flows {
		if len(flows[i].Series) > 0 && (last < 0 || later(&flows[i], &flows[last])) {
			last = i
		}
	}
	if last < 0 {
		p.label((p.x.from+p.x.to)/2, (p.y.from+p.y.to)/2, "middle", "muted", "no series in the result")
		return
	}
	for i := range flows {
		if i != last {
			p.add(mark{points: seriesLine(p, &flows[i]), line: l.colour, width: 1, faint: 0.45})
		}
	}
	f := &flows[last]
	p.add(mark{points: seriesLine(p, f), line: "ink", width: 1.8})
	end := "unfinished"
	if f.T100 >= 0 {
		end = fmt.Sprintf("whole after %.2f s", f.T100)
	}
	text := f.Name + ": " + end
	p.add(mark{points: []point{{p.x.to, 36}}, text: text, size: small, anchor: "end", fill: "ink"})
	p.desc = fmt.Sprintf("%d flows. The last, %s.", len(flows), text)
}

// later tells whether a ended after b; what didn't end is last.
func later(a, b *scenario.FlowResult) bool {
	if a.T100 < 0 || b.T100 < 0 {
		return a.T100 < 0 && b.T100 >= 0
	}
	return a.T100 > b.T100
}

// seriesLine goes through the middle of each step. The last step is cut where the flow ended, which else looked like a fall.
func seriesLine(p *panel, f *scenario.FlowResult) (line []point) {
	for k, v := range f.Series {
		from, to := float64(k)*f.SeriesStep, float64(k+1)*f.SeriesStep
		if f.T100 > from && f.T100 < to {
			v, to = v*(to-from)/(f.T100-from), f.T100
		}
		if to-from < f.SeriesStep/3 && k > 0 { // too short to say a rate
			continue
		}
		line = append(line, point{p.x.at((from + to) / 2), p.y.at(min(v, p.y.hi))})
	}
	return line
}
