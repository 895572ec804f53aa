package bound

import (
	"errors"
	"fmt"

	"mars/internal/scenario"
)

// ErrImpossible says that a run claims more than physics allows: its accounting is wrong.
var ErrImpossible = errors.New("faster than possible")

// slack is how much a claim may beat its limit by rounding.
const slack = 1e-6

// Check holds a run to the limits of Of: no flow is faster than it could be alone, and where equal objects start together,
// not all of them come before the fair share brings the last. The second holds only for systems that stay within the
// stretch, and for bounds over the paths that they have.
func Check(w *scenario.World, b scenario.Bounds, r scenario.Run) error {
	equal, ended, last := true, true, 0.0
	for i, flow := range w.Flows {
		equal = equal && flow.Bytes == w.Flows[0].Bytes && flow.Start == w.Flows[0].Start
		if i >= len(r.Flows) || r.Flows[i].Name != flow.Name {
			return fmt.Errorf("the run's flows aren't those of the world: flow %d should be %s", i, flow.Name)
		}
		f := r.Flows[i]
		ended = ended && f.T95 >= 0
		last = max(last, f.T95)
		for _, claim := range []struct{ t, part float64 }{{f.T95, 0.95}, {f.T100, 1}} {
			least := float64(claim.part*size(flow)) / b.Isolated[i]
			if claim.t >= 0 && claim.t < float64(least*(1-slack)) {
				return fmt.Errorf("%w: flow %s has %g of its object after %g s; alone it needs %g s", ErrImpossible, flow.Name, claim.part, claim.t, least)
			}
		}
	}
	if equal && ended && last < float64(b.MaxT95*(1-slack)) {
		return fmt.Errorf("%w: the last flow has 95%% after %g s; a fair share takes %g s", ErrImpossible, last, b.MaxT95)
	}
	return nil
}
