package cc

// runs measures how much came between losses, packets: OLIA's l1 and l2.
type runs struct {
	acked float64 // since the last loss
	prior float64 // between the last two
}

func (r *runs) lost() { r.prior, r.acked = r.acked, 0 }

// longest is l = max(l1, l2); 1/l estimates the loss rate of the path.
func (r *runs) longest() float64 { return max(r.acked, r.prior) }

// olia is the Opportunistic LIA (Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05): per acknowledged packet
//
//	w_r += (w_r/rtt_r²) / (Σ w_p/rtt_p)² + ε_r/w_r
//
// ε moves window from the largest subflows M to those of the best paths B (greatest l/rtt²) that aren't large. Only the best paths are
// used at equilibrium, by as much as one TCP would; the others probe.
type olia struct{ reno }

func (olia) grow(_ Time, c *conn, f *flow, acked float64) float64 {
	s := c.siblings(f)
	if s.rate <= 0 || f.srtt <= 0 {
		return f.window
	}
	step := f.rate() / f.srtt.Seconds() / float64(s.rate*s.rate)
	return f.window + float64((step+c.epsilon(f)/f.window)*acked)
}

// epsilon is ε_r: 1/(n·|B∖M|) for the best that aren't largest, −1/(n·|M|) for the largest while there are such, else 0.
func (c *conn) epsilon(f *flow) float64 {
	var best, widest float64
	live := 0
	for i := range c.flows {
		if g := &c.flows[i]; g.live && g.srtt > 0 {
			live++
			best = max(best, g.goodness())
			widest = max(widest, g.window)
		}
	}
	behind, largest := 0, 0 // |B∖M|, |M|
	for i := range c.flows {
		if g := &c.flows[i]; g.live && g.srtt > 0 {
			switch {
			case g.window >= widest:
				largest++
			case g.goodness() >= best:
				behind++
			}
		}
	}
	switch {
	case behind == 0:
		return 0
	case f.window >= widest:
		return -1 / float64(live*largest)
	case f.goodness() >= best:
		return 1 / float64(live*behind)
	}
	return 0
}

// goodness is l/rtt², in proportion to the square of the rate that one TCP would have there.
func (f *flow) goodness() float64 {
	rtt := f.srtt.Seconds()
	return f.runs.longest() / float64(rtt*rtt)
}
