package fetch

import "mars/internal/machine"

const (
	recentSpan  = 250 * machine.Millisecond
	recentSlots = 16
	recentSlot  = recentSpan / recentSlots
)

// recent counts what a flow delivered within the last 250 ms, to a sixteenth of that. The zero value has seen nothing.
type recent struct {
	slots [recentSlots]int32 // by number of slot, modulo
	sum   int32
	slot  machine.Time // number of the newest
	since machine.Time // of the first delivery
	begun bool
}

// turn moves on to now. Times must not decrease.
func (r *recent) turn(now machine.Time) {
	n := now / recentSlot
	if n-r.slot >= recentSlots {
		r.slots, r.sum, r.slot = [recentSlots]int32{}, 0, n
	}
	for r.slot < n {
		r.slot++
		i := r.slot % recentSlots
		r.sum -= r.slots[i]
		r.slots[i] = 0
	}
}

// add counts a delivery at now.
func (r *recent) add(now machine.Time) {
	if !r.begun {
		r.begun, r.since = true, now
	}
	r.turn(now)
	r.slots[r.slot%recentSlots]++
	r.sum++
}

// within returns how many deliveries a span of time sees at the present pace; false: the flow is too young to tell.
func (r *recent) within(now, span machine.Time) (float64, bool) {
	if !r.begun || now-r.since <= recentSpan {
		return 0, false
	}
	r.turn(now)
	return float64(r.sum) * float64(span) / float64(recentSpan), true
}
