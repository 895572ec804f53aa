package cc

// rule is what one window algorithm does in congestion avoidance, and on congestion.
type rule interface {
	// grow returns the window of f after acked more packets.
	grow(now Time, c *conn, f *flow, acked float64) float64
	// cut returns what congestion leaves of a window of base packets.
	cut(c *conn, f *flow, base float64) float64
}

// flow is one subflow of a conn. Windows are in packets.
type flow struct {
	live      bool
	group     int // flows of the same group are coupled
	window    float64
	threshold float64 // ssthresh
	srtt      Time
	minRTT    Time
	recover   Time // data sent up to then belongs to the last congestion event
	reacted   bool // recover counts
	fast      bool // that event was no timeout: nothing grows until it is over (RFC 6582)
	start     hystart
	curve     curve
	runs      runs
	before    snapshot
}

// snapshot is what OnUndo restores.
type snapshot struct {
	ok                bool
	window, threshold float64
	curve             curve
	runs              runs
}

// rate returns x = w/srtt, packets per second; 0: not known.
func (f *flow) rate() float64 {
	if f.srtt <= 0 {
		return 0
	}
	return f.window / f.srtt.Seconds()
}

// slowStart tells whether the window still grows by what is acknowledged.
func (f *flow) slowStart() bool { return f.window < f.threshold }

// conn is a Controller of windows: slow start, recovery and bounds are the same for every rule, and uncoupled (RFC 6356 §3).
type conn struct {
	mss   int
	flows []flow
	rule  rule
	// hystart has slow start end by delay, as CUBIC does (RFC 9438 §4.10, RFC 9406).
	hystart bool
	detect  detector // nil: all subflows are coupled
}

// detector finds out which subflows share a bottleneck.
type detector interface {
	// add and remove tell about subflow i.
	add(now Time, i int)
	remove(i int)
	// onAck and onLoss feed it. decided is true when it has come to a verdict.
	onAck(now Time, i int, a Ack) (decided bool)
	onLoss(now Time, i int, l Loss)
	// group returns the group of subflow i; equal numbers share.
	group(i int) int
	// verdicts counts.
	verdicts() uint64
}

func newConn(mss int, r rule) *conn { return &conn{mss: mss, rule: r} }

// get returns a live subflow, or nil.
func (c *conn) get(s Subflow) *flow {
	if s < 0 || int(s) >= len(c.flows) || !c.flows[s].live {
		return nil
	}
	return &c.flows[s]
}

// AddSubflow implements Controller.
func (c *conn) AddSubflow(now Time) Subflow {
	i := 0
	for i < len(c.flows) && c.flows[i].live {
		i++
	}
	if i == len(c.flows) {
		c.flows = append(c.flows, flow{})
	}
	c.flows[i] = flow{live: true, window: initial(c.mss), threshold: mostPackets}
	if c.detect != nil {
		c.detect.add(now, i)
		c.regroup()
	}
	return Subflow(i)
}

// RemoveSubflow implements Controller.
func (c *conn) RemoveSubflow(_ Time, s Subflow) {
	if f := c.get(s); f != nil {
		*f = flow{}
		if c.detect != nil {
			c.detect.remove(int(s))
			c.regroup()
		}
	}
}

// OnAck implements Controller.
func (c *conn) OnAck(now Time, s Subflow, a Ack) {
	f := c.get(s)
	if f == nil || a.Bytes <= 0 {
		return
	}
	if a.RTT > 0 {
		f.sample(a.RTT)
	}
	if c.detect != nil && c.detect.onAck(now, int(s), a) {
		c.regroup()
	}
	acked := float64(a.Bytes) / float64(c.mss)
	f.runs.acked += acked
	if a.Marked > 0 { // RFC 3168 §6.1.2: as to a loss
		c.congested(now, f, a.Sent, f.window)
		return
	}
	if a.AppLimited || f.fast && a.Sent <= f.recover {
		return
	}
	if f.slowStart() {
		grown := acked
		if c.hystart {
			grown = f.start.onAck(f, now, a, acked)
		}
		f.window = min(f.window+grown, max(f.threshold, f.window), mostPackets)
		return
	}
	f.window = bounded(c.rule.grow(now, c, f, acked), leastPackets)
}

// sample smooths the round-trip time (RFC 6298 §2).
func (f *flow) sample(rtt Time) {
	if f.srtt == 0 {
		f.srtt, f.minRTT = rtt, rtt
		return
	}
	f.srtt += (rtt - f.srtt) / 8
	f.srtt, f.minRTT = max(f.srtt, 1), min(f.minRTT, rtt)
}

// OnLoss implements Controller.
func (c *conn) OnLoss(now Time, s Subflow, l Loss) {
	f := c.get(s)
	if f == nil {
		return
	}
	if c.detect != nil {
		c.detect.onLoss(now, int(s), l)
	}
	base := f.window
	if l.InFlight > 0 { // RFC 5681 eq. 4, RFC 9438 §4.6: what was in flight, not a window that wasn't used
		base = min(base, float64(l.InFlight)/float64(c.mss))
	}
	c.congested(now, f, l.Sent, base)
}

// congested reacts to congestion that data sent at sent met, once per round trip.
func (c *conn) congested(now Time, f *flow, sent Time, base float64) {
	if f.reacted && sent <= f.recover {
		return
	}
	f.save()
	f.reacted, f.fast, f.recover = true, true, now
	f.runs.lost()
	f.window = min(f.window, bounded(c.rule.cut(c, f, base), floorPackets))
	f.threshold = max(f.window, floorPackets)
}

// save remembers what a spurious reaction would have spoilt.
func (f *flow) save() {
	f.before = snapshot{true, f.window, f.threshold, f.curve, f.runs}
}

// OnTimeout implements Controller: back to slow start from one packet, up to what a loss would leave (RFC 5681 §3.1).
func (c *conn) OnTimeout(now Time, s Subflow) {
	f := c.get(s)
	if f == nil {
		return
	}
	if !f.before.ok || f.window > leastPackets { // else a repeated timeout, which has nothing left to take
		f.save()
		f.runs.lost()
		f.threshold = bounded(c.rule.cut(c, f, f.window), floorPackets)
	}
	f.window, f.reacted, f.fast, f.recover = leastPackets, true, false, now
	f.start = hystart{done: true} // RFC 9406 §4.3: for the initial slow start
}

// OnUndo implements Controller.
func (c *conn) OnUndo(_ Time, s Subflow) {
	f := c.get(s)
	if f == nil || !f.before.ok {
		return
	}
	f.window, f.threshold = max(f.window, f.before.window), max(f.threshold, f.before.threshold)
	f.curve, f.runs = f.before.curve, f.before.runs
	f.before.ok, f.reacted, f.fast = false, false, false
}

// Cwnd implements Controller.
func (c *conn) Cwnd(s Subflow) int {
	f := c.get(s)
	if f == nil {
		return 0
	}
	return max(int(float64(f.window*float64(c.mss))), c.mss)
}

// PacingRate implements Controller: twice the window per round trip in slow start, 1.2 times after, so that pacing is not what
// holds the window back (RFC 9002 §7.7 recommends 1.25; Linux has these).
func (c *conn) PacingRate(s Subflow) float64 {
	f := c.get(s)
	if f == nil || f.srtt <= 0 {
		return 0
	}
	gain := 1.2
	if f.slowStart() {
		gain = 2
	}
	return float64(gain * f.rate() * float64(c.mss))
}

// regroup takes over the detector's groups. A subflow whose company changes keeps window and ssthresh and starts a new epoch.
func (c *conn) regroup() {
	for i := range c.flows {
		if f := &c.flows[i]; f.live {
			if g := c.detect.group(i); g != f.group {
				f.group, f.curve.begun = g, false
			}
		}
	}
}

// sum is what coupled increases need to know of a subflow and its siblings.
type sum struct {
	window float64 // Σ w
	rate   float64 // Σ w/rtt
	top    float64 // max w/rtt
	square float64 // max w/rtt²
}

// siblings sums over the subflows of f's group, f included. Those without a round-trip time don't count: they are in slow start.
func (c *conn) siblings(f *flow) (s sum) {
	for i := range c.flows {
		g := &c.flows[i]
		if !g.live || g.group != f.group || g.srtt <= 0 {
			continue
		}
		x := g.rate()
		s.window += g.window
		s.rate += x
		s.top = max(s.top, x)
		s.square = max(s.square, x/g.srtt.Seconds())
	}
	return s
}

// bounded holds a window between least and what no path exceeds; what isn't a number becomes least.
func bounded(window, least float64) float64 {
	if !(window >= least) {
		return least
	}
	return min(window, mostPackets)
}
