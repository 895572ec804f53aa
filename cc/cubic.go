package cc

import "mars/internal/machine"

// The constants of CUBIC (RFC 9438 §4.1, §4.6).
const (
	cubicC    = 0.4
	cubicBeta = 0.7
	// cubicAlpha makes W_est as friendly as Reno with a decrease of one half (§4.3).
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	// cubicMin is the least window, packets (§4.6: at least 2).
	cubicMin = 2
	// cubicMost is the greatest: no path holds more.
	cubicMost = 1 << 24
)

// Cubic is CUBIC (RFC 9438): a congestion window, in packets, that grows by the time since the last congestion rather than by
// the number of round trips.
//
// The zero value is not usable; call NewCubic. Times passed to the methods must not decrease. The caller tells one congestion
// event from the next: losses and marks of packets that were sent before the last decrease belong to it (RFC 6675,
// "RecoveryPoint"), so that there is one decrease per round trip. It reports acknowledgements only while the window is what
// limits it (§5.8), and never those of an idle time.
type Cubic struct {
	window    float64
	threshold float64 // ssthresh
	most      float64 // W_max
	prior     float64 // cwnd_prior
	estimate  float64 // W_est
	k         float64 // seconds
	origin    float64 // W_max, or the window when it has passed that
	epoch     machine.Time
	begun     bool // epoch counts
	rtt       machine.Time
}

// NewCubic returns a controller in slow start with an initial window of packets, at least 2.
func NewCubic(initial float64) Cubic {
	if !(initial >= cubicMin && initial <= cubicMost) {
		panic("cc: initial window out of range")
	}
	return Cubic{window: initial, threshold: cubicMost}
}

// Window returns the congestion window in packets, 2…2^24.
func (c *Cubic) Window() float64 { return c.window }

// SlowStart tells whether the window still grows by what is acknowledged.
func (c *Cubic) SlowStart() bool { return c.window < c.threshold }

// OnRTT records the smoothed round-trip time, by which the growth looks ahead (§4.2).
func (c *Cubic) OnRTT(rtt machine.Time) { c.rtt = rtt }

// OnAck records that acked packets of those sent arrived at now.
func (c *Cubic) OnAck(now machine.Time, acked float64) {
	if c.SlowStart() { // §4.10
		c.window = min(c.window+acked, max(c.threshold, c.window))
		return
	}
	if !c.begun {
		c.begin(now)
	}
	t := (now - c.epoch).Seconds()
	target := c.at(t + c.rtt.Seconds()) // §4.2: where the curve will be a round trip from now
	target = min(max(target, c.window), float64(1.5*c.window))
	alpha := 1.0
	if c.estimate < c.prior { // §4.3: slower than Reno until the window of the last congestion is reached again
		alpha = cubicAlpha
	}
	c.estimate += float64(alpha * acked / c.window)
	if c.at(t) < c.estimate { // §4.3
		c.window = max(c.window, c.estimate)
	} else { // §4.4, §4.5
		c.window += float64((target - c.window) / c.window * acked)
	}
	c.window = min(c.window, cubicMost)
}

// begin starts an epoch of congestion avoidance (§4.2).
func (c *Cubic) begin(now machine.Time) {
	c.begun, c.epoch, c.estimate = true, now, c.window
	if c.window < c.most {
		c.k, c.origin = cbrt((c.most-c.window)/cubicC), c.most
	} else {
		c.k, c.origin = 0, c.window
	}
}

// at is W_cubic(t), t in seconds since the epoch began (§4.2, figure 1).
func (c *Cubic) at(t float64) float64 {
	d := t - c.k
	return float64(cubicC*float64(d*float64(d*d))) + c.origin
}

// OnLoss records a congestion event that loss shows (§4.6).
func (c *Cubic) OnLoss(now machine.Time) { c.decrease() }

// OnECN records a congestion event that a mark shows; it counts like a loss (§4.6).
func (c *Cubic) OnECN(now machine.Time) { c.decrease() }

func (c *Cubic) decrease() {
	c.prior = c.window
	if c.window < c.most { // §4.7, fast convergence: make room for newcomers
		c.most = float64(c.window * (1 + cubicBeta) / 2)
	} else {
		c.most = c.window
	}
	c.window = max(float64(c.window*cubicBeta), cubicMin)
	c.threshold = c.window
	c.begun = false
}

// OnTimeout records that nothing at all came for a retransmission timeout (§4.8): back to slow start, up to what the
// decrease of a loss leaves.
func (c *Cubic) OnTimeout(now machine.Time) {
	c.decrease()
	c.window = cubicMin
}

// cbrt is the cube root of x ≥ 0, by Newton's method, for math.Cbrt differs by architecture. The result is within a few units
// in the last place for x below 1e12.
func cbrt(x float64) float64 {
	if x <= 0 {
		return 0
	}
	y := max(x, 1) // above the root, from where the steps fall towards it
	for {
		next := float64((float64(2*y) + float64(x/float64(y*y))) / 3)
		if next >= y {
			return y
		}
		y = next
	}
}
