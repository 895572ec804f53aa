package scenario

import (
	"math"
	"slices"
	"time"
)

// Measure is the window over which flows that go on are measured.
type Measure struct {
	From, To time.Duration
	Step     time.Duration // of the series of subflows
}

// measure reads the window.
func (b *builder) measure(top *section) {
	s, ok := top.section("measure")
	if !ok {
		return
	}
	m := Measure{Step: time.Second}
	read(s, "from", &m.From, parseDuration)
	need(s, "to", "120s", &m.To, parsePositiveDuration)
	read(s, "step", &m.Step, parsePositiveDuration)
	s.done()
	switch {
	case m.To > 0 && m.From >= m.To:
		b.d.fail(s.at, s.key, ErrValue, "let it end after its beginning", "it begins at %v and ends at %v", m.From, m.To)
	case m.To/m.Step > 100_000:
		b.d.fail(s.at, s.sub("step"), ErrSize, "make it longer", "%d steps; the limit is 100000", m.To/m.Step)
	}
	b.w.Measure = m
}

// plainHeader is what TCP and IP add to a segment with timestamps: a link's payload is its rate less that of each packet.
const plainHeader = 52

// payload is what a direction of a link can carry for one TCP, Mbit/s.
func (w *World) payload(direction int) float64 {
	d := &w.Links[direction/2].AB
	if direction%2 == 1 {
		d = &w.Links[direction/2].BA
	}
	return float64(d.Rate / 1e6 * float64(d.MTU-plainHeader) / float64(d.MTU))
}

// Measured computes the figures of one run of flows that were measured over a window, and nothing else does:
//
//	benefit      aggregate benefit (Paasch et al.) of the first flow that isn't background; benefit:FLOW of each
//	jain:LINK    Jain's index on a bottleneck, where all subflows of a connection there count as one flow; jain: mean over those
//	             that background flows share
//	use:LINK     part of a bottleneck's payload that flows take which aren't background
//	goodput:FLOW Mbit/s
//	accuracy     part of the verdicts on subflows that name exactly those that share its bottleneck: verdicts come at even intervals,
//	             so it is the part of the time
//	detection_s  mean time from a start or change to the first right verdict on each subflow concerned; without one until the next
//	             change, the time until that
//	missed       part of those that had none
func (w *World) Measured(r *Run) map[string]float64 {
	v := map[string]float64{}
	shares := map[int]map[int]float64{} // by bottleneck: what each flow has there
	first := true
	for i := range w.Flows {
		f, result := &w.Flows[i], r.flow(i, w.Flows[i].Name)
		v["goodput:"+f.Name] = result.Goodput
		w.shares(i, &result, shares)
		if f.Background != "" || len(f.Paths) == 0 {
			continue
		}
		b := w.benefit(i, len(result.Subflows), result.Goodput)
		v["benefit:"+f.Name] = b
		if first {
			v["benefit"], first = b, false
			w.detected(f, &result, v)
		}
	}
	w.fairness(shares, v)
	for name := range v { // order: each for itself
		if math.IsNaN(v[name]) || math.IsInf(v[name], 0) {
			delete(v, name)
		}
	}
	return v
}

// steps are the steps of the series within the window.
func (m *Measure) steps() (from, to int) {
	return int((m.From + m.Step - 1) / m.Step), int(m.To / m.Step)
}

// shares adds what a flow got behind each bottleneck over the window, in Mbit/s times steps.
func (w *World) shares(i int, r *FlowResult, shares map[int]map[int]float64) {
	f := &w.Flows[i]
	from, to := w.Measure.steps()
	for k := range min(len(r.Subflows), len(f.Paths)) {
		for s := from; s < min(to, len(r.Subflows[k].Series)); s++ {
			at := w.Bottleneck(f, f.Route(k, time.Duration(s)*w.Measure.Step))
			if shares[at] == nil {
				shares[at] = map[int]float64{}
			}
			shares[at][i] += r.Subflows[k].Series[s]
		}
	}
}

// fairness adds Jain's index and the use of every bottleneck.
func (w *World) fairness(shares map[int]map[int]float64, v map[string]float64) {
	from, to := w.Measure.steps()
	var indices []float64
	for at := range 2 * len(w.Links) {
		all := shares[at]
		if len(all) == 0 {
			continue
		}
		var got []float64
		own, background := 0.0, false
		for i := range w.Flows {
			x, here := all[i]
			if !here {
				continue
			}
			got = append(got, x)
			if w.Flows[i].Background == "" {
				own += x
			} else {
				background = true
			}
		}
		name := w.Links[at/2].Name
		v["use:"+name] = own / max(float64(to-from), 1) / w.payload(at)
		if len(got) > 1 {
			v["jain:"+name] = jain(got)
			if background {
				indices = append(indices, jain(got))
			}
		}
	}
	if len(indices) > 0 {
		v["jain"] = mean(indices)
	}
}

// benefit is the aggregate benefit of a flow that got g over its first paths, n of them: (g − C_max)/(ΣC − C_max) from C_max on, else
// (g − C_max)/C_max. C is the part of a path's bottleneck that its background flows leave to one flow, over the time.
func (w *World) benefit(flow, n int, g float64) float64 {
	f := &w.Flows[flow]
	from, to := w.Measure.steps()
	sum, most := 0.0, 0.0
	for k := range min(n, len(f.Paths)) {
		c := 0.0
		for s := from; s < to; s++ {
			now := time.Duration(s) * w.Measure.Step
			at := w.Bottleneck(f, f.Route(k, now))
			others := 1.0
			for j := range w.Flows {
				if o := &w.Flows[j]; o.Background != "" && len(o.Paths) > 0 && w.Bottleneck(o, o.Route(0, now)) == at {
					others++
				}
			}
			c += w.payload(at) / others / float64(to-from)
		}
		sum, most = sum+c, max(most, c)
	}
	if g >= most {
		return (g - most) / (sum - most)
	}
	return (g - most) / most
}

// companions are the subflows that share subflow k's bottleneck at a time, as a set of bits.
func (w *World) companions(f *Flow, n, k int, at time.Duration) (set uint64) {
	own := w.Bottleneck(f, f.Route(k, at))
	for j := range n {
		if w.Bottleneck(f, f.Route(j, at)) == own {
			set |= 1 << j
		}
	}
	return set
}

// detected adds how well the shared bottlenecks of a flow were detected.
func (w *World) detected(f *Flow, r *FlowResult, v map[string]float64) {
	n := min(len(r.Subflows), len(f.Paths), 64)
	if len(r.Detections) == 0 || n < 2 {
		return
	}
	changes := slices.DeleteFunc(f.Changes(w.Measure.To), func(at time.Duration) bool { return at <= f.Start })
	phases := append([]time.Duration{f.Start}, changes...)
	right, total, waited, missed, asked := 0.0, 0.0, 0.0, 0.0, 0.0
	for p, from := range phases {
		to := w.Measure.To
		if p+1 < len(phases) {
			to = phases[p+1]
		}
		for k := range n {
			truth := w.companions(f, n, k, from)
			good, all, first := verdicts(r.Detections, k, truth, from.Seconds(), to.Seconds())
			right, total = right+good, total+all
			if p > 0 && truth == w.companions(f, n, k, from-1) || all == 0 {
				continue // nothing to detect, or nothing was said
			}
			asked++
			waited += first
			if good == 0 {
				missed++
			}
		}
	}
	if total == 0 {
		return
	}
	v["accuracy"], v["detection_s"], v["missed"] = right/total, waited/max(asked, 1), missed/max(asked, 1)
}

// verdicts is for how long subflow k's group was right within a time, for how long there was a verdict at all, and how long it took
// to be right.
func verdicts(all []Detection, k int, truth uint64, from, to float64) (right, total, first float64) {
	first = to - from
	for i := range all {
		begin, end := max(all[i].At, from), to
		if i+1 < len(all) {
			end = min(all[i+1].At, to)
		}
		if end <= begin || k >= len(all[i].Groups) {
			continue
		}
		total += end - begin
		var set uint64
		for j, g := range all[i].Groups {
			if g == all[i].Groups[k] {
				set |= 1 << j
			}
		}
		if set == truth {
			right += end - begin
			first = min(first, begin-from)
		}
	}
	return right, total, first
}

// Spread is how a figure spreads over runs.
type Spread struct {
	N      int     `json:"n"` // runs that have it
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"` // of the sample; 0 of one
	Min    float64 `json:"min"`
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
	Max    float64 `json:"max"`
}

// Spreads returns how every figure of the runs spreads; nil if none has any.
func Spreads(runs []Run) map[string]Spread {
	values := map[string][]float64{}
	for i := range runs {
		for name, x := range runs[i].Measured { // order: each name gets its values in the order of the runs
			values[name] = append(values[name], x)
		}
	}
	if len(values) == 0 {
		return nil
	}
	all := map[string]Spread{}
	for name, xs := range values { // order: each for itself
		all[name] = spread(xs)
	}
	return all
}

func spread(values []float64) Spread {
	xs := slices.Sorted(slices.Values(values))
	m, squares := mean(values), 0.0
	for _, x := range values {
		squares += float64((x - m) * (x - m))
	}
	s := Spread{
		N: len(xs), Mean: m, Min: xs[0], Q1: quantile(xs, 0.25), Median: quantile(xs, 0.5), Q3: quantile(xs, 0.75), Max: xs[len(xs)-1],
	}
	if len(xs) > 1 {
		s.SD = math.Sqrt(squares / float64(len(xs)-1))
	}
	return s
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// quantile of sorted values, between neighbours in proportion (Hyndman and Fan's type 7).
func quantile(sorted []float64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
