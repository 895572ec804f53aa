package endpoint

import "mars/internal/machine"

// A peer's window that is closed, or too small for a segment, opens by an acknowledgement that may be lost. The persist timer asks
// for one, less and less often (RFC 9293 §3.8.6.1); it never gives up, for the peer answers.

// persist sets the timer, unless it is set.
func (s *subflow) persist(now machine.Time) {
	if s.lossAt == machine.Never {
		s.lossAt, s.lossBy = now+s.rto(), timerPersist
		s.c.arm(s.lossAt)
	}
}

// ask sends what the window lets through, however little (§3.8.6.2.1), or a segment without data that the peer must answer, as
// Linux does.
func (s *subflow) ask(now machine.Time) {
	s.lossAt = machine.Never
	if !s.usable() || s.c.next >= s.c.size {
		return
	}
	s.backoff++
	if n := int(min(s.c.edge, s.c.size) - s.c.next); n > 0 && s.c.quiet() {
		n = min(n, s.mss)
		s.assign(s.c.next, n)
		s.c.next += int64(n)
		return
	}
	s.asks = true
	s.persist(now)
}

// asked tells whether a segment is such a question: it is before what comes next, and empty.
func (s *subflow) asked(g *segment, length int) bool {
	return length == 0 && near(g.seq-s.peer, s.rcvNext) == s.rcvNext-1
}
