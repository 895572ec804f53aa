package cc

import "mars/internal/machine"

// The constants of BA-MPCUBIC's detection.
const (
	filterFirst  = 3 * machine.Second // until a connection's first verdict
	filterYoung  = machine.Second     // a younger subflow isn't judged
	filterEvery  = machine.Second
	filterRTT    = 0.2 // β of the RTT filter
	filterECN    = 0.2 // β of the ECN filter
	filterLosses = 3   // losses within so many RTT_max coincide

	filterFor     = 2 // weights of one second's evidence
	filterAgainst = 1
	filterMost    = 5 // bound of the score
	filterTurn    = 3 // score that decides
)

// filters is the shared-bottleneck detection of BA-MPCUBIC (Sensors 2021, 21(18), 6289), whose pseudocode wasn't available in full: a
// reconstruction. Once a second it compares each pair of subflows by three filters:
//
//   - ECN: both are marked, at rates within ±20% of each other;
//   - loss: a subflow lost something within 3·RTT_max of the other's loss (with ECN a mark counts, as it does to the window);
//   - RTT: the means of the second are within ±20% of each other.
//
// A filter that saw nothing says nothing. With marks the majority decides, without them RTT and loss must both agree; where neither
// side wins, the verdict stands. So it does until two in a row contradict it, for one second's evidence is a handful of losses.
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
	marked, acked   float64 // bytes
	lost            Time
	lossy, everLost bool // lossy: in this second
}

// pair is what two subflows showed together.
type pair struct {
	met    bool // losses coincided in this second
	shared bool // the verdict
	score  int  // what spoke for it, less what spoke against it
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
		f.rttNow = max(f.rttNow, a.RTT)
	}
	f.acked += float64(a.Bytes)
	if a.Marked > 0 {
		f.marked += float64(min(a.Marked, a.Bytes))
		if d.ecn && (!f.everLost || now-f.lost > a.RTT) {
			d.congested(now, i)
		}
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
			d.pair(i, j).hear(d.judge(f, g, d.pair(i, j)))
		}
	}
	for i := range d.flows {
		f := &d.flows[i]
		f.rtts, f.samples, f.lossy = 0, 0, false
		f.rttMost, f.rttNow = f.rttNow, 0
		f.marked, f.acked = 0, 0
	}
	for i := range d.pairs {
		d.pairs[i].met = false
	}
	d.unite()
}

// hear weighs a verdict. Coincidence weighs more than its absence: subflows behind one queue often miss each other's losses,
// subflows behind two seldom meet.
func (p *pair) hear(v vote) {
	switch v {
	case favour:
		p.score = min(p.score+filterFor, filterMost)
	case against:
		p.score = max(p.score-filterAgainst, -filterMost)
	case silent:
		return
	}
	if p.score >= filterTurn {
		p.shared = true
	} else if p.score <= -filterTurn {
		p.shared = false
	}
}

func (d *filters) judge(f, g *filtered, p *pair) vote {
	rtt := likeness(f.rtts/max(f.samples, 1), g.rtts/max(g.samples, 1), filterRTT)
	loss := silent
	if p.met {
		loss = favour
	} else if f.lossy || g.lossy {
		loss = against
	}
	ecn := silent
	if d.ecn {
		ecn = likeness(f.marked/max(f.acked, 1), g.marked/max(g.acked, 1), filterECN)
	}
	switch sum := rtt + loss + ecn; {
	case ecn != silent && sum > 0:
		return favour
	case ecn != silent && sum < 0:
		return against
	case ecn != silent:
		return silent
	case rtt == against || loss == against:
		return against
	case rtt == favour && loss == favour:
		return favour
	}
	return silent
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
