package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"mars/internal/scenario"
)

// study is one result with what its pictures share.
type study struct {
	*scenario.Result
	systems []string // at any point, in the order in which they appear
	looks   map[string]look
}

func newStudy(r *scenario.Result) *study {
	s := &study{Result: r}
	for i := range r.Points {
		for _, sys := range r.Points[i].Systems {
			if !slices.Contains(s.systems, sys.Name) {
				s.systems = append(s.systems, sys.Name)
			}
		}
	}
	s.looks = assign(s.systems)
	return s
}

// legend lists the systems of the study.
func (s *study) legend() (all []entry) {
	for _, name := range s.systems {
		all = append(all, entry{name, s.looks[name]})
	}
	return all
}

// pointName tells a point by its parameters: "loss 1%".
func pointName(p *scenario.Point) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		parts = append(parts, name+" "+paramText(name, p.Params[name]))
	}
	return strings.Join(parts, ", ")
}

// paramText writes the value of a parameter; those that are parts of one by their name as percentages.
func paramText(name string, v float64) string {
	if strings.Contains(name, "loss") && v >= 0 && v <= 1 {
		return strconv.FormatFloat(math.Round(v*1e8)/1e6, 'f', -1, 64) + "%"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// heading is the name of a point, or of the study where there is only one.
func (s *study) heading(i int) string {
	if name := pointName(&s.Points[i]); name != "" {
		return name
	}
	return s.Scenario
}

// times returns the times of all flows of all runs, in order, and how many flows there were; those that didn't end are
// missing from the times.
func times(s *scenario.System, of func(*scenario.FlowResult) float64) (all []float64, flows int) {
	for i := range s.Runs {
		for j := range s.Runs[i].Flows {
			flows++
			if t := of(&s.Runs[i].Flows[j]); t >= 0 {
				all = append(all, t)
			}
		}
	}
	slices.Sort(all)
	return all, flows
}

// largest is the greatest of some values of all runs of all systems at all points; at least 0.
func (s *study) largest(of func(*scenario.System, *scenario.Run) float64) (most float64) {
	for i := range s.Points {
		for j := range s.Points[i].Systems {
			sys := &s.Points[i].Systems[j]
			for k := range sys.Runs {
				most = max(most, of(sys, &sys.Runs[k]))
			}
		}
	}
	return most
}

// seeds says how many runs a picture stands on.
func (s *study) seeds() string {
	if s.Manifest.Seeds == 1 {
		return "one seed"
	}
	return fmt.Sprintf("%d seeds", s.Manifest.Seeds)
}

// figure is a set of panels that are looked at together.
type figure struct {
	name, title, text string // text: what is seen, for the page
	legend            []entry
	panels            []*picture
}

// board is the figure as one picture.
func (f *figure) board() *picture {
	return board(f.name, f.title, f.text, f.legend, f.panels, 2)
}
