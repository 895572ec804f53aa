package cc

// lia is the Linked Increases Algorithm (RFC 6356): per acknowledged packet
//
//	w_i += min(α/Σw, 1/w_i),  α = Σw · max(w_j/rtt_j²) / (Σ w_j/rtt_j)²
//
// At equilibrium w_i is inversely proportional to the loss rate of its path, and all take together what one TCP would on the best.
type lia struct{ reno }

func (lia) grow(_ Time, c *conn, f *flow, acked float64) float64 {
	own := 1 / f.window
	if s := c.siblings(f); s.rate > 0 {
		own = min(s.square/float64(s.rate*s.rate), own) // §3: α/Σw, where Σw cancels
	}
	return f.window + float64(own*acked)
}
