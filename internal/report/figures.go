package report

import "mars/internal/scenario"

// figures are the pictures of a study that its result has data for, in the order of the page.
func (s *study) figures() (all []*figure) {
	if s.Windowed() {
		return s.windowed()
	}
	const how = "Black tick: median over the seeds; whiskers: 95% bootstrap interval; a sign per run."
	all = append(all, s.cdfs(95), s.cdfs(100))
	all = append(all, rows{
		name: "max-t95", title: "The slowest flow's T95", metric: "max_t95_s", axis: "max T95, s", bars: true, bound: true, values: runValues("max_t95_s"),
		paper: "max_t95_s",
		text: "From the request to 95% of the object. The bar ends at the median. " + how +
			" Dashed tick: the limit of physics with the system's own headers. Hollow diamond: the paper's value of the same.",
	}.figure(s))
	if s.discovers() {
		all = append(all, rows{
			name: "max-t95-after-discovery", title: "The slowest flow's T95, counted as the paper does", metric: "max_t95_after_discovery_s", axis: "max T95 after discovery, s",
			bars: true, values: runValues("max_t95_after_discovery_s"), paper: "max_t95_after_discovery_s",
			text: "From the end of the flow's discovery to 95% of the object. The bar ends at the median. " + how + " Hollow diamond: the paper's value.",
		}.figure(s))
	}
	all = append(all, rows{
		name: "bound-ratio", title: "How near to physics", metric: "bound_ratio", axis: "max T95 ÷ its wire bound", values: runValues("bound_ratio"), line: 1, lineName: "1",
		text: "The slowest flow's T95 over the limit of physics with the system's own headers: 1 is perfect. " + how,
	}.figure(s))
	all = append(all, s.sensitivities()...)
	if s.grouped() {
		all = append(all, rows{
			name: "jain", title: "Fairness within groups", metric: "jain", axis: "Jain's index", values: groupJains, line: 1, lineName: "1", most: 1, paper: "jain",
			text: "Jain's index of the average goodput of flows that start together: 1 is equal. A sign per group and run; " +
				"black tick: median over the seeds of the median group. Hollow diamond: the paper's value.",
		}.figure(s))
	}
	if f := s.goodput(); f != nil {
		all = append(all, f)
	}
	if f := s.graphs(); f != nil {
		all = append(all, f)
	}
	return all
}

// discovers tells whether any system spends time on discovery.
func (s *study) discovers() bool {
	return s.largest(func(_ *scenario.System, r *scenario.Run) float64 { return r.Values["discovery_ms"] }) > 0
}

// grouped tells whether any group has more than one flow: fairness is of several.
func (s *study) grouped() bool {
	for _, f := range s.Points[0].Systems[0].Runs[0].Flows {
		n := 0
		for _, o := range s.Points[0].Systems[0].Runs[0].Flows {
			if o.Group == f.Group {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// groupJains are Jain's indices of all groups of all runs of a system.
func groupJains(s *scenario.System) (all []float64) {
	for i := range s.Runs {
		r := &s.Runs[i]
		sum, squares, n := map[int]float64{}, map[int]float64{}, map[int]float64{}
		var groups []int
		for j := range r.Flows {
			f := &r.Flows[j]
			if n[f.Group] == 0 {
				groups = append(groups, f.Group)
			}
			n[f.Group]++
			sum[f.Group] += f.Goodput
			squares[f.Group] += f.Goodput * f.Goodput
		}
		for _, g := range groups {
			v := -1.0 // nobody got an object
			if squares[g] > 0 {
				v = sum[g] * sum[g] / n[g] / squares[g]
			}
			all = append(all, v)
		}
	}
	return all
}
