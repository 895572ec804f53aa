package scenario

import "fmt"

// Check tells what readers of a result from elsewhere may not rely on: that there is something in it, and that every run has
// its Values.
func (r *Result) Check() error {
	if len(r.Points) == 0 {
		return fmt.Errorf("the result has no points")
	}
	for i := range r.Points {
		if len(r.Points[i].Systems) == 0 {
			return fmt.Errorf("point %d of the result has no systems", i)
		}
		for _, s := range r.Points[i].Systems {
			if len(s.Runs) == 0 {
				return fmt.Errorf("%s has no runs at point %d", s.Name, i)
			}
			for _, run := range s.Runs {
				for _, m := range metrics {
					if _, ok := run.Values[m]; !ok {
						return fmt.Errorf("%s has no value of %s for seed %d", s.Name, m, run.Seed)
					}
				}
			}
		}
	}
	return nil
}
