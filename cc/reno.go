package cc

// reno is NewReno (RFC 5681, RFC 6582): one packet per round trip, half on congestion.
type reno struct{}

func (reno) grow(_ Time, _ *conn, f *flow, acked float64) float64 {
	return f.window + float64(acked/f.window) // RFC 5681 eq. 3
}

func (reno) cut(_ *conn, _ *flow, base float64) float64 { return base / 2 } // eq. 4
