package cc

// newFerlin returns the MPCUBIC that Ferlin's shared-bottleneck detection drives (RFC 8382): it reacts as BA-MPCUBIC, and is a
// reconstruction as far as that is.
func newFerlin(mss int) Controller {
	c := newConn(mss, lecubic{})
	c.hystart, c.detect = true, &delays{}
	return sharer{c}
}
