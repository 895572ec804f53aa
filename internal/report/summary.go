package report

import (
	"fmt"
	"strings"

	"mars/internal/scenario"
)

// Warnings are what a reader must know before any figure of a result: why it doesn't count, what didn't end, too few seeds.
func Warnings(r *scenario.Result) (all []string) {
	for _, why := range r.Manifest.Invalid {
		all = append(all, "This run doesn't count: "+why+".")
	}
	for i := range r.Points {
		for _, s := range r.Points[i].Systems {
			if s.Summary.Unfinished > 0 && !r.Windowed() {
				all = append(all, fmt.Sprintf("%s%s: %d of %d flows had not ended at the limit; what depends on them is unknown.",
					prefix(&r.Points[i]), s.Name, s.Summary.Unfinished, s.Summary.Flows))
			}
		}
	}
	if n := r.Manifest.Seeds; n < 10 {
		all = append(all, fmt.Sprintf("%d of the 10 seeds that a study wants: read the intervals with care.", n))
	}
	if r.Manifest.Dilation > 0 && r.Manifest.Dilation != 1 {
		all = append(all, fmt.Sprintf("Time was dilated by %g; the figures are of real time.", r.Manifest.Dilation))
	}
	return all
}

func prefix(p *scenario.Point) string {
	if name := pointName(p); name != "" {
		return name + ", "
	}
	return ""
}

// Summary tells the outcome of a result in sentences, a point each.
func Summary(r *scenario.Result) (all []string) {
	if r.Windowed() {
		return measuredSummary(r)
	}
	for i := range r.Points {
		p := &r.Points[i]
		var b strings.Builder
		if name := pointName(p); name != "" {
			b.WriteString(name + ": ")
		}
		first := &p.Systems[0]
		b.WriteString("the slowest flow of " + first.Name + " has 95% of its object after " + withInterval(first, "max_t95_s", " s"))
		if ratio := first.Summary.BoundRatio.Median; ratio > 0 {
			fmt.Fprintf(&b, ", %.2f times what physics allows (%.2f s)", ratio, first.Wire.MaxT95)
		}
		b.WriteString(paperClause(p, first))
		for j := 1; j < len(p.Systems); j++ {
			s := &p.Systems[j]
			sep := "; "
			if j == 1 {
				sep = ". "
			}
			b.WriteString(sep + s.Name + ": " + withInterval(s, "max_t95_s", " s"))
			if a, o := first.Summary.MaxT95.Median, s.Summary.MaxT95.Median; a > 0 && o > 0 {
				fmt.Fprintf(&b, " (%s)", times100(o/a))
			}
		}
		b.WriteString(".")
		all = append(all, b.String())
	}
	return all
}

// times100 tells a ratio of times to the first system's in words.
func times100(ratio float64) string {
	switch {
	case ratio > 1.995:
		return fmt.Sprintf("%.1f times as long", ratio)
	case ratio > 1.0005:
		return fmt.Sprintf("%.1f%% longer", (ratio-1)*100)
	case ratio < 0.9995:
		return fmt.Sprintf("%.1f%% shorter", (1-ratio)*100)
	}
	return "the same"
}

func withInterval(s *scenario.System, metric, unit string) string {
	m, _ := scenario.MetricOf(metric)
	e := s.Summary.Metric(metric)
	if e.Median == -1 {
		return "an unknown time (flows had not ended)"
	}
	return m.Text(e.Median) + unit + interval(s, m)
}

// paperClause says what the paper reports of the same, if it does.
func paperClause(p *scenario.Point, s *scenario.System) string {
	for _, metric := range []string{"max_t95_s", "max_t95_after_discovery_s"} {
		if v, ok := paperValue(p, s.Name, metric); ok {
			m, _ := scenario.MetricOf(metric)
			what := ""
			if metric != "max_t95_s" {
				what = " counted from the end of discovery, where ours is " + withInterval(s, metric, " s")
			}
			return fmt.Sprintf("; the paper reports %s s%s", m.Text(v), what)
		}
	}
	return ""
}
