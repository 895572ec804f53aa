package cc

import "mars/internal/machine"

// deliverySlots bounds the number of deliveries that a Delivery remembers.
const deliverySlots = 256

// Delivery measures throughput over a sliding window: the B_m of the MARS paper's Algorithm 1.
//
// The window is at least 20 ms and at least the span of the last four deliveries, so that a slow path whose
// deliveries are further apart than 20 ms is not measured as 0 or as a multiple of its rate.
type Delivery struct {
	ring  [deliverySlots]delivered
	head  int // next slot to write
	count int
	first machine.Time // time of the first delivery ever
	any   bool
}

type delivered struct {
	at    machine.Time
	units float64
}

const (
	deliveryWindow = 20 * machine.Millisecond
	deliveryMin    = 4
	deliverySparse = 500 * machine.Millisecond
)

// Add records that units were delivered at now. Times must not decrease.
func (d *Delivery) Add(now machine.Time, units float64) {
	if !d.any {
		d.any, d.first = true, now
	}
	// Deliveries within 1/64 of the window share a slot: a fast path would overrun the ring otherwise.
	if d.count > 0 {
		last := &d.ring[(d.head+deliverySlots-1)%deliverySlots]
		if now-last.at < deliveryWindow/64 {
			last.units += units
			return
		}
	}
	d.ring[d.head] = delivered{now, units}
	d.head = (d.head + 1) % deliverySlots
	d.count = min(d.count+1, deliverySlots)
}

// Rate returns the throughput at now in units per second. It is unknown (ok false) until a whole window has passed since the
// first delivery, and while the last deliveries took longer than half a second: a handful of packets tells nothing about
// a path, and a guard built on them would choke the flow that follows.
//
// It counts what came after the delivery that opens the window, up to the last one: counting up to now would measure a
// sparse flow up to a quarter too low, and an estimate that leads the rate by γ_max would hold it there.
func (d *Delivery) Rate(now machine.Time) (rate float64, ok bool) {
	if !d.any || now-d.first < deliveryWindow || d.count < deliveryMin {
		return 0, false
	}
	var sum float64
	newest := d.slot(1).at
	for i := 1; i <= d.count; i++ {
		s := d.slot(i)
		if i >= deliveryMin && (now-s.at >= deliveryWindow || i == d.count) {
			span := newest - s.at
			interval := span / machine.Time(i-1)
			span = max(span, now-s.at-interval) // silence beyond one interval counts
			return sum / span.Seconds(), now-s.at <= deliverySparse
		}
		sum += s.units
	}
	return 0, false
}

// slot is the i-th last delivery, from 1.
func (d *Delivery) slot(i int) *delivered { return &d.ring[(d.head+2*deliverySlots-i)%deliverySlots] }
