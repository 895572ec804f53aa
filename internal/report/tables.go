package report

import (
	"fmt"
	"strings"

	"mars/internal/scenario"
)

// table is rows of text under a head; the first column names the row.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// metricsTable has every metric of every system at a point.
func (s *study) metricsTable(i int) table {
	if s.Windowed() {
		return s.measuredTable(i)
	}
	p := &s.Points[i]
	t := table{Caption: s.heading(i), Head: []string{"Metric"}}
	for _, sys := range p.Systems {
		t.Head = append(t.Head, sys.Name)
	}
	for _, m := range scenario.Metrics() {
		row := []string{m.Head}
		for j := range p.Systems {
			row = append(row, estimateText(&p.Systems[j], m))
		}
		t.Rows = append(t.Rows, row)
	}
	wire, left := []string{"wire bound of max T95 s"}, []string{"unfinished flows"}
	for j := range p.Systems {
		sys := &p.Systems[j]
		wire = append(wire, scenario.Metric{Decimals: 2}.Text(sys.Wire.MaxT95))
		left = append(left, fmt.Sprintf("%d of %d", sys.Summary.Unfinished, sys.Summary.Flows))
	}
	t.Rows = append(t.Rows, wire, left)
	return t
}

func estimateText(s *scenario.System, m scenario.Metric) string {
	return m.Text(s.Summary.Metric(m.Name).Median) + interval(s, m)
}

// interval is the confidence interval of a metric in brackets; nothing where all seeds agree, or there is one.
func interval(s *scenario.System, m scenario.Metric) string {
	e := s.Summary.Metric(m.Name)
	if len(s.Runs) < 2 || e.CI95[0] == e.CI95[1] {
		return ""
	}
	return " [" + m.Text(e.CI95[0]) + ", " + m.Text(e.CI95[1]) + "]"
}

// paperTable has every value of the paper beside ours, and says what is compared.
func (s *study) paperTable() table {
	t := table{Head: []string{"System", "At", "What is compared", "Paper", "Ours", "Ours ÷ paper", "Where in the paper"}}
	for i := range s.Points {
		p := &s.Points[i]
		for _, v := range p.Paper {
			m, ok := scenario.MetricOf(v.Metric)
			if !ok {
				continue
			}
			row := []string{v.System, s.heading(i), m.Head + ": " + m.What, m.Text(v.Value), "not run", "", v.Source}
			for j := range p.Systems {
				if sys := &p.Systems[j]; sys.Name == v.System {
					row[4] = estimateText(sys, m)
					if e := sys.Summary.Metric(v.Metric); e.Median != -1 && v.Value != 0 {
						row[5] = fmt.Sprintf("%.2f", e.Median/v.Value)
					}
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// manifestTable says what was run, where and how.
func (s *study) manifestTable() table {
	m := &s.Manifest
	t := table{Rows: [][]string{
		{"scenario", s.Scenario},
		{"scenario hash (SHA-256)", m.ScenarioHash},
		{"runner", m.Runner},
		{"version", m.Version},
		{"seeds", fmt.Sprintf("%d, from %d", m.Seeds, m.FirstSeed)},
		{"platform", m.GOOS + "/" + m.GOARCH},
		{"encrypted", yesNo(m.Encrypted)},
	}}
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, []string{name, value})
		}
	}
	add("CPU", m.CPU)
	add("kernel", m.Kernel)
	if m.Dilation > 0 {
		add("time dilation", fmt.Sprintf("%g", m.Dilation))
	}
	add("sysctls", strings.Join(sortedPairs(m.Sysctls), ", "))
	add("schema version", fmt.Sprint(s.SchemaVersion))
	return t
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
