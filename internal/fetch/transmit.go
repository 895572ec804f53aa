package fetch

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Transmit writes the next Interest: a question that may be asked, a retransmission, or a new one if rate and window allow.
func (e *Engine) Transmit(now machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	e.now = now
	if len(buf) < wire.MaxPacket {
		if len(e.Ready(nil)) == 0 {
			return 0, machine.NotECT
		}
		return -wire.MaxPacket, machine.NotECT
	}
	if t := e.nextQuestion(); t != nil {
		return e.ask(now, t, buf), machine.NotECT
	}
	for e.flows.agenda.ready(now) {
		f := e.flows.agenda.first()
		if p := e.pick(now, f); p != nil {
			return e.send(now, f, p, buf), machine.NotECT
		}
	}
	return 0, machine.NotECT
}

// pick takes the next Interest of f that may be sent now: retransmissions are paced like new ones but don't wait for the
// window (MARS paper §III-E). nil: there is none, and f is to be looked at later.
func (e *Engine) pick(now machine.Time, f *flow) *pending {
	f.detect(now)
	at := f.lost.at()
	var t *transfer
	if f.open(now) {
		if t = e.hungriest(f); t != nil {
			at = min(at, now)
		}
	}
	if at <= now {
		ok, later := f.affords(now)
		if ok {
			ok, later = e.limit.affords(now)
		}
		if ok && f.lost.ready(now) {
			p := f.lost.first()
			f.lost.remove(p)
			p.t.stats.Resent++
			return p
		}
		if ok {
			return e.fresh(f, t)
		}
		at = later
	}
	f.wake = min(at, f.detectAt())
	e.flows.agenda.put(f)
	return nil
}

// hungriest is the transfer of f whose turn it is to ask for something.
func (e *Engine) hungriest(f *flow) *transfer {
	for f.hungry.len() > 0 {
		t := f.hungry.first()
		if t.flow == f {
			if _, ok := t.next(e.cfg.MaxUnsettled); ok {
				return t
			}
		}
		f.hungry.pop()
		if t.hungryIn == f {
			t.hungryIn = nil
		}
	}
	return nil
}

// fresh makes the Interest for what t, whose turn it was, asks for next.
func (e *Engine) fresh(f *flow, t *transfer) *pending {
	it, _ := t.next(e.cfg.MaxUnsettled)
	t.take(it)
	f.hungry.push(f.hungry.pop())
	e.proceed(t)
	return e.pendings.take(t, it)
}

// send writes the Interest of p, and lets the other flows go first next time.
func (e *Engine) send(now machine.Time, f *flow, p *pending, buf []byte) int {
	f.link(now, p)
	size := p.size()
	f.tokens -= float64(size)
	if p.tries == 1 {
		f.credit--
	}
	e.limit.spend(size)
	e.flows.served++
	f.served, f.wake = e.flows.served, now
	e.flows.agenda.put(f)
	e.name = p.appendName(e.name[:0])
	return e.encode(p, wire.Interest{Name: e.name}, uint64(size), buf)
}
