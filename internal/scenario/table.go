package scenario

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// column is one statistic of the table.
type column struct {
	metric, head string
	decimals     int
	percent      bool
	interval     bool // with its confidence interval
}

// times and rest are the two tables of a point.
var (
	times = []column{
		{"max_t95_s", "max T95 s", 2, false, true},
		{"max_t95_after_discovery_s", "after discovery", 2, false, true},
		{"median_t95_s", "median T95", 2, false, true},
		{"min_t95_s", "min T95", 2, false, false},
		{"max_t100_s", "max T100", 2, false, true},
		{"bound", "wire bound", 2, false, false},
		{"bound_ratio", "÷ bound", 3, false, true},
	}
	rest = []column{
		{"tail_s", "tail s", 2, false, true},
		{"tail_share", "tail %", 2, true, true},
		{"jain", "Jain", 5, false, false},
		{"jain_min", "lowest", 5, false, false},
		{"paths", "paths", 1, false, false},
		{"discovery_ms", "discovery ms", 0, false, true},
		{"discovery_share", "of T100 %", 1, true, false},
		{"overhead", "overhead %", 1, true, false},
		{"retransmit_ratio", "resent %", 2, true, false},
		{"unfinished", "unfinished", 0, false, false},
	}
)

// Table writes the result as text: per point two tables with a row per system, its median over seeds and in brackets the 95%
// confidence interval, and beneath it what the paper reports. "–" is what isn't known because flows did not end.
func (r *Result) Table(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n", r.Scenario, r.Title)
	m := r.Manifest
	seeds := fmt.Sprintf("%d seeds from %d", m.Seeds, m.FirstSeed)
	if m.Seeds == 1 {
		seeds = fmt.Sprintf("seed %d", m.FirstSeed)
	}
	fmt.Fprintf(b, "%s %s, %s, encrypted: %v", m.Runner, m.Version, seeds, m.Encrypted)
	if m.Dilation > 0 && m.Dilation != 1 {
		fmt.Fprintf(b, ", time dilated by %g", m.Dilation)
	}
	fmt.Fprintln(b)
	windowed := r.Windowed()
	switch {
	case windowed && m.Seeds > 1:
		fmt.Fprintln(b, "each figure is the mean over the seeds ± the standard deviation; – is not known")
	case m.Seeds > 1:
		fmt.Fprintln(b, "each figure is the median over the seeds, with its 95% confidence interval in brackets; – is not known")
	}
	for _, why := range m.Invalid {
		fmt.Fprintf(b, "INVALID: %s\n", why)
	}
	for _, p := range r.Points {
		if windowed {
			p.measuredTable(b)
		} else {
			p.table(b)
		}
	}
	if len(m.Notes) > 0 {
		fmt.Fprintln(b)
	}
	for _, n := range m.Notes {
		fmt.Fprintf(b, "* %s\n", n)
	}
	return b.Flush()
}

func (p *Point) table(w io.Writer) {
	fmt.Fprintln(w)
	if text := paramsText(p.Params); text != "" {
		fmt.Fprintf(w, "%s; ", text)
	}
	fmt.Fprintf(w, "payload bound of max T95: %s s\n", figure(p.Bounds.MaxT95, 2))
	p.rows(w, times)
	fmt.Fprintln(w)
	p.rows(w, rest)
}

// rows writes one of the tables.
func (p *Point) rows(w io.Writer, columns []column) {
	head := []string{""}
	for _, c := range columns {
		head = append(head, c.head)
	}
	grid := [][]string{head}
	known := map[string]bool{}
	for i := range p.Systems {
		s := &p.Systems[i]
		known[s.Name] = true
		row := []string{s.Name}
		for _, c := range columns {
			row = append(row, s.cell(c))
		}
		grid = append(grid, row)
		grid = p.paperRow(grid, s.Name, "  paper", columns)
	}
	for _, v := range p.Paper {
		if !known[v.System] {
			known[v.System] = true
			grid = p.paperRow(grid, v.System, v.System+" (paper only)", columns)
		}
	}
	writeGrid(w, grid)
}

// cell is one statistic of s as text.
func (s *System) cell(c column) string {
	switch c.metric {
	case "bound":
		return figure(s.Wire.MaxT95, c.decimals)
	case "unfinished":
		return fmt.Sprintf("%d of %d", s.Summary.Unfinished, s.Summary.Flows)
	}
	e := *s.Summary.estimates()[slices.Index(metrics, c.metric)]
	text := c.text(e.Median)
	if c.interval && len(s.Runs) > 1 {
		text += " [" + c.text(e.CI95[0]) + " " + c.text(e.CI95[1]) + "]"
	}
	return text
}

func (c column) text(x float64) string {
	if c.percent && x != -1 {
		return strconv.FormatFloat(float64(x*100), 'f', c.decimals, 64)
	}
	return figure(x, c.decimals)
}

func figure(x float64, decimals int) string {
	if x == -1 {
		return "–"
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// paperRow appends what the paper says of a system in these columns, if anything.
func (p *Point) paperRow(grid [][]string, system, label string, columns []column) [][]string {
	row, found := []string{label}, false
	for _, c := range columns {
		cell := ""
		for _, v := range p.Paper {
			if v.System == system && v.Metric == c.metric {
				cell, found = c.text(v.Value), true
			}
		}
		row = append(row, cell)
	}
	if !found {
		return grid
	}
	return append(grid, row)
}

// writeGrid writes columns two spaces apart, the first to the left and the others to the right.
func writeGrid(w io.Writer, grid [][]string) {
	width := make([]int, len(grid[0]))
	for _, row := range grid {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range grid {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
