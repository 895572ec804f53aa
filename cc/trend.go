package cc

import (
	"math"

	"mars/internal/machine"
)

const (
	trendStep = 100 * machine.Millisecond // about a round trip, so that a window's own bursts even out
	trendKeep = 256                       // steps that are remembered
	// trendStill is the variance below which nothing moves, s²: that of 10 µs.
	trendStill = 1e-10
)

// trend is how a subflow's round-trip time has moved: its means over steps that all subflows have in common, in a ring.
type trend [trendKeep]struct {
	step   int64
	sum, n float64 // s
}

// add takes a sample in.
func (t *trend) add(now, rtt Time) {
	s := int64(now / trendStep)
	b := &t[s%trendKeep]
	if b.step != s {
		b.step, b.sum, b.n = s, 0, 0
	}
	b.sum += rtt.Seconds()
	b.n++
}

// moments are sums over the steps of which two trends have a mean.
type moments struct{ n, x, y, xx, yy, xy float64 }

// moments are those of steps from first until last, about the means mx and my.
func (t *trend) moments(o *trend, first, last int64, mx, my float64) (m moments) {
	for s := max(first, 0); s < last; s++ {
		p, q := &t[s%trendKeep], &o[s%trendKeep]
		if p.step != s || q.step != s || p.n == 0 || q.n == 0 {
			continue
		}
		x, y := p.sum/p.n-mx, q.sum/q.n-my
		m.n++
		m.x, m.y = m.x+x, m.y+y
		m.xx, m.yy, m.xy = m.xx+float64(x*x), m.yy+float64(y*y), m.xy+float64(x*y)
	}
	return m
}

// with compares two trends over a time before now. Subflows behind one queue see it grow and shrink together: along is the correlation
// of their means, −1…1. They see it at the same height: apart is the square of the difference between their means, as a part of how
// much both vary in all that is remembered. ok is false where a third of the steps or less can be compared, or nothing moves.
func (t *trend) with(o *trend, now, over Time) (along, apart float64, ok bool) {
	last := int64(now / trendStep)
	first := last - int64(over/trendStep)
	m := t.moments(o, first, last, 0, 0)
	if m.n < 3 || 3*m.n <= float64(last-first) {
		return 0, 0, false
	}
	mx, my := m.x/m.n, m.y/m.n
	near := t.moments(o, first, last, mx, my)
	all := t.moments(o, last-trendKeep+1, last, mx, my)
	vary := (all.xx + all.yy - float64(all.x*all.x)/all.n - float64(all.y*all.y)/all.n) / all.n
	if still := float64(trendStill * near.n); near.xx <= still || near.yy <= still || vary <= 0 {
		return 0, 0, false
	}
	return near.xy / math.Sqrt(float64(near.xx*near.yy)), float64((mx-my)*(mx-my)) / vary, true
}
