package cc

// What mp-quic ran (De Coninck and Bonaventure, CoNEXT 2017). It was made of a QUIC whose senders stood for two connections each, as
// Chromium's did then: less is lost at a congestion event, and CUBIC's slope in the Reno-friendly region is that of two.
const (
	twinConnections = 2
	// twinBeta is what an event that meets one of the connections leaves.
	twinBeta = (twinConnections - 1 + cubicBeta) / twinConnections
	// twinAlpha is α_c of RFC 9438 §4.3 for that decrease, times the square of the number, since the window is that of all.
	twinAlpha = 3 * twinConnections * twinConnections * (1 - twinBeta) / (1 + twinBeta)
)

// twinOLIA is OLIA with that decrease.
type twinOLIA struct{ olia }

func (twinOLIA) cut(_ *conn, _ *flow, base float64) float64 { return float64(base * twinBeta) }

// twinCubic is CUBIC as two connections.
type twinCubic struct{}

func (twinCubic) grow(now Time, _ *conn, f *flow, acked float64) float64 {
	return f.curve.grow(f.window, now, f.srtt, acked, coupling{1, twinAlpha / cubicAlpha, 1})
}

func (twinCubic) cut(_ *conn, f *flow, base float64) float64 {
	yields := base < f.curve.most // fast convergence
	f.curve.congest(base)
	if yields {
		f.curve.most = float64(base * (1 + twinBeta) / 2)
	}
	return float64(base * twinBeta)
}
