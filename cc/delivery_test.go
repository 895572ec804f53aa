package cc

import (
	"math"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// every delivers units at a steady interval from 0 until end.
func every(d *Delivery, interval, end machine.Time, units float64) (last machine.Time) {
	for now := machine.Time(0); now <= end; now += interval {
		d.Add(now, units)
		last = now
	}
	return last
}

// TestDeliveryWindow: what Rate says about steady paths, and while they begin and end.
func TestDeliveryWindow(t *testing.T) {
	const us = machine.Microsecond
	for _, c := range []struct {
		say      string
		interval machine.Time
		end, at  machine.Time // the last delivery at the latest, and when Rate is asked
		want     float64      // of one unit a delivery; −1: unknown
	}{
		{"nothing delivered yet but one", 30 * ms, 0, 25 * ms, -1},
		{"four deliveries, but no whole window", ms, 3 * ms, 3 * ms, -1},
		{"a window less 1 ns", ms, 19 * ms, 20*ms - 1, -1},
		{"a whole window: 20 in 20 ms", ms, 20 * ms, 20 * ms, 1000},
		{"1 ms apart", ms, 100 * ms, 100 * ms, 1000},
		{"1 µs apart: slots are shared", us, 50 * ms, 50 * ms, 1e6},
		{"10 µs apart", 10 * us, 100 * ms, 100 * ms, 1e5},
		{"4 ms apart: five in the window", 4 * ms, 100 * ms, 100 * ms, 250},
		{"10 ms apart: three intervals", 10 * ms, 100 * ms, 100 * ms, 100},
		{"100 ms apart", 100 * ms, 2000 * ms, 2000 * ms, 10},
		{"100 ms apart, asked just before the next", 100 * ms, 2000 * ms, 2100*ms - 1, 10},
		{"100 ms apart, the next one is overdue", 100 * ms, 2000 * ms, 2200 * ms, 7.5},
		{"160 ms apart: three intervals in half a second", 160 * ms, 1600 * ms, 1600 * ms, 6.25},
		{"170 ms apart: too sparse", 170 * ms, 1700 * ms, 1700 * ms, -1},
		{"three deliveries, far apart", 100 * ms, 200 * ms, 250 * ms, -1},
		{"10 ms after the end: half a window", ms, 100 * ms, 110 * ms, 10 / 0.019},
		{"a while after the end: three in 102 ms", ms, 100 * ms, 200 * ms, 3 / 0.102},
		{"long after the end", ms, 100 * ms, 700 * ms, -1},
	} {
		t.Run(c.say, func(t *testing.T) {
			var d Delivery
			every(&d, c.interval, c.end, 1)
			got, ok := d.Rate(c.at)
			if !ok {
				got = -1
			}
			if math.Abs(got-c.want) > 0.02*math.Abs(c.want) {
				t.Errorf("%v units/s, want %v", got, c.want)
			}
		})
	}
}

// TestDeliveryCountsUnits: the units are the caller's, and deliveries may differ in size.
func TestDeliveryCountsUnits(t *testing.T) {
	var d Delivery
	for i := range 40 {
		d.Add(machine.Time(i)*ms, float64(1000+i%2*7000))
	}
	if got, ok := d.Rate(39 * ms); !ok || got != 20*4500/0.02 {
		t.Errorf("%v, %v", got, ok)
	}
}

// TestDeliverySpan: what shares a slot came at the time of the last of it.
func TestDeliverySpan(t *testing.T) {
	var d Delivery
	d.Add(0, 1)
	d.Add(deliverySlot-1, 1)
	for _, at := range []machine.Time{30 * ms, 60 * ms, 90 * ms} {
		d.Add(at, 1)
	}
	if got, ok := d.Rate(90 * ms); !ok || got != 3/(90*ms-deliverySlot+1).Seconds() {
		t.Errorf("%v, %v", got, ok)
	}
}

// TestDeliveryRestarts: after a pause the deliveries before it don't count for those after it.
func TestDeliveryRestarts(t *testing.T) {
	var d Delivery
	every(&d, ms, 100*ms, 1)
	for i := range 3 {
		now := machine.Second + machine.Time(i)*ms
		d.Add(now, 1)
		if r, ok := d.Rate(now); ok {
			t.Errorf("%d deliveries after the pause: %v units/s", i+1, r)
		}
	}
}

// TestDeliveryIgnoresNonsense: what is not a positive number is nothing.
func TestDeliveryIgnoresNonsense(t *testing.T) {
	var d Delivery
	for i := range 100 {
		now := machine.Time(i) * ms
		d.Add(now, 1)
		for _, v := range []float64{0, -5, math.NaN(), math.Inf(-1)} {
			d.Add(now, v)
		}
	}
	if got, ok := d.Rate(99 * ms); !ok || got != 1000 {
		t.Errorf("%v, %v", got, ok)
	}
}

// TestDeliveryProperty: a measurement is a number, not negative, and never more than all that was delivered in the last
// half second, counted over the least window.
func TestDeliveryProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Delivery
		now, total := machine.Time(0), 0.0
		for range rapid.IntRange(0, 600).Draw(t, "n") {
			now += machine.Time(rapid.OneOf(rapid.Int64Range(0, int64(ms)), rapid.Int64Range(0, int64(machine.Second))).Draw(t, "gap"))
			units := rapid.Float64Range(0, 1e9).Draw(t, "units")
			total += units
			d.Add(now, units)
			got, ok := d.Rate(now)
			if !(got >= 0 && got <= total/deliveryWindow.Seconds()*1.000001) {
				t.Fatalf("%v units/s of %v in all", got, total)
			}
			if !ok && d.count == deliverySlots && now-d.slot(deliveryMin).at < deliveryWindow {
				t.Fatal("a busy path has no measurement")
			}
		}
	})
}
