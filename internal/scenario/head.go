package scenario

import (
	"slices"
	"strings"
)

// sweptParam is one parameter with its values, as written and as numbers.
type sweptParam struct {
	name   string
	at     place
	texts  []string
	values []float64
}

// maxPoints is the number of points that a sweep may have.
const maxPoints = 1000

// head reads what is the same at every point.
func (s *Scenario) head(r *report) {
	d := &decoder{report: r, used: map[string]bool{}}
	top := d.section("", s.root)
	need(top, "name", "my-scenario", &s.Name, parseName)
	need(top, "title", "what it shows, in a line", &s.Title, parseText)
	s.Notes = texts(top, "notes", parseText)

	s.Systems = texts(top, "systems", parseSystem)
	if s.root.field("systems") == nil {
		top.missing("systems", "[MARS, best-route]")
	} else {
		for i, name := range s.Systems {
			if slices.Contains(s.Systems[:i], name) {
				d.fail(s.root.field("systems").val.at, "systems", ErrDuplicate, "remove one", "%s is there twice", name)
			}
		}
	}

	s.Controls = texts(top, "cc", parseControl)
	for i, name := range s.Controls {
		if slices.Contains(s.Controls[:i], name) {
			d.fail(s.root.field("cc").val.at, "cc", ErrDuplicate, "remove one", "%s is there twice", name)
		}
	}

	s.Seeds = Seeds{First: 1, Count: 10}
	seeds, _ := top.section("seeds")
	read(seeds, "first", &s.Seeds.First, parseSeed)
	read(seeds, "count", &s.Seeds.Count, integer(1, 10_000))
	seeds.done()
	read(top, "series", &s.Series, parsePositiveDuration)

	s.readSweep(top)
	top.each("paper", func(key string, v *value) { s.readPaper(d, key, v) })
	top.asked = append(top.asked, worldKeys...)
	top.done()
}

func (s *Scenario) readSweep(top *section) {
	sweep, _ := top.section("sweep")
	points := 1
	for _, f := range sweep.v.fields {
		key := sweep.sub(f.key)
		sweep.asked = append(sweep.asked, f.key)
		if _, err := parseName(f.key); err != nil {
			sweep.d.fail(f.at, key, ErrSweep, "use letters, digits and _", "%q can't be the name of a parameter", f.key)
			continue
		}
		p := sweptParam{name: f.key, at: f.at}
		sweep.each(f.key, func(key string, v *value) {
			var x float64
			if !parse(sweep.d, key, v, &x, parseParameter) {
				return
			}
			if slices.Contains(p.values, x) {
				sweep.d.fail(v.at, key, ErrDuplicate, "remove one", "%s is there twice", v.text)
			}
			p.texts, p.values = append(p.texts, v.text), append(p.values, x)
		})
		if len(p.values) == 0 {
			sweep.d.fail(f.at, key, ErrSweep, "write a list such as [0, 0.1%, 1%]", "%s has no values", f.key)
			continue
		}
		s.sweep = append(s.sweep, p)
		if points *= len(p.values); points > maxPoints {
			sweep.d.fail(f.at, key, ErrSize, "sweep fewer values", "more than %d points", maxPoints)
			return
		}
	}
}

func (s *Scenario) readPaper(d *decoder, key string, v *value) {
	sec := d.section(key, v)
	var p PaperPoint
	need(sec, "system", "MARS-paper", &p.System, parseSystem)
	need(sec, "metric", "max_t95_s", &p.Metric, oneOf(metrics...))
	need(sec, "value", "4.89", &p.Value, parseParameter)
	read(sec, "source", &p.Source, parseText)
	at, _ := sec.section("at")
	for _, f := range at.v.fields {
		i := slices.IndexFunc(s.sweep, func(q sweptParam) bool { return q.name == f.key })
		if i < 0 {
			d.fail(f.at, at.key, ErrSweep, nearest(f.key, s.paramNames()), "%s isn't swept", f.key)
			continue
		}
		var x float64
		if !parse(d, at.sub(f.key), f.val, &x, parseParameter) {
			continue
		}
		if !slices.Contains(s.sweep[i].values, x) {
			d.fail(f.val.at, at.sub(f.key), ErrSweep, "write one of "+strings.Join(s.sweep[i].texts, ", "), "%s never has that value", f.key)
		}
		p.At = append(p.At, Param{f.key, x})
	}
	sec.done()
	s.Paper = append(s.Paper, p)
}

func (s *Scenario) paramNames() (names []string) {
	for _, p := range s.sweep {
		names = append(names, p.name)
	}
	return names
}

// expand builds the World of every point.
func (s *Scenario) expand(r *report) {
	used := map[string]bool{}
	index := make([]int, len(s.sweep))
	total := 0
	for {
		d := &decoder{report: r, params: map[string]string{}, names: s.paramNames(), used: used}
		w := World{}
		for i, p := range s.sweep {
			d.params[p.name] = p.texts[index[i]]
			w.Params = append(w.Params, Param{p.name, p.values[index[i]]})
		}
		b := &builder{d: d, w: &w, nodes: map[string]int{}, links: map[string]int{}, flows: map[string]int{}}
		b.build(s.root)
		if len(r.list) > 0 {
			return
		}
		if total += len(w.Nodes) + len(w.Links) + len(w.Flows); total > maxExpanded {
			at := s.root.at
			d.fail(at, "sweep", ErrSize, "sweep fewer points or smaller ones", "all points together have more than %d nodes, links and flows", maxExpanded)
			return
		}
		s.worlds = append(s.worlds, w)
		i := len(index) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < len(s.sweep[i].values) {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			break
		}
	}
	for _, p := range s.sweep {
		if !used[p.name] {
			r.add(&Error{p.at.file, p.at.line, p.at.column, "sweep." + p.name, "nothing uses it", "write $" + p.name + " where it belongs, or remove it", ErrSweep})
		}
	}
}
