package scenario

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Agreement sets what the simulator says of a scenario beside what the lab measured, metric by metric (schema:
// docs/agreement.schema.json).
type Agreement struct {
	SchemaVersion int              `json:"schema_version"`
	Scenario      string           `json:"scenario"`
	Dilation      float64          `json:"dilation"` // of the lab, ≥ 1
	Warnings      []string         `json:"warnings,omitempty"`
	Points        []AgreementPoint `json:"points"`
}

// AgreementPoint is one set of swept parameters that both have.
type AgreementPoint struct {
	Params map[string]float64 `json:"params"`
	Rows   []AgreementRow     `json:"rows"`
}

// AgreementRow is one metric of one system.
type AgreementRow struct {
	System    string   `json:"system"`
	Metric    string   `json:"metric"`
	Lab       Estimate `json:"lab"` // −1 throughout: not known
	Simulator Estimate `json:"simulator"`
	Seeds     int      `json:"seeds"` // that both have
	// Difference is the simulator's median less the lab's: a part of the lab's, or as it is where Absolute.
	Difference float64 `json:"difference"`
	Absolute   bool    `json:"absolute"`
	Limit      float64 `json:"limit,omitempty"` // of the difference's size, where a limit has been set; 0: none has
	Verdict    string  `json:"verdict"`         // agrees, differs; "" without a limit; unknown
}

// The verdicts of an AgreementRow.
const (
	agrees  = "agrees"
	differs = "differs"
	unknown = "unknown"
)

// agreementLimits are how far simulator and lab may be apart, per metric: for systems of MARS, for those of endpoints, and for a single
// TCP connection, whose goodput and losses are what its model is judged by; 0: no limit. Jain's index is near 1 for all, so its difference
// counts as it is.
var agreementLimits = map[string]struct {
	mars, endpoints, single float64
	absolute                bool
}{
	"max_t95_s":        {mars: 0.15, endpoints: 0.20, single: 0.20},
	"max_t100_s":       {single: 0.10},
	"retransmit_ratio": {single: 0.25},
	"jain":             {mars: 0.01, absolute: true},
	"jain_min":         {absolute: true},
}

// Agree sets a result of the lab beside one of the simulator. It fails if they have nothing in common.
func Agree(lab, simulator *Result) (*Agreement, error) {
	c, err := Compare(lab, simulator)
	if err != nil {
		return nil, err
	}
	a := &Agreement{SchemaVersion: SchemaVersion, Scenario: c.Scenario, Dilation: max(lab.Manifest.Dilation, 1)}
	for _, why := range lab.Manifest.Invalid {
		a.Warnings = append(a.Warnings, "the lab's result doesn't count: "+why)
	}
	if lab.Manifest.ScenarioHash != simulator.Manifest.ScenarioHash {
		a.Warnings = append(a.Warnings, "the scenarios differ")
	}
	for _, p := range c.Points {
		single := simulator.at(p.Params).oneFlow()
		ap := AgreementPoint{Params: p.Params}
		for _, s := range p.Systems {
			for k := range s.Metrics {
				if m := &s.Metrics[k]; m.Before.Median != -1 || m.After.Median != -1 {
					ap.Rows = append(ap.Rows, agreementRow(&s, m, single))
				}
			}
		}
		a.Points = append(a.Points, ap)
	}
	return a, nil
}

func agreementRow(s *ComparedSystem, m *ComparedMetric, single bool) AgreementRow {
	limits := agreementLimits[m.Metric]
	r := AgreementRow{System: s.Name, Metric: m.Metric, Lab: m.Before, Simulator: m.After, Seeds: s.Seeds, Absolute: limits.absolute}
	switch {
	case strings.HasPrefix(s.Name, "MARS"):
		r.Limit = limits.mars
	case single && strings.HasPrefix(s.Name, "TCP"):
		r.Limit = limits.single
	default:
		r.Limit = limits.endpoints
	}
	if r.Lab.Median == -1 || r.Simulator.Median == -1 || !r.Absolute && r.Lab.Median == 0 {
		r.Verdict = unknown
		return r
	}
	r.Difference = r.Simulator.Median - r.Lab.Median
	if !r.Absolute {
		r.Difference /= r.Lab.Median
	}
	switch {
	case r.Limit == 0:
	case math.Abs(r.Difference) <= r.Limit:
		r.Verdict = agrees
	default:
		r.Verdict = differs
	}
	return r
}

// Table writes the agreement as text.
func (a *Agreement) Table(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: the lab at dilation %s, and the simulator with the kernel's constants as they are there\n",
		a.Scenario, strconv.FormatFloat(a.Dilation, 'f', -1, 64))
	fmt.Fprintln(b, "medians over seeds; difference: the simulator's less the lab's, in percent of the lab's, or as it is with a Δ")
	for _, text := range a.Warnings {
		fmt.Fprintf(b, "! %s\n", text)
	}
	for _, p := range a.Points {
		writeParams(b, p.Params)
		grid := [][]string{{"", "", "lab", "simulator", "difference", "limit", ""}}
		name := ""
		for i := range p.Rows {
			r := &p.Rows[i]
			first := r.System
			if first == name {
				first = ""
			}
			name = r.System
			grid = append(grid, append([]string{first}, r.cells()...))
		}
		writeLeft(b, grid)
	}
	return b.Flush()
}

func (r *AgreementRow) cells() []string {
	m, _ := MetricOf(r.Metric)
	diff, limit := "–", ""
	if r.Verdict != unknown {
		diff = r.text(m, r.Difference)
	}
	if r.Limit > 0 {
		limit = strings.Replace(r.text(m, r.Limit), "+", "", 1)
	}
	return []string{m.Head, m.Text(r.Lab.Median), m.Text(r.Simulator.Median), diff, limit, r.Verdict}
}

// text writes a difference or a limit.
func (r *AgreementRow) text(m Metric, x float64) string {
	if r.Absolute {
		return "Δ " + m.signed(x)
	}
	return fmt.Sprintf("%+.1f%%", float64(100*x))
}

// oneFlow tells whether every run of a point moves a single object.
func (p *Point) oneFlow() bool {
	for i := range p.Systems {
		for _, r := range p.Systems[i].Runs {
			if len(r.Flows) != 1 {
				return false
			}
		}
	}
	return true
}
