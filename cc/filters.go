package cc

import "mars/internal/machine"

// The constants of BA-MPCUBIC's detection.
const (
	filterFirst  = 3 * machine.Second // until a connection's first verdict
	filterYoung  = machine.Second     // a younger subflow isn't judged
	filterEvery  = machine.Second
	filterRTT    = 0.2 // β of the RTT filter
	filterLosses = 3   // losses within so many RTT_max coincide

	filterOver  = 2 * machine.Second // what the RTT filter looks at, at least
	filterTrips = 30                 // and round trips
	filterAlong = 0.45               // correlation that says nothing; more speaks for sharing
	filterGain  = 6                  // evidence per correlation
	filterApart = 0.3                // difference, as a part of what both vary, that speaks against it
	filterLoss  = 0.3                // evidence of the other filters; of the RTT filter at most 1
	filterMost  = 2.0                // bound of the score
	filterTurn  = 1.0                // score that decides
)

// filters is the shared-bottleneck detection of BA-MPCUBIC (Sensors 2021, 21(18), 6289), whose pseudocode wasn't available: a
// reconstruction (docs/adr/0020). Once a second it weighs for each pair of subflows what three filters say:
//
//   - RTT: their means of that second are within ±20% of each other, and their round-trip times have risen and fallen together;
//   - loss: a subflow lost something within 3·RTT_max of the other's loss;
//   - ECN: a mark counts as a loss there. The source compares rates of marks; queues that mark one packet at a time make those differ
//     behind one queue, and that did more harm than good.
//
// Means that differ decide alone. The evidence moves a score, and the verdict stands until the score has crossed to the other side, for
// one second's evidence is a few losses and a piece of a queue's history.
type filters struct {
	ecn    bool
	flows  []filtered
	pairs  []pair // of i < j: at i·len(flows)+j
	groups groups
	due    Time // of the next verdict
	begun  bool
	count  uint64
}

// filtered is what one subflow showed.
type filtered struct {
	live            bool
	since           Time
	rtts            float64 // sum of the samples of this second, s
	samples         float64
	rttMost         Time // largest sample of this second and the last
	rttNow          Time
	rttLeast        Time // of all; 0: none yet
	trend           trend
	lost            Time
	lossy, everLost bool // lossy: in this second
}

// pair is what two subflows showed together.
type pair struct {
	met    bool    // losses coincided in this second
	shared bool    // the verdict
	score  float64 // what spoke for it, less what spoke against it
}

// vote is what a filter says.
type vote int8

const (
	against vote = iota - 1
	silent
	favour
)

func (d *filters) add(now Time, i int) {
	if i >= len(d.flows) {
		d.flows = append(d.flows, filtered{})
		d.groups = append(d.groups, i)
		d.pairs = make([]pair, len(d.flows)*len(d.flows))
		d.restore()
	}
	if !d.begun {
		d.begun, d.due = true, now+filterFirst
	}
	d.flows[i] = filtered{live: true, since: now}
}

// restore derives the pairs' verdicts from the groups, when the matrix has grown.
func (d *filters) restore() {
	for i := range d.flows {
		for j := i + 1; j < len(d.flows); j++ {
			d.pair(i, j).shared = d.groups[i] == d.groups[j]
		}
	}
}

func (d *filters) pair(i, j int) *pair { return &d.pairs[min(i, j)*len(d.flows)+max(i, j)] }

func (d *filters) remove(i int) {
	d.flows[i] = filtered{}
	for j := range d.flows {
		if j != i {
			*d.pair(i, j) = pair{}
		}
	}
	d.unite()
}

func (d *filters) group(i int) int { return d.groups[i] }

func (d *filters) verdicts() uint64 { return d.count }

func (d *filters) onAck(now Time, i int, a Ack) bool {
	f := &d.flows[i]
	if a.RTT > 0 {
		f.rtts += a.RTT.Seconds()
		f.samples++
		if f.rttLeast == 0 || a.RTT < f.rttLeast {
			f.rttLeast = a.RTT
		}
		if f.everLost { // in slow start all queues grow
			f.trend.add(now, a.RTT)
		}
		f.rttNow = max(f.rttNow, a.RTT)
	}
	if a.Marked > 0 && d.ecn && (!f.everLost || now-f.lost > a.RTT) {
		d.congested(now, i)
	}
	if now < d.due {
		return false
	}
	d.decide(now)
	d.due = now + filterEvery
	return true
}

func (d *filters) onLoss(now Time, i int, _ Loss) { d.congested(now, i) }

// congested looks whether a sibling met congestion at about the same time.
func (d *filters) congested(now Time, i int) {
	f := &d.flows[i]
	f.lost, f.lossy, f.everLost = now, true, true
	most := Time(0)
	for j := range d.flows {
		most = max(most, d.flows[j].rttMost, d.flows[j].rttNow)
	}
	for j := range d.flows {
		if g := &d.flows[j]; j != i && g.live && g.everLost && now-g.lost <= filterLosses*most {
			d.pair(i, j).met = true
		}
	}
}

// decide comes to a verdict about every pair, and begins a new second.
func (d *filters) decide(now Time) {
	for i := range d.flows {
		for j := i + 1; j < len(d.flows); j++ {
			f, g := &d.flows[i], &d.flows[j]
			if !f.live || !g.live || now-f.since < filterYoung || now-g.since < filterYoung {
				continue
			}
			d.count++
			d.pair(i, j).hear(judge(now, f, g, d.pair(i, j)))
		}
	}
	for i := range d.flows {
		f := &d.flows[i]
		f.rtts, f.samples, f.lossy = 0, 0, false
		f.rttMost, f.rttNow = f.rttNow, 0
	}
	for i := range d.pairs {
		d.pairs[i].met = false
	}
	d.unite()
}

// hear adds evidence.
func (p *pair) hear(e float64) {
	p.score = min(max(p.score+e, -filterMost), filterMost)
	if p.score >= filterTurn {
		p.shared = true
	} else if p.score <= -filterTurn {
		p.shared = false
	}
}

// judge is the evidence of one second that two subflows share a bottleneck: positive for, negative against.
func judge(now Time, f, g *filtered, p *pair) (e float64) {
	if likeness(f.rtts/max(f.samples, 1), g.rtts/max(g.samples, 1), filterRTT) == against {
		return -1
	}
	over := max(filterOver, filterTrips*max(f.rttLeast, g.rttLeast))
	if along, apart, ok := f.trend.with(&g.trend, now, over); ok {
		if e = min(max(float64(filterGain*(along-filterAlong)), -1), 1); apart > filterApart {
			e = -1
		}
	}
	if p.met {
		e += filterLoss
	} else if f.lossy || g.lossy {
		e -= filterLoss
	}
	return e
}

// likeness compares two means. Neither: nothing is known; only one: they differ.
func likeness(a, b, by float64) vote {
	switch {
	case a <= 0 && b <= 0:
		return silent
	case b >= float64((1-by)*a) && b <= float64((1+by)*a) || a >= float64((1-by)*b) && a <= float64((1+by)*b):
		return favour
	}
	return against
}

// unite makes groups of the pairs.
func (d *filters) unite() {
	d.groups.reset()
	for i := range d.flows {
		for j := i + 1; j < len(d.flows); j++ {
			if d.pair(i, j).shared {
				d.groups.join(i, j)
			}
		}
	}
}
