package cc

// lecubic stands for the MPCUBIC of Le et al. (IEEE Communications Letters 2012), whose text wasn't available: a reconstruction.
// It is CUBIC with C·f² and α_c·f, f being LIA's increment as a part of Reno's.
//
// CUBIC's window is in proportion to C^¼ (RFC 9438 §5.1) and the Reno-friendly one to α_c^½ (§4.3), so both shrink by √f: to 1/n for
// each of n subflows alike. On paths of loss rates p_i and the same round-trip time, w_i ∝ 1/p_i in the Reno-friendly region, as LIA, and
// w_i ∝ p_i^(−3/2) beyond it.
type lecubic struct{ mpcubic }

func (lecubic) grow(now Time, c *conn, f *flow, acked float64) float64 {
	s := c.share(f)
	return f.curve.grow(f.window, now, f.srtt, acked, coupling{c: float64(s * s), alpha: s, step: 1})
}
