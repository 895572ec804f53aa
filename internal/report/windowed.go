package report

import (
	"fmt"
	"strings"

	"mars/internal/scenario"
)

// measuredTable has every figure of every system at a point, as mean ± standard deviation.
func (s *study) measuredTable(i int) table {
	p := &s.Points[i]
	t := table{Caption: s.heading(i), Head: []string{"Mean ± SD"}}
	for _, sys := range p.Systems {
		t.Head = append(t.Head, s.shortName(sys.Name))
	}
	for _, f := range p.Figures() {
		row := []string{f.Head}
		for j := range p.Systems {
			row = append(row, f.Text(p.Systems[j].Measured))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measuredSummary tells who had the most benefit, who was fairest, and how well shared bottlenecks were detected, a point each.
func measuredSummary(r *scenario.Result) (all []string) {
	s := newStudy(r)
	for i := range r.Points {
		var parts []string
		for _, q := range []struct{ name, most string }{{"benefit", "most benefit"}, {"jain", "fairest"}, {"accuracy", "best detection"}} {
			best := ""
			var top scenario.Spread
			for j := range r.Points[i].Systems {
				sys := &r.Points[i].Systems[j]
				if d, ok := sys.Measured[q.name]; ok && (best == "" || d.Median > top.Median) {
					best, top = s.shortName(sys.Name), d
				}
			}
			if best != "" {
				parts = append(parts, fmt.Sprintf("%s: %s (median %.3f)", q.most, best, top.Median))
			}
		}
		all = append(all, prefix(&r.Points[i])+strings.Join(parts, "; ")+".")
	}
	return all
}
