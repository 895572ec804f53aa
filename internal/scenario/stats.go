package scenario

import (
	"math"
	"slices"
)

// median returns the middle of values, the mean of the middle two of an even number; NaN without values. Infinities are
// values like others.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	if n%2 == 1 || s[n/2-1] == s[n/2] {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// resamples is the number of bootstrap samples: enough that the ends of the interval don't hang on single draws.
const resamples = 1000

// estimate returns the median of one value per seed with the 2.5% and 97.5% points of the medians of resamples (percentile
// bootstrap; Efron, 1979). The draws are always the same, so the interval is a function of the values.
func estimate(values []float64) Estimate {
	draw := dice{uint64(len(values))}
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[draw.below(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return Estimate{
		Median: known(median(values)),
		CI95:   [2]float64{known(medians[resamples/40]), known(medians[resamples-1-resamples/40])},
	}
}

// known is x, or −1 for what has no number.
func known(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return -1
	}
	return x
}

// jain is Jain's fairness index of xs, from 1/n to 1 (Jain, Chiu and Hawe, 1984); NaN if all are zero.
func jain(xs []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range xs {
		sum += x
		squares += float64(x * x)
	}
	return float64(sum*sum) / float64(float64(len(xs))*squares)
}
