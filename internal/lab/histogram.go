package lab

import "time"

// histogram counts durations in steps of 10 µs, up to 50 ms.
type histogram struct {
	steps [5001]int64
	total int64
}

const step = 10 * time.Microsecond

func (h *histogram) add(d time.Duration) {
	h.steps[min(max(int(d/step), 0), len(h.steps)-1)]++
	h.total++
}

// quantile is the upper end of the step that holds the q-th part of all, 0…1; 0 for none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := int64(q * float64(h.total))
	for i, n := range h.steps {
		if rank -= n; rank < 0 {
			return time.Duration(i+1) * step
		}
	}
	return time.Duration(len(h.steps)) * step
}
