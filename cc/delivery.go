package cc

import "mars/internal/machine"

// Delivery measures throughput over a sliding window: the B_m of the MARS paper's Algorithm 1. The zero value has seen
// nothing.
//
// The window is at least 20 ms and at least the span of the last four deliveries, so that a slow path whose deliveries
// are further apart than 20 ms is not measured as 0 or as a multiple of its rate.
type Delivery struct {
	ring   [deliverySlots]delivered
	head   int // next slot to write
	count  int
	opened machine.Time // when the newest slot was opened
}

// delivered is what came at about the same time.
type delivered struct {
	at    machine.Time // of the last of it
	units float64
}

const (
	deliveryWindow = 20 * machine.Millisecond
	// A handful of packets spread over half a second tells nothing about a path, and a guard built on them would choke
	// the flow that follows.
	deliveryMin    = 4
	deliverySparse = 500 * machine.Millisecond

	// Deliveries within 1/64 of the window share a slot: a fast path would overrun the ring otherwise.
	deliverySlots = 256
	deliverySlot  = deliveryWindow / 64

	// deliveryMost bounds what one slot may count, so that sums stay finite whatever the caller says.
	deliveryMost = 1e12
)

// Add records that units were delivered at now. Times must not decrease; units that are not positive don't count.
func (d *Delivery) Add(now machine.Time, units float64) {
	if !(units > 0) { // also NaN
		return
	}
	if d.count > 0 && now-d.opened < deliverySlot {
		last := d.slot(1)
		last.at, last.units = now, min(last.units+units, deliveryMost)
		return
	}
	d.ring[d.head] = delivered{now, min(units, deliveryMost)}
	d.head = (d.head + 1) % deliverySlots
	d.count = min(d.count+1, deliverySlots)
	d.opened = now
}

// slot returns the i-th newest slot, from 1.
func (d *Delivery) slot(i int) *delivered { return &d.ring[(d.head+deliverySlots-i)%deliverySlots] }

// Rate returns the throughput at now in units per second. ok is false while it is unknown: until a whole window has passed
// and four deliveries have come, and while the last four are spread over more than half a second.
//
// It counts what came after the delivery that opens the window, up to the last one: counting up to now would measure a
// sparse flow up to a quarter too low, and an estimate that leads the rate by γ_max would hold it there. Silence beyond
// the usual interval does count.
func (d *Delivery) Rate(now machine.Time) (rate float64, ok bool) {
	var sum float64
	for i := 1; i <= d.count; i++ {
		s := d.slot(i)
		if age := now - s.at; i >= deliveryMin && age >= deliveryWindow {
			span := d.slot(1).at - s.at
			span = max(span, age-span/machine.Time(i-1))
			return sum / span.Seconds(), age <= deliverySparse
		}
		sum += s.units
	}
	return 0, false
}
