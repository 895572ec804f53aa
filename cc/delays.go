package cc

import (
	"cmp"
	"slices"

	"mars/internal/machine"
)

// The parameters of RFC 8382 §2.2.
const (
	sbdT   = 350 * machine.Millisecond
	sbdN   = 50 // intervals of freq_est and pkt_loss
	sbdM   = 30 // intervals of mean_delay, var_est and skew_est
	sbdCS  = 0.1
	sbdCH  = 0.3
	sbdPL  = 0.05
	sbdPF  = 0.1
	sbdMAD = 0.1
	sbdPS  = 0.15
	sbdPD  = 0.1
	sbdPV  = 0.7
)

// delays is the shared-bottleneck detection of RFC 8382 (Ferlin et al., "Revisiting congestion control for multipath TCP with shared
// bottleneck detection", INFOCOM 2016): subflows behind a bottleneck whose one-way delays have alike oscillation, spread and
// skewness share it. Its first verdict takes N·T = 17.5 s. Where no one-way delay is measured, the round-trip time stands for it.
type delays struct {
	flows  []delayed
	groups groups
	order  []int // scratch: subflows that may share, sorted
	label  []int // scratch: their groups in the making
	due    Time
	begun  bool
	count  uint64
}

// delayed is one subflow's summary statistics (RFC 8382 §3).
type delayed struct {
	live      bool
	ring      [sbdN]interval
	intervals int // complete ones, however many
	now       interval
	mean      float64 // mean_delay over the last M intervals
	skewed    bool    // a bottleneck was there
	side      vote    // of mean_delay, where the last significant crossing led

	skew, spread, freq, loss float64
}

// interval is what happened within T.
type interval struct {
	samples, sum, skew, deviation float64
	lost, total                   float64 // packets, in acknowledgements
	crossed                       float64
}

// average returns E_T(OWD), or otherwise without a sample.
func (v *interval) average(otherwise float64) float64 {
	if v.samples == 0 {
		return otherwise
	}
	return v.sum / v.samples
}

func (d *delays) add(now Time, i int) {
	if i >= len(d.flows) {
		d.flows = append(d.flows, delayed{})
		d.groups = append(d.groups, i)
		d.order, d.label = make([]int, 0, len(d.flows)), make([]int, len(d.flows))
	}
	if !d.begun {
		d.begun, d.due = true, now+sbdT
	}
	d.flows[i] = delayed{live: true}
}

func (d *delays) remove(i int) {
	d.flows[i] = delayed{}
	d.unite()
}

func (d *delays) group(i int) int { return d.groups[i] }

func (d *delays) verdicts() uint64 { return d.count }

func (d *delays) onLoss(_ Time, i int, _ Loss) {
	d.flows[i].now.lost++
	d.flows[i].now.total++
}

func (d *delays) onAck(now Time, i int, a Ack) bool {
	f := &d.flows[i]
	f.now.total++
	owd := a.Delay
	if owd == 0 {
		owd = a.RTT
	}
	if owd != 0 {
		f.sample(owd.Seconds())
	}
	if now < d.due {
		return false
	}
	d.due = now + sbdT
	for j := range d.flows {
		if d.flows[j].live {
			d.flows[j].close()
		}
	}
	return d.unite()
}

// sample takes a one-way delay in (RFC 8382 §3.1.1 to §3.1.3).
func (f *delayed) sample(owd float64) {
	v := &f.now
	v.samples++
	v.sum += owd
	if f.intervals == 0 {
		return
	}
	if owd < f.mean {
		v.skew++
	} else if owd > f.mean {
		v.skew--
	}
	last := f.ring[(f.intervals-1)%sbdN]
	v.deviation += abs(owd - last.average(f.mean))
}

func abs(x float64) float64 { return max(x, -x) }

// close ends an interval and makes the summary.
func (f *delayed) close() {
	average := f.now.average(f.mean)
	if bound := float64(sbdPV * f.spread); f.intervals > 0 { // §3.1.4: significant crossings of the mean
		side := silent
		if average > f.mean+bound {
			side = favour
		} else if average < f.mean-bound {
			side = against
		}
		if side != silent && side != f.side {
			f.side, f.now.crossed = side, 1
		}
	}
	f.ring[f.intervals%sbdN] = f.now
	f.intervals++
	f.now = interval{}

	var recent, all interval
	for i := range min(f.intervals, sbdN) {
		v := f.ring[(f.intervals-1-i)%sbdN]
		if i < sbdM {
			recent.samples += v.samples
			recent.sum += v.sum
			recent.skew += v.skew
			recent.deviation += v.deviation
		}
		all.lost += v.lost
		all.total += v.total
		all.crossed += v.crossed
	}
	f.mean = recent.average(f.mean)
	f.skew, f.spread = recent.skew/max(recent.samples, 1), recent.deviation/max(recent.samples, 1)
	f.loss, f.freq = all.lost/max(all.total, 1), all.crossed/sbdN
}

// bottlenecked tells whether the subflow has a bottleneck at all (§3.3.1, step 1).
func (f *delayed) bottlenecked() bool {
	f.skewed = f.skew < sbdCS || f.skew < sbdCH && f.skewed || f.loss > sbdPL
	return f.skewed
}

// unite groups the bottlenecked subflows (§3.3.1): lists sorted by one statistic are split where it jumps. It returns false until
// there are statistics to judge by.
func (d *delays) unite() bool {
	d.groups.reset()
	d.order = d.order[:0]
	judged := false
	for i := range d.flows {
		if f := &d.flows[i]; f.live && f.intervals >= sbdN {
			judged = true
			if f.bottlenecked() {
				d.order = append(d.order, i)
				d.label[i] = 0
			}
		}
	}
	if judged {
		d.count++
	}
	d.split(func(f *delayed) float64 { return f.freq }, sbdPF, 0)
	d.split(func(f *delayed) float64 { return f.spread }, 0, sbdMAD)
	lossy := slices.ContainsFunc(d.order, func(i int) bool { return d.flows[i].loss > sbdPL })
	if lossy {
		d.split(func(f *delayed) float64 { return f.loss }, 0, sbdPD)
	} else {
		d.split(func(f *delayed) float64 { return f.skew }, sbdPS, 0)
	}
	for i, a := range d.order {
		for _, b := range d.order[i+1:] {
			if d.label[a] == d.label[b] {
				d.groups.join(a, b)
			}
		}
	}
	return judged
}

// split divides groups where a statistic of neighbours differs by more than by, or by more than share of the larger.
func (d *delays) split(of func(*delayed) float64, by, share float64) {
	slices.SortStableFunc(d.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.label[a], d.label[b]), cmp.Compare(of(&d.flows[a]), of(&d.flows[b])), cmp.Compare(a, b))
	})
	previous, next := -1, -1
	for n, i := range d.order {
		old := d.label[i]
		value := of(&d.flows[i])
		if n == 0 || old != previous || value-of(&d.flows[d.order[n-1]]) >= max(by, float64(share*value)) && value > of(&d.flows[d.order[n-1]]) {
			next++
		}
		previous = old
		d.label[i] = next
	}
}
