package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Strategy decides how Interests are forwarded. With Mars that is how those with a MARS marker are; ordinary NDN names go by
// best-route there.
type Strategy uint8

// The strategies.
const (
	Mars      Strategy = iota // Interest queues per flow, rate control per face, all valid faces at once
	BestRoute                 // NFD's: the nearest next hop at once; hop headers are copied through unchanged
	PCON                      // Schneider et al. 2016: shares of the next hops that congestion marks move (strategy_pcon.go)
	QSF                       // a reconstruction: next hops by bandwidth and reported queue (strategy_qsf.go)
)

// spreads tells whether a strategy draws the face of each Interest by lot, and marks Data.
func (s Strategy) spreads() bool { return s == PCON || s == QSF }

// forward sends an Interest of no flow on.
func (s *flows) forward(now machine.Time, e *entry, last wire.NackReason) {
	switch s.cfg.Strategy {
	case PCON, QSF:
		s.spread(now, e)
	default:
		s.bestRoute(now, e, last, true)
	}
}

// answered lets the strategy learn from Data that came by u, and says what it adds to them.
func (s *flows) answered(now machine.Time, e *entry, u *upstream, hdr *wire.Packet, down *packet) {
	if u == nil || u.local {
		down.feedback = s.cfg.Strategy == QSF
		return
	}
	switch s.cfg.Strategy {
	case PCON:
		if sh := s.sharesOf(e.interest.Name); hdr.CongestionMark != 0 && sh != nil {
			sh.reduce(u.face, float64(pconChange*sh.of(u.face)))
		}
	case QSF:
		down.feedback = true
		u.heardQSF(now, hdr, len(down.wire))
	}
	if e.marked {
		down.hdr.CongestionMark = 1
	}
}

// unanswered moves traffic away from the faces that owe an answer to an Interest that ran out of its lifetime.
func (s *flows) unanswered(e *entry) {
	if s.cfg.Strategy != PCON {
		return
	}
	sh := s.sharesOf(e.interest.Name)
	for i := range e.out {
		if o := &e.out[i]; sh != nil && !o.dead {
			sh.reduce(o.face, pconChange)
		}
	}
}
