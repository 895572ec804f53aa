package cc

// baliaMost bounds α_r in the decrease.
const baliaMost = 1.5

// balia is the Balanced Linked Adaptation (Peng et al., ToN 2016; draft-walid-mptcp-congestion-control-04): with x_r = w_r/rtt_r and
// α_r = max x / x_r, per acknowledged packet
//
//	w_r += x_r / (rtt_r (Σx)²) · (1+α_r)/2 · (4+α_r)/5
//
// and per loss w_r −= w_r/2 · min(α_r, 1.5). The sum of the rates is what one TCP would have on the best path.
type balia struct{}

func (balia) grow(_ Time, c *conn, f *flow, acked float64) float64 {
	s := c.siblings(f)
	x := f.rate()
	if s.rate <= 0 || x <= 0 {
		return f.window
	}
	alpha := s.top / x
	step := x / f.srtt.Seconds() / float64(s.rate*s.rate)
	step = float64(step * (1 + alpha) / 2 * (4 + alpha) / 5)
	return f.window + float64(min(step, 1/f.window)*acked) // no more than a TCP, whose window the draft also bounds it by
}

func (balia) cut(c *conn, f *flow, base float64) float64 {
	alpha := 1.0
	if x := f.rate(); x > 0 {
		alpha = min(c.siblings(f).top/x, baliaMost)
	}
	return base - float64(base/2*alpha)
}
