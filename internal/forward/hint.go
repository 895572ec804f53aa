package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// A relay may get more ways for a flow than it had when it joined the flow's epoch: a link comes back, routing learns of a new one.
// Labels are frozen, so only a new epoch can use them, and only the source can begin one. The relay tells it by answering one Data
// Interest with Nack(MoreWays), which costs that chunk a round trip; the source expresses it again and discovers anew.

// nackMoreWays is our reason for that.
const nackMoreWays wire.NackReason = 901

const (
	// hintEvery is how often a relay tells it while nothing follows.
	hintEvery = 2 * machine.Second
	// A source follows at once, and then not before hintedMin, doubled each time up to refreshEvery: by itself it looks that often.
	hintedMin = 2 * machine.Second
)

// moreWays tells whether an Interest of epoch d is to be answered with Nack(MoreWays).
func (s *flows) moreWays(now machine.Time, f *flow, d *discovery) bool {
	if f.version == s.fib.version || now < f.hintAt || f.source || d != f.epochs[len(f.epochs)-1] || d.mode == Literal {
		return false
	}
	hops := s.routes(f, false)
	ours := maxHops
	for _, h := range hops {
		ours = min(ours, h.Hops)
	}
	for _, h := range hops {
		// Who is farther than we are gets there by us, and has the higher label.
		if p := d.find(h.Face); h.Hops <= ours+1 && (p == nil || h.Hops < p.hops || p.state == dead && s.ups.get(h.Face).since > d.joined) {
			f.hintAt = now + hintEvery
			return true
		}
	}
	f.version = s.fib.version
	return false
}

// hinted follows a Nack(MoreWays): the source discovers anew, but not as often as somebody may wish; others pass it on.
func (s *flows) hinted(now machine.Time, e *entry) {
	f := e.flow
	if !f.source {
		s.fail(e, nackMoreWays)
		return
	}
	if now >= f.hintAt {
		f.hintGap = min(max(2*f.hintGap, hintedMin), refreshEvery)
		f.hintAt = now + f.hintGap
		this := ref{e, e.gen}
		if s.rediscover(now, f); !this.valid() {
			return
		}
	}
	s.enqueue(now, e, true)
}
