package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Figure is one of the figures of Measured: its name and how people read it.
type Figure struct {
	Name, Head string
	Decimals   int
}

// measuredHeads are the figures in the order in which they are told; what has a colon comes for each link or flow.
var measuredHeads = []Figure{
	{"benefit", "benefit", 2},
	{"jain", "Jain", 3},
	{"jain:", "Jain ", 3},
	{"use:", "use ", 2},
	{"goodput:", "Mbit/s ", 2},
	{"accuracy", "accuracy", 3},
	{"detection_s", "detected s", 1},
	{"missed", "missed", 2},
}

// Figures lists the figures that any system of the point has.
func (p *Point) Figures() (all []Figure) {
	names := map[string]bool{}
	for i := range p.Systems {
		for name := range p.Systems[i].Measured { // order: a set
			names[name] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	for _, h := range measuredHeads {
		for _, name := range sorted {
			of, _ := strings.CutPrefix(name, h.Name)
			if name == h.Name || strings.HasSuffix(h.Name, ":") && of != name {
				all = append(all, Figure{name, h.Head + of, h.Decimals})
			}
		}
	}
	return all
}

// Text writes the mean of a figure over runs and, of several, its standard deviation; "–" where no run has it.
func (f Figure) Text(m map[string]Spread) string {
	s, ok := m[f.Name]
	if !ok {
		return "–"
	}
	text := strconv.FormatFloat(s.Mean, 'f', f.Decimals, 64)
	if s.N > 1 {
		text += "±" + strconv.FormatFloat(s.SD, 'f', f.Decimals, 64)
	}
	return text
}

// Windowed tells whether the result is of flows that were measured over a window.
func (r *Result) Windowed() bool {
	return slices.ContainsFunc(r.Points, func(p Point) bool {
		return slices.ContainsFunc(p.Systems, func(s System) bool { return len(s.Measured) > 0 })
	})
}

// measuredTable writes a row per system with what was measured over the window.
func (p *Point) measuredTable(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", paramsText(p.Params))
	figures := p.Figures()
	head := []string{""}
	for _, f := range figures {
		head = append(head, f.Head)
	}
	grid := [][]string{head}
	for i := range p.Systems {
		row := []string{p.Systems[i].Name}
		for _, f := range figures {
			row = append(row, f.Text(p.Systems[i].Measured))
		}
		grid = append(grid, row)
	}
	writeGrid(w, grid)
}
