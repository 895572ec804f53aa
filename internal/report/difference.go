package report

import (
	"strings"

	"mars/internal/scenario"
)

// difference is a comparison as the page shows it.
type difference struct {
	Before   string
	Warnings []string
	Tables   []table
}

func newDifference(c *scenario.Comparison) *difference {
	d := &difference{Before: c.Before.Version}
	for _, text := range c.Warnings {
		d.Warnings = append(d.Warnings, strings.ToUpper(text[:1])+text[1:])
	}
	for _, p := range c.Points {
		t := table{
			Caption: pointName(&scenario.Point{Params: p.Params}),
			Head:    []string{"System", "Metric", "Before", "After", "Difference", "%", "Verdict"},
		}
		for _, s := range p.Systems {
			before := len(t.Rows)
			for i := range s.Metrics {
				if s.Metrics[i].Verdict != scenario.Same {
					t.Rows = append(t.Rows, append([]string{s.Name}, s.Metrics[i].Cells()...))
				}
			}
			if len(t.Rows) == before {
				t.Rows = append(t.Rows, []string{s.Name, "every metric", "", "", "", "", string(scenario.Same)})
			}
		}
		d.Tables = append(d.Tables, t)
	}
	return d
}
