package bound

import (
	"math"
	"slices"

	"mars/internal/scenario"
)

// times lets the flows run as fluids, and returns the seconds from each flow's start until 95% and 100% of its object are
// there; −1: never, or not found. Rates change when a flow starts or ends.
func (n *network) times() (t95, t100 []float64) {
	flows := n.w.Flows
	unknown := slices.Repeat([]float64{-1}, len(flows))
	t95, t100 = slices.Clone(unknown), slices.Clone(unknown)
	work := 0.0
	done := make([]float64, len(flows)) // megabits
	now := 0.0
	for {
		count := make([]int, len(n.classes))
		begin := math.Inf(1)
		under := 0
		for i, f := range flows {
			switch start := f.Start.Seconds(); {
			case t100[i] >= 0:
			case start > now:
				begin = min(begin, start)
			default:
				count[n.class[i]]++
				under++
			}
		}
		if under == 0 {
			if math.IsInf(begin, 1) {
				return t95, t100
			}
			now = begin
			continue
		}
		rates, ok := n.rates(count, &work)
		if !ok {
			return unknown, slices.Clone(unknown)
		}
		next := begin
		for i, f := range flows {
			if r := rates[n.class[i]]; t100[i] < 0 && f.Start.Seconds() <= now && r > epsilon {
				next = min(next, now+(size(f)-done[i])/r)
			}
		}
		if math.IsInf(next, 1) {
			return t95, t100 // what is under way gets nothing, and nothing else will end
		}
		for i, f := range flows {
			if t100[i] >= 0 || f.Start.Seconds() > now {
				continue
			}
			r := rates[n.class[i]]
			if most := float64(0.95 * size(f)); t95[i] < 0 && r > epsilon && done[i]+float64(r*(next-now)) >= most-epsilon {
				t95[i] = now + (most-done[i])/r - f.Start.Seconds()
			}
			done[i] += float64(r * (next - now))
			if done[i] >= size(f)-epsilon {
				t100[i] = next - f.Start.Seconds()
			}
		}
		now = next
	}
}

// size is that of a flow's object in megabits.
func size(f scenario.Flow) float64 { return float64(f.Bytes) * 8 / 1e6 }
