package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// rack is what RACK knows (RFC 8985 §5.2).
type rack struct {
	sentAt     machine.Time // of the segment sent last among those delivered
	end        int64        // and where that ends
	rtt        machine.Time
	highest    int64 // RACK.fack: the end of the highest segment delivered
	reordering bool
	mult       int   // of the reordering window, less one
	persist    int   // recoveries that it stays so
	round      int64 // it grows once per round trip
}

// timer is what the one timer of a sender waits for.
type timer uint8

const (
	timerRTO timer = iota
	timerProbe
	timerReorder
	timerPersist
)

const (
	// leastRTO and mostRTO are Linux's; RFC 6298 would have 1 s and at least 60 s.
	leastRTO = 200 * machine.Millisecond
	mostRTO  = 120 * machine.Second
	// probeDelay is WCDelAckT, what an acknowledgement of a single segment may wait (RFC 8985 §7.2).
	probeDelay = 200 * machine.Millisecond
	// dupThresh is how many segments out of order count as a loss at once (RFC 8985 §6.2 step 4).
	dupThresh = 3
	// rtoTries is how often a segment is repeated before the subflow gives up (Linux, tcp_retries2).
	rtoTries = 15
	// rackPersist is how many recoveries a wider reordering window stays (RFC 8985 §6.2).
	rackPersist = 16
)

// deliver learns from a segment that was delivered (RFC 8985 §6.2 steps 1–3).
func (r *rack) deliver(now machine.Time, p *sent, echo uint32, minRTT machine.Time, una int64) {
	rtt := now - p.at
	if p.resent && (int32(echo-stampOf(p.at)) < 0 || rtt < minRTT) { // the earlier one came, not this
		// Timestamps tell so of what is acknowledged in order; the RFC doesn't count on them.
		r.reordering = r.reordering || p.past() <= una && p.past() < r.highest
		return
	}
	if p.at > r.sentAt || p.at == r.sentAt && p.past() > r.end {
		r.sentAt, r.end, r.rtt = p.at, p.past(), rtt
	}
	if p.past() > r.highest {
		r.highest = p.past()
	} else if p.past() < r.highest && !p.resent {
		r.reordering = true
	}
}

// onTwice widens the reordering window: a segment was sent again for nothing.
func (r *rack) onTwice(end, una int64) {
	if una > r.round {
		r.round, r.mult, r.persist = end, min(r.mult+1, 20), rackPersist
	}
}

// window is how much later than its successors a segment may come.
func (s *subflow) reorderWindow() machine.Time {
	if !s.rack.reordering && (s.una < s.recovery || s.sackedCount >= dupThresh) {
		return 0
	}
	return min(s.minRTT/4*machine.Time(1+s.rack.mult), s.srtt)
}

// detect finds the segments that are lost (RFC 8985 §6.2 step 5), and sets rack's timer for those that may be.
func (s *subflow) detect(now machine.Time) (wait machine.Time) {
	if s.rack.sentAt == 0 && s.rack.end == 0 {
		return 0
	}
	window := s.reorderWindow()
	var l cc.Loss
	for id := s.oldest; id >= 0; {
		p := s.at(id)
		if p.at > s.rack.sentAt || p.at == s.rack.sentAt && p.past() >= s.rack.end {
			break
		}
		left := p.at + s.rack.rtt + window - now
		if left > 0 {
			wait = left
			break
		}
		next := p.next
		s.lose(id, &l)
		id = next
	}
	if l.Bytes > 0 {
		l.InFlight = int(s.end64() - s.una) // RFC 5681 §2: what came early is still in flight
		s.recover(now, l)
	}
	return wait
}

// lose takes a segment for lost.
func (s *subflow) lose(id int64, l *cc.Loss) {
	p := s.at(id)
	s.unlink(id)
	p.state = lost
	s.flying -= int(p.length)
	s.lostBytes += int(p.length)
	s.lost = append(s.lost, id)
	l.Bytes += int(p.length)
	l.Sent = max(l.Sent, p.at)
	s.c.sum.Lost++
	s.lostSegments++
}

// recover begins a recovery, or goes on with one.
func (s *subflow) recover(now machine.Time, l cc.Loss) {
	if s.una >= s.recovery {
		s.recovery = s.end64()
		s.spoilt, s.repaired, s.urgent = true, false, true
		if s.rack.persist--; s.rack.persist <= 0 {
			s.rack.mult = 0
		}
	}
	s.c.ctrl.OnLoss(now, s.control, l)
	s.rewindow()
}

// undo takes a reaction back when the acknowledgement was caused by what had been taken for lost (Eifel, RFC 3522, RFC 4015).
func (s *subflow) undo(now machine.Time, g *segment) {
	if !s.spoilt || !s.repaired {
		return
	}
	s.spoilt = false
	if g.timed && g.echo != 0 && int32(g.echo-s.repairAt) < 0 {
		s.c.sum.Spurious++
		s.recovery = s.una
		s.unlose()
		s.c.ctrl.OnUndo(now, s.control)
		s.rewindow()
	}
}

// unlose puts what was taken for lost and not sent again back under way, as the oldest.
func (s *subflow) unlose() {
	for i := len(s.lost) - 1; i >= s.lostHead; i-- {
		id := s.lost[i]
		if id < s.first {
			continue
		}
		p := s.at(id)
		if p.state != lost {
			continue
		}
		p.state, p.prev, p.next = flying, -1, s.oldest
		if s.oldest >= 0 {
			s.at(s.oldest).prev = id
		} else {
			s.newest = id
		}
		s.oldest = id
		s.flying += int(p.length)
		s.lostBytes -= int(p.length)
	}
	s.lost, s.lostHead = s.lost[:0], 0
}

// rto is the retransmission timeout (RFC 6298 §2, with Linux's least variance).
func (s *subflow) rto() machine.Time {
	r := machine.Second
	if s.srtt > 0 {
		r = s.srtt + max(4*s.rttvar, s.c.kernel(leastRTO))
	}
	return min(r<<min(s.backoff, 16), mostRTO)
}

// setTimer sets the timer for what comes first: reordering, a probe of the tail (RFC 8985 §7.2), or the timeout.
func (s *subflow) setTimer(now machine.Time) {
	if s.flying == 0 {
		s.lossAt = machine.Never
		return
	}
	s.lossAt, s.lossBy = now+s.rto(), timerRTO
	if wait := s.detectWait(now); wait > 0 {
		s.lossAt, s.lossBy = now+wait, timerReorder
	} else if s.srtt > 0 && s.backoff == 0 && s.una >= s.recovery && s.sackedCount == 0 && !s.probeSent {
		wait := 2 * s.srtt
		if s.last-s.first == 1 {
			wait += s.c.kernel(probeDelay)
		}
		s.lossAt, s.lossBy = min(s.lossAt, now+wait), timerProbe
	}
	s.c.arm(s.lossAt)
}

// detectWait is how long the oldest segment under way may still come; 0: nothing says that it is late.
func (s *subflow) detectWait(now machine.Time) machine.Time {
	if s.oldest < 0 {
		return 0
	}
	p := s.at(s.oldest)
	if p.at > s.rack.sentAt || p.at == s.rack.sentAt && p.past() >= s.rack.end {
		return 0
	}
	return max(p.at+s.rack.rtt+s.reorderWindow()-now, 1)
}

// fire is the timer.
func (s *subflow) fire(now machine.Time) {
	switch s.lossBy {
	case timerReorder:
		s.detect(now)
		s.setTimer(now)
	case timerPersist:
		s.ask(now)
	case timerProbe:
		if last := s.at(s.newest).at + 2*s.srtt; last > now { // later ones went out meanwhile
			s.lossAt = last
			s.c.arm(last)
			return
		}
		s.probe, s.probeSent = true, true
		s.probeEnd = 0
		s.lossAt, s.lossBy = now+s.rto(), timerRTO
		s.c.arm(s.lossAt)
	default:
		s.timeout(now)
	}
}

// probeSegment is the tail loss probe: new data if there are, else the last segment again (RFC 8985 §7.3).
func (s *subflow) probeSegment(now machine.Time) *sent {
	if s.unsent == s.last && s.usable() && s.c.size > s.c.next {
		if n := int(min(s.c.size-s.c.next, int64(s.mss))); s.c.next+int64(n) <= s.c.edge {
			s.assign(s.c.next, n)
			s.c.next += int64(n)
		}
	}
	if s.unsent < s.last {
		id := s.unsent
		s.unsent++
		s.queued -= int(s.at(id).length)
		s.fly(now, id)
		s.c.sum.Segments++
		return s.at(id)
	}
	for id := s.last - 1; id >= s.first; id-- {
		if p := s.at(id); p.state == flying {
			s.unlink(id)
			p.at, p.resent = now, true
			s.link(id)
			s.probeEnd, s.probeStamp = p.past(), stampOf(now)
			s.c.sum.Resent++
			return p
		}
	}
	return nil
}

// tailRepaired tells the controller of a loss that only the probe repaired (RFC 8985 §7.4).
func (s *subflow) tailRepaired(now machine.Time, g *segment) {
	if !s.probeSent {
		return
	}
	if s.probeEnd > 0 && s.una < s.probeEnd {
		return
	}
	if s.probeEnd > 0 && s.una >= s.recovery && g.timed && int32(g.echo-s.probeStamp) >= 0 {
		s.c.ctrl.OnLoss(now, s.control, cc.Loss{Bytes: s.mss, Sent: now - s.srtt, InFlight: s.flying + s.mss})
		s.rewindow()
	}
	s.probeSent, s.probeEnd = false, 0
}

// timeout takes all that is under way for lost (RFC 6298 §5.4–5.6), and has other subflows send it too.
func (s *subflow) timeout(now machine.Time) {
	s.backoff++
	s.c.sum.Timeouts++
	if s.backoff > rtoTries {
		s.c.reinject(s)
		s.stop()
		s.c.ctrl.RemoveSubflow(now, s.control)
		s.controlled = false
		s.c.dead(ErrTimeout)
		return
	}
	var l cc.Loss
	s.lost, s.lostHead = s.lost[:0], 0
	for id := s.first; id < s.unsent; id++ {
		switch p := s.at(id); p.state {
		case flying:
			s.lose(id, &l)
		case lost:
			s.lost = append(s.lost, id)
		}
	}
	s.recovery = s.end64()
	s.spoilt, s.repaired = true, false
	s.probe, s.probeSent = false, false
	s.silent = s.c.multi
	s.c.ctrl.OnTimeout(now, s.control)
	s.rewindow()
	s.c.reinject(s)
	s.lossAt = machine.Never
}
