package scenario

import (
	"math"
	"slices"
)

// Summarise computes the statistics of one system at the point w. Flows that did not end, or that a run does not mention, are
// counted and make what depends on them unknown; no run is left out. Without runs every estimate is −1. It also sets the
// Values of the runs.
func Summarise(w *World, wire WireBound, runs []Run) Summary {
	s := Summary{Flows: len(runs) * len(w.Flows)}
	hops := w.shortestBytes()
	perRun := make([][]float64, len(runs))
	for i, r := range runs {
		v, unfinished := w.values(r, wire, hops)
		perRun[i] = v
		runs[i].Values = make(map[string]float64, len(v))
		for k, x := range v {
			runs[i].Values[metrics[k]] = known(x)
		}
		s.Unfinished += unfinished
	}
	for k, dst := range s.estimates() {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = perRun[i][k]
		}
		if *dst = (Estimate{-1, [2]float64{-1, -1}}); len(runs) > 0 {
			*dst = estimate(values)
		}
	}
	return s
}

// estimates are the fields in the order of values.
func (s *Summary) estimates() []*Estimate {
	return []*Estimate{
		&s.MaxT95, &s.MaxT95AfterDiscovery, &s.MedianT95, &s.MinT95, &s.MaxT100, &s.Tail, &s.TailShare, &s.Jain, &s.MinJain,
		&s.Overhead, &s.RetransmitRatio, &s.Paths, &s.DiscoveryMS, &s.DiscoveryShare, &s.BoundRatio,
	}
}

// metrics are the names of estimates in JSON, in the same order: paper values are named so.
var metrics = []string{
	"max_t95_s", "max_t95_after_discovery_s", "median_t95_s", "min_t95_s", "max_t100_s", "tail_s", "tail_share", "jain",
	"jain_min", "overhead", "retransmit_ratio", "paths", "discovery_ms", "discovery_share", "bound_ratio",
}

// values are the statistics of one run over its flows. What isn't known is +Inf, which sorts as later than everything, and
// −Inf for fairness, where less is worse.
func (w *World) values(r Run, wire WireBound, shortest float64) (v []float64, unfinished int) {
	var t95, after, t100, tail, tailShare, paths, discoveryShare []float64
	goodput, discovery := map[int][]float64{}, map[int]float64{}
	var groups []int
	var requests, resent float64
	for i, flow := range w.Flows {
		f := r.flow(i, flow.Name)
		end := orNever(f.T100)
		rate := 0.0
		if f.T100 < 0 {
			unfinished++
		} else {
			rate = float64(flow.Bytes) * 8 / 1e6 / max(f.T100, 1e-9)
		}
		t95, after, t100 = append(t95, orNever(f.T95)), append(after, orNever(f.T95AfterDiscovery)), append(t100, end)
		if f.T100 < 0 || f.T95 < 0 {
			tail, tailShare = append(tail, math.Inf(1)), append(tailShare, math.Inf(1))
		} else {
			tail, tailShare = append(tail, f.T100-f.T95), append(tailShare, (f.T100-f.T95)/max(f.T100, 1e-9))
		}
		if f.T100 < 0 || f.DiscoveryMS < 0 {
			discoveryShare = append(discoveryShare, math.Inf(1))
		} else {
			discoveryShare = append(discoveryShare, f.DiscoveryMS/1000/max(f.T100, 1e-9))
		}
		paths = append(paths, float64(f.Paths))
		if !slices.Contains(groups, flow.Group) {
			groups = append(groups, flow.Group)
		}
		goodput[flow.Group] = append(goodput[flow.Group], rate)
		discovery[flow.Group] = max(discovery[flow.Group], orNever(f.DiscoveryMS))
		requests += float64(f.Requests)
		resent += float64(f.Resent)
	}
	var fair, slowest []float64
	for _, g := range groups {
		j := jain(goodput[g])
		if math.IsNaN(j) {
			j = math.Inf(-1) // nobody got an object
		}
		fair, slowest = append(fair, j), append(slowest, discovery[g])
	}
	overhead := math.Inf(1)
	if unfinished == 0 {
		overhead = float64(r.LinkBytes)/shortest - 1
	}
	ratio := math.Inf(1)
	if wire.MaxT95 > 0 {
		ratio = slices.Max(t95) / wire.MaxT95
	}
	return []float64{
		slices.Max(t95), slices.Max(after), median(t95), slices.Min(t95), slices.Max(t100), median(tail), median(tailShare),
		median(fair), slices.Min(fair), overhead, resent / max(requests, 1), median(paths), median(slowest),
		median(discoveryShare), ratio,
	}, unfinished
}

// flow returns the result of a flow, which is most likely at index i; as never begun if there is none.
func (r *Run) flow(i int, name string) FlowResult {
	if i >= len(r.Flows) || r.Flows[i].Name != name {
		i = slices.IndexFunc(r.Flows, func(f FlowResult) bool { return f.Name == name })
	}
	if i < 0 {
		return FlowResult{T95: -1, T95AfterDiscovery: -1, T100: -1, DiscoveryMS: -1}
	}
	return r.Flows[i]
}

// orNever is t, or +Inf for −1.
func orNever(t float64) float64 {
	if t < 0 {
		return math.Inf(1)
	}
	return t
}

// shortestBytes is the payload of all flows times the links of each flow's shortest route.
func (w *World) shortestBytes() (sum float64) {
	r := newReach(w)
	hops, of := []int(nil), -1
	for _, f := range w.Flows {
		if f.Consumer != of {
			hops, of = r.hops(f.Consumer), f.Consumer
		}
		sum += float64(float64(f.Bytes) * float64(hops[f.Producer]))
	}
	return sum
}
