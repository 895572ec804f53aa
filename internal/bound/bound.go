package bound

import "mars/internal/scenario"

// Options say which paths a flow may use.
type Options struct {
	// Paths is the number of shortest routes per flow; a flow whose World names routes uses the first of those. 0: every
	// loop-free route within Stretch.
	Paths int
	// Stretch is how many times as many hops as the shortest route a route must stay below; 0: 2, the threshold of path
	// discovery (MARS §III-B).
	Stretch float64
}

// Cost is what a system sends on a link per byte of payload that the link carries.
type Cost struct {
	Data     float64 // IP bytes of Data (or segments) toward the consumer; ≥ 1
	Interest float64 // IP bytes of Interests (or acknowledgements) toward the producer; ≥ 0
	Options
}

// Of returns the limits with free headers. Starts count: capacity is shared by the flows that are under way. Where faults
// change a link's rate or loss, the best that it ever has counts; other faults don't count. −1 stands for a flow that can
// never end, and for all flows of a World that is too large for its bound to be found. A flow without a route is an error.
func Of(w *scenario.World, opt Options) (scenario.Bounds, error) {
	n, err := newNetwork(w, Cost{Data: 1, Options: opt}, false)
	if err != nil {
		return scenario.Bounds{}, err
	}
	b := scenario.Bounds{}
	b.PayloadT95, b.PayloadT100 = n.times()
	b.MaxT95 = latest(b.PayloadT95)
	for i := range w.Flows {
		b.Isolated = append(b.Isolated, n.isolated(&w.Flows[i]))
	}
	return b, nil
}

// Wire returns the limits with the system's own bytes charged and every link's capacity reduced by its loss rate. Its times
// are −1 where those of Of would be.
func Wire(w *scenario.World, cost Cost) (scenario.WireBound, error) {
	n, err := newNetwork(w, cost, true)
	if err != nil {
		return scenario.WireBound{}, err
	}
	t95, t100 := n.times()
	return scenario.WireBound{MaxT95: latest(t95), MaxT100: latest(t100), BytesPerByte: cost.Data + cost.Interest}, nil
}

// latest returns the greatest time, or −1 if one of them is.
func latest(times []float64) (last float64) {
	for _, t := range times {
		if t < 0 {
			return -1
		}
		last = max(last, t)
	}
	return last
}

// capacities returns the capacity of each direction, at 2·link for A to B and 2·link+1 for B to A, in Mbit/s.
func capacities(w *scenario.World, lossy bool) []float64 {
	c := make([]float64, 2*len(w.Links))
	for i := range w.Links {
		for way, d := range []*scenario.Direction{&w.Links[i].AB, &w.Links[i].BA} {
			rate, loss := d.Rate, meanLoss(d.Loss)
			for _, f := range w.Faults {
				if f.Kind == scenario.SetRate && f.Link == i {
					rate = max(rate, f.Value)
				}
				if f.Kind == scenario.SetLoss && f.Link == i {
					loss = min(loss, f.Value)
				}
				if f.Kind == scenario.Heal {
					loss = 0
				}
			}
			if !lossy {
				loss = 0
			}
			c[2*i+way] = float64(rate / 1e6 * (1 - loss))
		}
	}
	return c
}

// meanLoss is the part of the packets that l takes in the long run.
func meanLoss(l scenario.Loss) float64 {
	bursts := 0.0
	if l.BurstEnter > 0 {
		bursts = float64(l.BurstEnter / (l.BurstEnter + l.BurstLeave) * l.BurstLoss)
	}
	return 1 - float64((1-l.Random)*(1-bursts))
}
