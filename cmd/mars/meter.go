package main

import (
	"time"

	"mars"
)

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

// rates are the rates of a fetch, in bytes per second: of what it fetched, and of the content on each path.
type rates struct {
	all   *meter
	paths map[string]*meter // by pathKey
}

func newRates() rates { return rates{new(meter), make(map[string]*meter)} }

// note takes the state of the fetch. Its Elapsed doesn't decrease.
func (r *rates) note(p mars.Progress) {
	r.all.add(p.Elapsed, float64(p.Bytes-p.Resumed))
	for _, f := range p.Faces {
		m := r.paths[pathKey(f)]
		if m == nil {
			m = new(meter)
			r.paths[pathKey(f)] = m
		}
		m.add(p.Elapsed, float64(f.ContentIn))
	}
}

// pathKey tells faces apart, those without a name too.
func pathKey(f mars.FaceStatus) string { return f.Name + " " + f.PeerName() }

// goodput is the mean rate of content over a path, in bit/s.
func goodput(f mars.FaceStatus, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return 8 * float64(f.ContentIn) / d.Seconds()
}

// fetchedRate is the mean rate of what was fetched, in bit/s; what an earlier fetch left doesn't count.
func fetchedRate(p mars.Progress) float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return 8 * float64(p.Bytes-p.Resumed) / p.Elapsed.Seconds()
}
