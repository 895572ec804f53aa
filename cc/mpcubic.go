package cc

// mpcubic is CUBIC per subflow, each for itself (U-MPCUBIC), which is CUBIC when there is but one.
type mpcubic struct{}

func (mpcubic) grow(now Time, _ *conn, f *flow, acked float64) float64 {
	return f.curve.grow(f.window, now, f.srtt, acked, plain())
}

func (mpcubic) cut(_ *conn, f *flow, base float64) float64 { return f.curve.congest(base) } // RFC 9438 §4.6

// share is f_i = min(1, w_i · max(w_j/rtt_j²) / (Σ w_j/rtt_j)²) over the subflows of f's group: LIA's increment as a part of
// Reno's. It is 1 for a subflow alone, and 1/n² for each of n alike.
func (c *conn) share(f *flow) float64 {
	s := c.siblings(f)
	if s.rate <= 0 {
		return 1
	}
	return min(1, float64(f.window*s.square)/float64(s.rate*s.rate))
}
