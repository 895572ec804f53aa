package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// flowOf finds or makes the flow of a transmission Interest. Its valid upstreams are the static next hops; path
// discovery will narrow them.
func (s *flows) flowOf(now machine.Time, name wire.FlowName, hops []NextHop) *flow {
	key := name.Flow.Hash(s.pit.seed)
	f := s.flows[key]
	if f != nil && !f.name.Equal(name.Flow) { // a collision of keyed hashes: best effort, the older flow goes
		s.evict(f)
		f = nil
	}
	if f == nil {
		if len(s.order) >= s.cfg.MaxFlows {
			s.evictIdlest()
		}
		full := name.Flow.Clone()
		f = &flow{name: full, dest: full.Prefix(name.Dest.Len())}
		s.flows[key] = f
		s.order = append(s.order, f)
	}
	f.used = now
	if f.version != s.fib.version {
		s.setLanes(f, hops)
	}
	return f
}

// setLanes makes hops the valid upstream faces of f, keeping the deficit of those that stay.
func (s *flows) setLanes(f *flow, hops []NextHop) {
	lanes := make([]*lane, 0, len(hops))
	nearest := hops[0].Hops
	for _, h := range hops {
		u := s.ups[h.Face]
		if u == nil || (nearest == 0 && h.Hops > 0) { // the producer is here
			continue
		}
		var l *lane
		for _, old := range f.lanes {
			if old.up == u {
				l = old
			}
		}
		if l == nil {
			l = &lane{flow: f, up: u}
		}
		lanes = append(lanes, l)
	}
	f.lanes, f.version = lanes, s.fib.version
}

// enqueue puts an Interest into its flow's queue and wakes the faces that may pull it.
func (s *flows) enqueue(now machine.Time, e *entry, again bool) {
	f := e.flow
	if e.queued {
		return // a retransmission waits already
	}
	e.queued, e.since = true, now
	f.live++
	if again {
		f.retry.push(ref{e, e.gen})
	} else {
		f.fresh.push(ref{e, e.gen})
	}
	for _, l := range f.lanes {
		l.up.activate(l)
	}
	if again || !s.wakeIdlest(now, f) {
		for _, l := range f.lanes {
			s.wake(l.up.face)
		}
	}
}

// wakeIdlest wakes the lane that has had unused credit for longest, so that flows spread in proportion to the rates of
// their faces while the consumer asks for less than they could carry; false if no lane has credit.
func (s *flows) wakeIdlest(now machine.Time, f *flow) bool {
	var best *lane
	most := 0.0
	for _, l := range f.lanes {
		if idle := l.up.idle(now); idle > most {
			best, most = l, idle
		}
	}
	if best == nil {
		return false
	}
	s.wake(best.up.face)
	return true
}

// pull gives face u its next Interest, if its rate affords one; otherwise when to ask again (Never: when woken).
func (s *flows) pull(now machine.Time, u *upstream) (p packet, ok bool, again machine.Time) {
	if len(u.active) == 0 || !u.up {
		u.backlog = false
		return p, false, machine.Never
	}
	if ok, at := u.affords(now); !ok {
		// Several Interests may have been queued before this face was asked: others may take what it can't.
		s.wakeIdlest(now, u.active[u.turn].flow)
		return p, false, at
	}
	e := u.pull()
	if e == nil {
		u.backlog = false
		return p, false, machine.Never
	}
	return s.send(now, u, e, true), true, 0
}

// send records that e leaves by u and builds the packet.
func (s *flows) send(now machine.Time, u *upstream, e *entry, shaped bool) packet {
	o := e.outFace(u.face)
	if o == nil {
		e.out = append(e.out, outRecord{face: u.face})
		o = &e.out[len(e.out)-1]
	} else {
		s.unchargeOne(o)
		// The newest record is the last: retransmissions avoid it.
		last := &e.out[len(e.out)-1]
		*o, *last = *last, *o
		o = last
	}
	o.nonce, o.sent, o.dead, o.charge = e.interest.Nonce, now, false, shaped && !u.local
	if shaped {
		u.onSent(now, e.cost)
	}
	p := packet{buf: append(s.bufs.get(), e.buf...), hdr: e.hdr, tok: e.token(), queued: now}
	p.wire = p.buf
	return p
}

// checkSilence suspends a face that owes answers and says nothing, unless no other could take over.
func (s *flows) checkSilence(now machine.Time, u *upstream) {
	if now < u.silenceDeadline() {
		return
	}
	if !s.replaceable(u) {
		u.silentSince = now
		return
	}
	u.suspend(now)
	s.rebind(now, u)
}

// replaceable tells whether some flow that uses u has another usable face.
func (s *flows) replaceable(u *upstream) bool {
	for _, f := range s.order {
		uses := false
		for _, l := range f.lanes {
			uses = uses || l.up == u
		}
		if uses && f.usable() > 1 {
			return true
		}
	}
	return false
}

// evictIdlest makes room for a flow: the idle one that was used longest ago, else the one used longest ago.
func (s *flows) evictIdlest() {
	var victim *flow
	for _, f := range s.order {
		switch {
		case victim == nil, f.live == 0 && victim.live > 0:
			victim = f
		case (f.live == 0) == (victim.live == 0) && f.used < victim.used:
			victim = f
		}
	}
	s.evict(victim)
}

// evict forgets a flow. Interests that it still queues get a Nack(Congestion); those on their way lose their flow and
// are answered like unshaped ones.
func (s *flows) evict(f *flow) {
	for _, e := range s.pit.entries {
		if !e.live || e.flow != f {
			continue
		}
		if e.queued {
			s.fail(e, wire.NackCongestion)
			continue
		}
		e.flow = nil
	}
	for _, l := range f.lanes {
		for i := range l.up.active {
			if l.up.active[i] == l {
				l.up.deactivate(i)
				break
			}
		}
	}
	delete(s.flows, f.name.Hash(s.pit.seed))
	for i := range s.order {
		if s.order[i] == f {
			s.order = append(s.order[:i], s.order[i+1:]...)
			break
		}
	}
}
