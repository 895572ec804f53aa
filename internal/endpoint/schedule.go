package endpoint

import "mars/internal/machine"

// burstSize is how much the mainline scheduler gives to a subflow at a time, bytes (Linux, MPTCP_SEND_BURST_SIZE).
const burstSize = 65428

// pick is the subflow that takes the next data, by another than by if there is one; nil: none has room.
func (c *conn) pick(by *subflow) *subflow {
	switch {
	case len(c.subs) == 1:
		if s := c.subs[0]; s.room() {
			return s
		}
		return nil
	case c.how.Scheduler == RoundRobin:
		return c.inTurn(by)
	case c.how.Scheduler == Mainline:
		return c.leastQueued(by)
	}
	var best *subflow
	for _, s := range c.subs {
		if s != by && s.room() && (best == nil || s.srtt < best.srtt) {
			best = s
		}
	}
	return best
}

func (c *conn) inTurn(by *subflow) *subflow {
	for i := range c.subs {
		k := (c.turn + i) % len(c.subs)
		if s := c.subs[k]; s != by && s.room() {
			c.turn = k + 1
			return s
		}
	}
	return nil
}

// leastQueued is the scheduler of mainline Linux: the subflow that drains what it has queued soonest takes a burst, be its window
// open or not, up to two windows.
func (c *conn) leastQueued(by *subflow) *subflow {
	if s := c.chosen; s != nil && c.burst > 0 && s != by && s.takes() {
		c.burst -= s.mss
		return s
	}
	var best *subflow
	var least float64
	for _, s := range c.subs {
		if s == by || !s.usable() {
			continue
		}
		rate := c.ctrl.PacingRate(s.control)
		if rate <= 0 {
			rate = 1 << 40 // not measured: as Linux, whose pacing rate is unlimited at first
		}
		if linger := float64(s.flying+s.queued+s.lostBytes) / rate; best == nil || linger < least {
			best, least = s, linger
		}
	}
	if best == nil || !best.takes() {
		return nil
	}
	c.chosen, c.burst = best, burstSize-best.mss
	return best
}

// takes tells whether the send buffer of a subflow has room: it grows to two windows.
func (s *subflow) takes() bool {
	return s.usable() && s.flying+s.queued+s.lostBytes+s.mss <= 2*s.window()
}

// reinject has the data that a subflow can't get through sent by others (RFC 8684 §3.3.6).
func (c *conn) reinject(s *subflow) {
	if !c.multi {
		return
	}
	for id := s.first; id < s.last; id++ {
		p := s.at(id)
		if p.elsewhere || p.length == 0 || p.data+int64(p.length) <= c.acked {
			continue
		}
		p.elsewhere = true
		c.again = append(c.again, span{p.data, int(p.length), s})
	}
}

// stuck is called when the peer's window is full and s could send: the oldest data are holding everything up, so s sends them
// as well, and the subflow that has them gets a smaller window (Raiciu et al., NSDI 2012, §4.2).
func (c *conn) stuck(now machine.Time, s *subflow) {
	if c.how.Scheduler != MinRTT || !c.multi {
		return
	}
	for _, o := range c.subs {
		if o == s || o.first == o.last {
			continue
		}
		p := o.at(o.first)
		if p.elsewhere || c.acked < p.data || c.acked >= p.data+int64(p.length) || p.state == queued {
			continue
		}
		p.elsewhere = true
		s.assign(p.data, min(int(p.length), s.mss))
		if now >= o.punished+o.srtt {
			o.punished = now
			o.limit = max(float64(o.window())/2, float64(o.mss))
		}
		return
	}
}
