package scenario

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Comparison is two results of one scenario side by side, seed by seed (schema: docs/comparison.schema.json).
type Comparison struct {
	SchemaVersion int             `json:"schema_version"`
	Scenario      string          `json:"scenario"`
	Before        Compared        `json:"before"`
	After         Compared        `json:"after"`
	Warnings      []string        `json:"warnings,omitempty"` // why the difference may not be what it seems
	Points        []ComparedPoint `json:"points"`
}

// Compared tells which result is compared.
type Compared struct {
	Version      string `json:"version"`
	ScenarioHash string `json:"scenario_hash"`
}

// ComparedPoint is one set of swept parameters that both results have.
type ComparedPoint struct {
	Params  map[string]float64 `json:"params"`
	Systems []ComparedSystem   `json:"systems"`
}

// ComparedSystem is one system that both results have at a point.
type ComparedSystem struct {
	Name    string           `json:"name"`
	Seeds   int              `json:"seeds"` // that both have
	Metrics []ComparedMetric `json:"metrics"`
}

// ComparedMetric is one metric of both.
type ComparedMetric struct {
	Metric string   `json:"metric"`
	Before Estimate `json:"before"`
	After  Estimate `json:"after"`
	// Difference is the median over common seeds of after − before, with its bootstrap interval. Each seed is a pair: both met
	// the same losses. Pairs of which one isn't known are left out of it, and counted.
	Difference Estimate `json:"difference"`
	Pairs      int      `json:"pairs"`
	Unknown    int      `json:"unknown"`
	Verdict    Verdict  `json:"verdict"`
}

// Verdict says what a difference means.
type Verdict string

// The verdicts. Better and Worse need at least fewestPairs known pairs, no unknown one, and an interval without 0.
const (
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Changed Verdict = "changed" // of what is neither better nor worse
	Same    Verdict = "same"    // in every seed
	Unclear Verdict = "unclear"
)

// fewestPairs is the fewest seeds that give a verdict: with 5 the chance that all differences have one sign by luck is 1/16.
const fewestPairs = 5

// Compare sets after beside before. It fails if they have nothing in common.
func Compare(before, after *Result) (*Comparison, error) {
	c := &Comparison{
		SchemaVersion: SchemaVersion, Scenario: after.Scenario,
		Before: Compared{before.Manifest.Version, before.Manifest.ScenarioHash}, After: Compared{after.Manifest.Version, after.Manifest.ScenarioHash},
	}
	if before.Manifest.ScenarioHash != after.Manifest.ScenarioHash {
		c.Warnings = append(c.Warnings, "the scenarios differ: what changed is not the program alone")
	}
	for _, r := range []*Result{before, after} {
		for _, why := range r.Manifest.Invalid {
			c.Warnings = append(c.Warnings, r.Manifest.Version+" doesn't count: "+why)
		}
	}
	fewest := -1
	for i := range after.Points {
		p := &after.Points[i]
		earlier := before.at(p.Params)
		if earlier == nil {
			continue
		}
		cp := ComparedPoint{Params: p.Params}
		for j := range p.Systems {
			s := &p.Systems[j]
			k := slices.IndexFunc(earlier.Systems, func(o System) bool { return o.Name == s.Name })
			if k < 0 {
				continue
			}
			if cs := compareSystems(&earlier.Systems[k], s); cs.Seeds > 0 {
				cp.Systems = append(cp.Systems, cs)
				if fewest < 0 || cs.Seeds < fewest {
					fewest = cs.Seeds
				}
			}
		}
		if len(cp.Systems) > 0 {
			c.Points = append(c.Points, cp)
		}
	}
	if len(c.Points) == 0 {
		return nil, fmt.Errorf("the results have no point, system and seed in common")
	}
	if fewest < fewestPairs {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d common seeds give no verdict; it takes %d", fewest, fewestPairs))
	}
	return c, nil
}

func compareSystems(before, after *System) ComparedSystem {
	c := ComparedSystem{Name: after.Name}
	old := make(map[uint64]*Run, len(before.Runs))
	for i := range before.Runs {
		old[before.Runs[i].Seed] = &before.Runs[i]
	}
	var pairs [][2]*Run
	for i := range after.Runs {
		if o := old[after.Runs[i].Seed]; o != nil {
			pairs = append(pairs, [2]*Run{o, &after.Runs[i]})
		}
	}
	c.Seeds = len(pairs)
	if c.Seeds == 0 {
		return c
	}
	for _, m := range Metrics() {
		cm := ComparedMetric{Metric: m.Name, Before: before.Summary.Metric(m.Name), After: after.Summary.Metric(m.Name)}
		var diffs []float64
		for _, p := range pairs {
			a, aok := p[0].Values[m.Name]
			b, bok := p[1].Values[m.Name]
			if !aok || !bok || a == -1 || b == -1 {
				cm.Unknown++
				continue
			}
			diffs = append(diffs, b-a)
		}
		cm.Pairs = len(diffs)
		if len(diffs) > 0 {
			cm.Difference = estimate(diffs)
		}
		cm.Verdict = verdict(m, diffs, cm)
		c.Metrics = append(c.Metrics, cm)
	}
	return c
}

func verdict(m Metric, diffs []float64, c ComparedMetric) Verdict {
	switch lo, hi := c.Difference.CI95[0], c.Difference.CI95[1]; {
	case c.Unknown == 0 && !slices.ContainsFunc(diffs, func(d float64) bool { return d != 0 }):
		return Same
	case c.Unknown > 0 || len(diffs) < fewestPairs || lo <= 0 && hi >= 0:
		return Unclear
	case m.Better == 0:
		return Changed
	case (hi < 0) == (m.Better < 0):
		return Better
	}
	return Worse
}

// Table writes the comparison as text: what is the same in every seed only by name.
func (c *Comparison) Table(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: before %s, after %s\n", c.Scenario, c.Before.Version, c.After.Version)
	fmt.Fprintln(b, "difference: median over pairs of the same seed of after − before, with its 95% confidence interval")
	for _, text := range c.Warnings {
		fmt.Fprintf(b, "! %s\n", text)
	}
	for _, p := range c.Points {
		writeParams(b, p.Params)
		grid := [][]string{{"", "", "before", "after", "difference", "%", ""}}
		var same []string
		for _, s := range p.Systems {
			name := s.Name
			var equal []string
			for _, cm := range s.Metrics {
				m, _ := MetricOf(cm.Metric)
				if cm.Verdict == Same {
					equal = append(equal, m.Head)
					continue
				}
				grid = append(grid, append([]string{name}, cm.Cells()...))
				name = ""
			}
			if len(equal) == len(s.Metrics) {
				equal = []string{"every metric"}
			}
			if len(equal) > 0 {
				same = append(same, fmt.Sprintf("%s, the same in every seed: %s", s.Name, strings.Join(equal, ", ")))
			}
		}
		if len(grid) > 1 {
			writeLeft(b, grid)
		}
		for _, text := range same {
			fmt.Fprintln(b, text)
		}
	}
	return b.Flush()
}

// Cells are the metric's name, before, after, difference with interval, difference in percent of before, and verdict.
func (c *ComparedMetric) Cells() []string {
	m, _ := MetricOf(c.Metric)
	diff, percent := "–", ""
	if c.Pairs > 0 {
		diff = m.signed(c.Difference.Median)
		if c.Pairs > 1 {
			diff += " [" + m.signed(c.Difference.CI95[0]) + " " + m.signed(c.Difference.CI95[1]) + "]"
		}
		if c.Before.Median > 0 {
			percent = strconv.FormatFloat(float64(c.Difference.Median/c.Before.Median*100), 'f', 1, 64)
			if c.Difference.Median > 0 {
				percent = "+" + percent
			}
		}
	}
	verdict := string(c.Verdict)
	if c.Unknown > 0 {
		verdict += fmt.Sprintf(" (%d of %d pairs unknown)", c.Unknown, c.Unknown+c.Pairs)
	}
	return []string{m.Head, m.Text(c.Before.Median), m.Text(c.After.Median), diff, percent, verdict}
}

// signed writes a difference. −1 is a number here like others.
func (m Metric) signed(x float64) string {
	if m.Percent {
		x = float64(x * 100)
	}
	text := strconv.FormatFloat(math.Abs(x), 'f', m.Decimals, 64)
	switch {
	case strings.Trim(text, "0.") == "":
		return text // as small as that
	case x > 0:
		return "+" + text
	}
	return "-" + text
}

// writeLeft is writeGrid with the first two columns and the last to the left.
func writeLeft(w io.Writer, grid [][]string) {
	var joined [][]string
	first := 0
	for _, row := range grid {
		first = max(first, len([]rune(row[0])))
	}
	for _, row := range grid {
		pad := strings.Repeat(" ", first-len([]rune(row[0])))
		joined = append(joined, append([]string{row[0] + pad + "  " + row[1]}, row[2:]...))
	}
	writeGrid(w, joined)
}

// writeParams begins the table of a point.
func writeParams(w io.Writer, params map[string]float64) {
	fmt.Fprintln(w)
	if text := paramsText(params); text != "" {
		fmt.Fprintln(w, text)
	}
}

// paramsText writes the parameters of a point: "loss = 0.01, size = 1000".
func paramsText(params map[string]float64) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		texts = append(texts, fmt.Sprintf("%s = %s", name, strconv.FormatFloat(params[name], 'f', -1, 64)))
	}
	return strings.Join(texts, ", ")
}
