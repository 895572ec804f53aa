package main

import "time"

// rateWindow is the time over which a rate "now" is taken: long enough to be read, short enough to show a path that died.
const rateWindow = 2 * time.Second

// meter tells the rate at which a counter grew lately.
type meter struct {
	samples []reading
}

type reading struct {
	at    time.Duration
	value float64
}

// add notes the counter's value at a time; times don't decrease.
func (m *meter) add(at time.Duration, value float64) {
	m.samples = append(m.samples, reading{at, value})
	old := 0
	for old+1 < len(m.samples) && at-m.samples[old+1].at >= rateWindow {
		old++
	}
	m.samples = append(m.samples[:0], m.samples[old:]...)
}

// rate is the growth per second over the last rateWindow, or since the first reading; never negative.
func (m *meter) rate() float64 {
	if len(m.samples) == 0 {
		return 0
	}
	first, last := m.samples[0], m.samples[len(m.samples)-1]
	if last.at <= first.at || last.value <= first.value {
		return 0
	}
	return (last.value - first.value) / (last.at - first.at).Seconds()
}
