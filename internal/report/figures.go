package report

import "mars/internal/scenario"

// figures are the pictures of a study that its result has data for, in the order of the page.
func (s *study) figures() (all []*figure) {
	all = append(all, s.cdfs(95), s.cdfs(100))
	all = append(all, rows{
		name: "max-t95", title: "The slowest flow's T95", metric: "max_t95_s", bars: true, bound: true, values: runValues("max_t95_s"),
		paper: []string{"max_t95_s"},
		text: "From the request to 95% of the object. Bar and black tick: median over " + s.seeds() + "; whiskers: 95% bootstrap interval; a sign per run; " +
			"dashed tick: the limit of physics with the system's own headers; hollow diamond: the paper's value where it measures the same.",
	}.figure(s))
	return all
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
			if v := -1.0; squares[g] > 0 {
				v = sum[g] * sum[g] / n[g] / squares[g]
				all = append(all, v)
			} else {
				all = append(all, v)
			}
		}
	}
	return all
}
