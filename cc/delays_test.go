package cc

import (
	"testing"

	"mars/internal/machine"
)

// feed gives subflow i a delay every 10 ms.
func feed(d *delays, seconds int, delay func(i, step int) Time) {
	for step := range seconds * 100 {
		now := Time(step) * 10 * machine.Millisecond
		for i := range d.flows {
			d.onAck(now, i, Ack{Bytes: 1000, Delay: delay(i, step)})
		}
	}
}

// saw rises for period steps from 50 ms by depth, then falls: a drop-tail queue under TCP.
func saw(step, period int, depth Time) Time {
	return 50*machine.Millisecond + depth*Time(step%period)/Time(period)
}

// TestDelays: subflows with the same oscillation share, one with another amplitude and one whose queue is mostly empty don't.
func TestDelays(t *testing.T) {
	d := &delays{}
	for i := range 4 {
		d.add(0, i)
	}
	series := func(i, step int) Time {
		switch i {
		case 0, 1:
			return saw(step, 400, 40*machine.Millisecond) + Time(i)*30*machine.Millisecond // base delays differ
		case 2:
			return saw(step, 300, 10*machine.Millisecond)
		}
		if step%100 < 5 { // bursts on an idle path
			return 60 * machine.Millisecond
		}
		return 50 * machine.Millisecond
	}
	feed(d, 17, series)
	if d.verdicts() != 0 {
		t.Error("a verdict before N·T = 17.5 s")
	}
	feed2 := func(i, step int) Time { return series(i, step+1700) }
	for step := range 1000 {
		now := 17*machine.Second + Time(step)*10*machine.Millisecond
		for i := range d.flows {
			d.onAck(now, i, Ack{Bytes: 1000, Delay: feed2(i, step)})
		}
	}
	if d.group(0) != d.group(1) || d.group(0) == d.group(2) || d.group(3) == d.group(0) || d.group(3) == d.group(2) {
		t.Errorf("groups %v", d.groups)
	}
	if d.flows[3].skewed {
		t.Errorf("the idle path counts as a bottleneck: skew %v", d.flows[3].skew)
	}
}
