package cc

// coupledcubic stands for Coupled CUBIC ("CUBIC on a large-BDP path in a linked-increase manner", 2021), of which only the abstract
// was available: a reconstruction. It is CUBIC whose increment per acknowledgement is f times what it would be, f being LIA's
// increment as a part of Reno's; so is the slope of W_est.
//
// The curve itself isn't flattened: a window that lags it catches up, by f of the gap per round trip. A path of large bandwidth-delay
// product is therefore filled in seconds, where LIA adds less than a packet per round trip.
type coupledcubic struct{ mpcubic }

func (coupledcubic) grow(now Time, c *conn, f *flow, acked float64) float64 {
	s := c.share(f)
	return f.curve.grow(f.window, now, f.srtt, acked, coupling{c: 1, alpha: s, step: s})
}
