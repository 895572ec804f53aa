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
	// cubicLeast bounds a coupled C from below, so that K stays finite.
	cubicLeast = 1e-9
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
	rtt       machine.Time
	curve
}

// curve is what CUBIC remembers beside the window.
type curve struct {
	most     float64 // W_max
	prior    float64 // cwnd_prior
	estimate float64 // W_est
	first    float64 // cwnd_epoch
	c        float64 // C, packets/s³; less than cubicC when the subflows of a connection are coupled
	k        float64 // seconds
	origin   float64 // W_max, or the window when it has passed that
	epoch    machine.Time
	begun    bool // epoch counts
}

// coupling is how the subflows of a connection weaken CUBIC; plain weakens nothing.
type coupling struct {
	c     float64 // factor of C
	alpha float64 // factor of α_c, the slope of W_est
	step  float64 // factor of the increment per acknowledgement
}

func plain() coupling { return coupling{1, 1, 1} }

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
	c.window = c.grow(c.window, now, c.rtt, acked, plain())
}

// grow returns the window after acked more packets in congestion avoidance (§4.2 to §4.5).
func (c *curve) grow(window float64, now, rtt machine.Time, acked float64, by coupling) float64 {
	if !c.begun {
		c.begin(window, now)
	}
	c.bend(float64(cubicC * by.c))
	t := max((now - c.epoch).Seconds(), 0)
	target := c.at(t + rtt.Seconds()) // §4.2: where the curve will be a round trip from now
	target = min(max(target, window), float64(1.5*window))
	alpha := 1.0
	if c.estimate < c.prior { // §4.3: slower than Reno until the window of the last congestion is reached again
		alpha = cubicAlpha
	}
	c.estimate = min(c.estimate+float64(alpha*by.alpha*acked/window), cubicMost)
	if c.at(t) < c.estimate { // §4.3
		window = max(window, c.estimate)
	} else { // §4.4, §4.5
		window += float64((target - window) / window * acked * by.step)
	}
	return min(window, cubicMost)
}

// begin starts an epoch of congestion avoidance (§4.2).
func (c *curve) begin(window float64, now machine.Time) {
	c.begun, c.epoch, c.estimate, c.first = true, now, window, window
	c.origin, c.c = max(c.most, window), 0
}

// bend sets C, and K with it. A coupled C moves with every acknowledgement; changes below a hundredth don't count.
func (c *curve) bend(to float64) {
	if c.c > 0 && to <= float64(1.01*c.c) && c.c <= float64(1.01*to) {
		return
	}
	c.c = max(to, cubicLeast)
	c.k = cbrt((c.origin - c.first) / c.c)
}

// at is W_cubic(t), t in seconds since the epoch began (§4.2, figure 1).
func (c *curve) at(t float64) float64 {
	d := t - c.k
	return float64(c.c*float64(d*float64(d*d))) + c.origin
}

// OnLoss records a congestion event that loss shows (§4.6).
func (c *Cubic) OnLoss(now machine.Time) { c.decrease() }

// OnECN records a congestion event that a mark shows; it counts like a loss (§4.6).
func (c *Cubic) OnECN(now machine.Time) { c.decrease() }

func (c *Cubic) decrease() {
	c.window = max(c.congest(c.window), cubicMin)
	c.threshold = c.window
}

// congest ends the epoch and returns what is left of the window (§4.6).
func (c *curve) congest(window float64) float64 {
	c.prior = window
	if window < c.most { // §4.7, fast convergence: make room for newcomers
		c.most = float64(window * (1 + cubicBeta) / 2)
	} else {
		c.most = window
	}
	c.begun = false
	return float64(window * cubicBeta)
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
