package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// flowOf finds or makes the flow of a name with a MARS marker, for face in.
func (s *flows) flowOf(now machine.Time, in machine.FaceID, name wire.FlowName) *flow {
	o := s.ups.get(in).asks
	key := name.Flow.Hash(s.pit.seed)
	f := s.flows[key]
	if f != nil && !f.name.Equal(name.Flow) { // a collision of keyed hashes: best effort, the older flow goes
		s.evict(f)
		f = nil
	}
	if f == nil {
		s.makeRoom(o, name.Flow)
		full := name.Flow.Clone()
		f = &flow{name: full, dest: full.Prefix(name.Dest.Len()), src: append([]byte(nil), name.Src...), place: len(s.order)}
		s.flows[key] = f
		s.order = append(s.order, f)
		s.own(o, f)
	} else {
		s.touch(o, f)
	}
	if f.used = now; len(f.bars) > 0 {
		s.unbar(now, f, false)
	}
	return f
}

// marsInterest forwards a new Interest of a flow: a probe, or one for Data, which is queued. It returns false for those that
// go by best-route: ordinary names, and names with a marker from nodes that sent no label (protocol.md §3).
func (s *flows) marsInterest(now machine.Time, e *entry, in machine.FaceID, local bool, hdr *wire.Packet) bool {
	name := wire.SplitFlow(e.interest.Name)
	if name.Kind == wire.Plain || !local && !hdr.HasLabel {
		return false
	}
	f := s.flowOf(now, in, name)
	var d *discovery
	if local {
		if name.Kind == wire.Discovery { // probing is this node's business
			s.fail(e, wire.NackNoRoute)
			return true
		}
		d = s.sourceEpoch(now, f)
		if d == nil {
			s.fail(e, wire.NackNoRoute)
			return true
		}
		s.setHopLimit(e, uint8(d.room))
	} else {
		if f.source && s.cfg.faults&faultSource == 0 {
			s.drop(DropLoop)
			s.fail(e, wire.NackLoop)
			return true
		}
		if d = s.join(now, f, hdr.Label); d == nil || d.refuses(hdr.Label, false) {
			s.drop(DropLoop)
			s.fail(e, wire.NackLoop)
			return true
		}
	}
	e.disc = d
	e.label, e.labelled = d.label, true
	if name.Kind == wire.Discovery {
		tier, _, ok := name.Probe()
		if !ok || tier > maxIndex {
			s.drop(DropMalformed)
			s.fail(e, wire.NackNoRoute)
			return true
		}
		e.probe, e.probeIdx = true, int(tier)
		s.probe(now, e, in)
		return true
	}
	d.noteIngress(in, max(d.first, 0))
	e.flow = f
	f.entries.push(e)
	if e.bad {
		s.accuse(now, in, e)
	}
	if e.possible() && s.moreWays(now, f, d) { // without a way in this epoch the answer is that there is none
		s.fail(e, nackMoreWays)
		return true
	}
	s.express(now, e, false)
	return true
}

// uphill tells whether an Interest from another node must be refused though its name is pending here: it may be this very
// Interest, come around with a new nonce, and would wait for itself.
func (s *flows) uphill(now machine.Time, in machine.FaceID, e *entry, hdr *wire.Packet) bool {
	f := s.flowOf(now, in, wire.SplitFlow(e.interest.Name))
	if f.source {
		return s.cfg.faults&faultSource == 0
	}
	if !hdr.HasLabel {
		return false // no MARS node (protocol.md §3)
	}
	d := s.join(now, f, hdr.Label)
	return d == nil || d.refuses(hdr.Label, false)
}

// setHopLimit lowers an Interest's HopLimit, so that Data Interests keep to the stretch that probes kept to.
func (s *flows) setHopLimit(e *entry, hops uint8) {
	if e.interest.HasHopLimit && e.interest.HopLimit > hops && e.interest.PatchHopLimit(e.buf, hops) {
		e.interest.HopLimit = hops
	}
}

// room is how many hops an Interest may still go.
func (e *entry) room() int {
	if !e.interest.HasHopLimit {
		return maxHops
	}
	return min(int(e.interest.HopLimit), maxHops)
}

// allows tells whether the Interest may leave by face: a valid upstream of its epoch, within its stretch, and no downstream.
// One that was lost may also try a face that discovery hasn't reached yet: the label keeps it safe, and a flow whose
// shortest paths are silent goes on. So may all of a source that is eager, until its discovery has ended.
func (e *entry) allows(face machine.FaceID) bool {
	p := e.disc.find(face)
	if p == nil || !e.disc.open(p, e.room()) || e.inFace(face) != nil || e.disc.holds() || e.flow.barred(face) {
		return false
	}
	return e.disc.valid(p) || e.lost && e.disc.mode != Literal || e.disc.eager && e.disc.finished == 0
}

// alternatives is the number of usable faces other than face that may take the Interest.
func (e *entry) alternatives(face machine.FaceID) int {
	n := 0
	for _, l := range e.flow.lanes {
		if l.up.face != face && l.up.usable() && e.allows(l.up.face) {
			n++
		}
	}
	return n
}

// setLanes gives f a lane for every face that one of its epochs may use, keeping the deficit of those that stay.
func (s *flows) setLanes(f *flow) {
	var lanes []*lane
	for _, d := range f.epochs {
		for i := range d.probes {
			u := s.ups.get(d.probes[i].face)
			if u == nil || laneOf(lanes, u) != nil {
				continue
			}
			l := laneOf(f.lanes, u)
			if l == nil {
				l = &lane{flow: f, up: u}
				if u.line != nil {
					l.gate = newGate(s.firstShare())
					u.line.first = min(u.line.first+s.firstShare(), firstWindow)
					u.line.Begin(float64(u.line.first * DefaultCost))
				}
				u.used = true
			}
			lanes = append(lanes, l)
		}
	}
	for _, old := range f.lanes {
		if laneOf(lanes, old.up) == nil {
			old.up.drop(old)
		}
	}
	f.lanes = lanes
}

func laneOf(lanes []*lane, u *upstream) *lane {
	for _, l := range lanes {
		if l.up == u {
			return l
		}
	}
	return nil
}

// express queues an Interest of a flow, or sends another on by best-route.
func (s *flows) express(now machine.Time, e *entry, again bool) {
	if e.probe {
		return // a probe is sent once: the source sends new ones
	}
	if e.flow == nil {
		s.forward(now, e, wire.NackNoRoute)
		return
	}
	if again && len(e.out) > 0 {
		last := &e.out[len(e.out)-1]
		e.avoid, e.lost = last.face, true
		s.noteMissed(last)
		s.missed(now, e)
	}
	if !again && e.flow.live >= s.cfg.InterestQueue && !planted.Is(planted.QueueOverflow) {
		s.drop(DropInterestQueue)
		s.fail(e, wire.NackCongestion)
		return
	}
	s.enqueue(now, e, again)
}

// enqueue puts an Interest into its flow's queue and wakes the faces that may pull it. Without one it is refused, and the
// source looks for new paths.
func (s *flows) enqueue(now machine.Time, e *entry, again bool) {
	f := e.flow
	if e.queued {
		return // a retransmission waits already
	}
	possible := 0
	for _, l := range f.lanes {
		if l.up.up && e.allows(l.up.face) {
			l.up.activate(l)
			possible++
		}
	}
	if possible == 0 && slices.ContainsFunc(f.bars, func(b bar) bool { return b.until > 0 }) {
		s.unbar(now, f, true) // better a face that lied than none
		s.enqueue(now, e, again)
		return
	}
	if possible == 0 && !e.disc.holds() {
		s.drop(DropNoRoute)
		s.rediscover(now, f)
		s.fail(e, wire.NackNoRoute)
		return
	}
	if s.cfg.Profile == ProfileMARS {
		s.waken(f)
	}
	e.queued, e.since = true, now
	f.live++
	if again {
		f.retry.push(ref{e, e.gen})
	} else {
		f.fresh.push(ref{e, e.gen})
	}
	spread := !again && s.wakeShortest(now, e)
	for _, l := range f.lanes {
		if l.active && (!spread || l.up.suspended) { // a suspended face is asked too, or it would never probe again
			s.wake(l.up.face)
		}
	}
}

// wakeShortest wakes, of the faces that may take e and have credit, the one that will have answered soonest what it owes: the
// least outstanding for its rate. Flows spread in proportion to the rates of their faces while the consumer asks for less than
// these could carry, and away from a face whose queue grows beyond the next node, where no feedback tells of it (ADR 0011).
// It returns false if none has credit.
func (s *flows) wakeShortest(now machine.Time, e *entry) bool {
	var best *lane
	least := 0.0
	for _, l := range e.flow.lanes {
		if !e.allows(l.up.face) || !l.up.idle(now) {
			continue
		}
		if owed := l.up.owed(); best == nil || owed < least {
			best, least = l, owed
		}
	}
	if best == nil {
		return false
	}
	s.wake(best.up.face)
	return true
}

// pull gives face u its next Interest, if its rate affords one; otherwise when to ask again (Never: when woken).
func (s *flows) pull(now machine.Time, u *upstream) (p *packet, again machine.Time) {
	if u.line != nil && u.up {
		return s.pullWindowed(now, u)
	}
	if u.turns.at == nil || !u.up {
		u.backlog = false
		return nil, machine.Never
	}
	if ok, at := u.affords(now); !ok {
		// Several Interests may have been queued before this face was asked: others may take what it can't.
		if e := u.turn().oldest(); e != nil {
			s.wakeShortest(now, e)
		}
		return nil, at
	}
	e := u.pull()
	if e == nil {
		u.backlog = false
		return nil, machine.Never
	}
	return s.send(now, u, e, true), 0
}

// send records that e leaves by u and builds the packet.
func (s *flows) send(now machine.Time, u *upstream, e *entry, shaped bool) *packet {
	if n := len(e.out); n > 0 && e.out[n-1].nonce == e.interest.Nonce {
		e.setNonce(s.rand.Uint32()) // or a node that both ways lead to would take it for a loop
	}
	u.used = true
	o := e.outFace(u.face)
	if o == nil {
		e.out = append(e.out, outRecord{face: u.face})
		o = &e.out[len(e.out)-1]
	} else {
		s.unchargeOne(o)
		o.again = true
		// The newest record is the last: retransmissions avoid it.
		last := &e.out[len(e.out)-1]
		*o, *last = *last, *o
		o = last
	}
	o.nonce, o.sent, o.dead, o.charge = e.interest.Nonce, now, false, shaped && !u.local
	if shaped {
		u.onSent(now, e.cost)
		if u.line != nil && o.charge {
			o.cost, o.line, o.lane = e.cost, u.line, laneOf(e.flow.lanes, u)
			o.line.flight += o.cost
			if o.lane != nil {
				o.lane.gate.flight += o.cost
			}
		}
	}
	p := s.bufs.packet(append(s.bufs.get(), e.buf...))
	p.hdr.Label, p.hdr.HasLabel, p.tok, p.queued = e.label, e.labelled, e.token(), now
	p.hdr.Bad = e.bad
	p.hdr.SizeHint = uint64(e.cost) // known or not: a field of ours is how the peer knows us (ADR 0007)
	return p
}

// refused handles a Nack to a Data Interest of a flow. Congestion: the Interest waits one pacing interval, its credit being
// spent a second time (protocol.md §4). Else the face is no upstream in this epoch, and another takes the Interest.
func (s *flows) refused(now machine.Time, e *entry, u *upstream, reason wire.NackReason) {
	if reason == nackMoreWays {
		s.hinted(now, e)
		return
	}
	if reason == wire.NackCongestion {
		if u != nil {
			u.ctrl.OnCongestion(now)
			u.tokens -= e.cost
		}
	} else if u != nil {
		this := ref{e, e.gen}
		e.disc.onNack(u.face, reason)
		s.rediscover(now, e.flow)
		s.reconsider(e.flow)
		if !this.valid() { // it waited already, to be sent again, and that was its last way
			return
		}
	}
	s.enqueue(now, e, true)
}

// reconsider looks again at the queued Interests of a flow whose paths have changed. At the source they move to the epoch in
// use. One that no face may take any more is refused: it would wait for the end of its lifetime, and every retransmission
// that merges with it would prolong that.
func (s *flows) reconsider(f *flow) {
	if f.live == 0 {
		return
	}
	if len(f.bars) > 0 && !f.useful(0) {
		s.unbar(0, f, true)
	}
	for e, next := f.entries.first, (*entry)(nil); e != nil; e = next {
		next = e.younger
		if !e.queued {
			continue
		}
		if f.source && len(f.epochs) > 0 && e.disc != f.epochs[0] {
			e.disc = f.epochs[0]
			e.label = e.disc.label
		}
		if !e.possible() {
			s.drop(DropNoRoute)
			s.fail(e, wire.NackNoRoute)
		}
	}
	s.wakeFlow(f)
}

// possible tells whether some face that is up may take the Interest, now or when it has credit.
func (e *entry) possible() bool {
	if e.disc.holds() {
		return true
	}
	for _, l := range e.flow.lanes {
		if l.up.up && e.allows(l.up.face) {
			return true
		}
	}
	return false
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
		uses, others := false, 0
		for _, l := range f.lanes {
			if l.up == u {
				uses = true
			} else if l.up.usable() && f.valid(l.up.face) && !f.barred(l.up.face) {
				others++
			}
		}
		if uses && others > 0 {
			return true
		}
	}
	return false
}
