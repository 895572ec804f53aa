package cc

// newBA returns BA-MPCUBIC (bottleneck-aware, Sensors 2021, 21(18), 6289): CUBIC per subflow, coupled as Le's MPCUBIC among those that
// share a bottleneck. Detection and coupling are reconstructions; see filters and lecubic.
//
// Without ecn the detection uses round-trip times and losses only; marks still count as congestion.
func newBA(mss int, ecn bool) Controller {
	c := newConn(mss, lecubic{})
	c.hystart, c.detect = true, &filters{ecn: ecn}
	return sharer{c}
}

// sharer is a conn that detects shared bottlenecks.
type sharer struct{ *conn }

// Shared implements Sharer.
func (s sharer) Shared(a, b Subflow) bool {
	f, g := s.get(a), s.get(b)
	return f != nil && g != nil && f.group == g.group
}

// Verdicts implements Sharer.
func (s sharer) Verdicts() uint64 { return s.detect.verdicts() }
