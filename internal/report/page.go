package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"

	"mars/internal/scenario"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageStudy is what the template shows of one study.
type pageStudy struct {
	ID, Name, Title   string
	Warnings, Summary []string
	Difference        *difference
	Figures           []pageFigure
	Paper             table
	Metrics           []table
	Manifest          table
	Notes             []string
	What              []scenario.Metric
}

type pageFigure struct {
	ID, Title, Text string
	Few             bool // two beside each other rather than three
	Legend          []template.HTML
	Panels          []template.HTML
}

// HTML writes one page about the results, which needs nothing from anywhere. With c it also shows how the first differs from
// the one before.
func HTML(w io.Writer, results []*scenario.Result, c *scenario.Comparison) error {
	var studies []pageStudy
	for i, r := range results {
		studies = append(studies, onPage(newStudy(r), fmt.Sprintf("r%d", i)))
	}
	if c != nil && len(studies) > 0 {
		studies[0].Difference = newDifference(c)
	}
	title := "MARS report"
	if len(results) == 1 {
		title = results[0].Scenario + ": MARS report"
	}
	return page.Execute(w, map[string]any{"Title": title, "Sheet": template.CSS(sheet()), "Studies": studies})
}

func onPage(s *study, id string) pageStudy {
	p := pageStudy{
		ID: id, Name: s.Scenario, Title: s.Title, Warnings: Warnings(s.Result), Summary: Summary(s.Result),
		Paper: s.paperTable(), Manifest: s.manifestTable(), Notes: s.Manifest.Notes, What: scenario.Metrics(),
	}
	if s.Windowed() {
		p.What = nil
	}
	for _, f := range s.figures() {
		pf := pageFigure{ID: id + "-" + f.name, Title: f.title, Text: f.text, Few: len(f.panels)%3 != 0}
		for _, e := range f.legend {
			key := &picture{w: 26, h: 16}
			key.add(mark{points: []point{{0, 8}, {26, 8}}, line: e.look.colour, width: 2, dash: e.look.dash})
			key.marker(e.look, point{13, 8}, 4, 0)
			pf.Legend = append(pf.Legend, template.HTML(key.key()+escape(e.name)))
		}
		for k, panel := range f.panels {
			pf.Panels = append(pf.Panels, template.HTML(panel.svg(fmt.Sprintf("%s-%d", pf.ID, k), false)))
		}
		p.Figures = append(p.Figures, pf)
	}
	for i := range s.Points {
		p.Metrics = append(p.Metrics, s.metricsTable(i))
	}
	return p
}

// sortedPairs lists a map as name=value.
func sortedPairs(m map[string]string) (all []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return all
}
