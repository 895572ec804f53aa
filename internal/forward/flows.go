package forward

import (
	"math/rand/v2"
	"slices"

	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// outbound is a packet for the link side.
type outbound struct {
	face machine.FaceID
	p    *packet
}

// flows is the flow side of a forwarder.
type flows struct {
	cfg       Config
	rand      *rand.Rand
	bufs      *pool
	fib       fib
	choices   choices
	pit       pit
	flows     map[uint64]*flow // by hash of (dest, src)
	order     []*flow          // all flows, in an order that repeats
	heavy     heavy            // faces by their flows
	weight    int              // of all flows
	ups       table[upstream]
	upList    []*upstream // by face, for fixed order
	out       []outbound  // packets for the link side
	woken     []machine.FaceID
	mended    bool // the packet at hand was repaired on the hop that it came by: its times tell nothing
	dropped   *[dropReasons]uint64
	boot      uint32 // nonce of this run
	epoch     uint32 // of the last epoch begun here
	probing   []*flow
	split     map[string]*shares // of FIB entries, by prefix (PCON)
	seen      [4096]seenNonce    // nonces of Interests that are gone, direct-mapped: catches loops after the Data came
	delivered [1024]delivery     // who answered what lately, direct-mapped
	shunned   []shun             // by names without a flow, direct-mapped; nil: nothing yet
}

// seenNonce is an Interest that is gone.
type seenNonce struct {
	key  uint64 // of name and nonce
	face machine.FaceID
}

func newFlows(cfg Config, bufs *pool, dropped *[dropReasons]uint64) flows {
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x6d617273))
	return flows{
		cfg: cfg, rand: rng, bufs: bufs, fib: newFIB(), pit: newPIT(rng.Uint64()),
		boot: rng.Uint32(), flows: make(map[uint64]*flow), split: make(map[string]*shares), dropped: dropped,
	}
}

func (s *flows) drop(r DropReason) { s.dropped[r]++ }

func (s *flows) faceUp(now machine.Time, id machine.FaceID, f machine.Face) {
	s.fib.version++
	if u := s.ups.get(id); u != nil {
		s.rebind(now, u) // a new life: nothing asked before will be answered
		u.up, u.suspended, u.since = true, false, now
		u.seen = seen{changed: now, missed: u.seen.missed}
		u.ctrl, u.tokens, u.tokenAt = newFaceController(), DefaultCost, now
		if u.line != nil {
			if u.oneWay = (oneWay{}); u.alone() {
				flight := u.line.flight
				u.line.gate, u.line.resume = newGate(firstWindow), 0
				u.line.flight = flight
			}
		}
		s.wakeAll(u)
		return
	}
	u := newUpstream(id, f)
	u.since, u.seen.changed = now, now
	u.tokens, u.tokenAt = DefaultCost, now // the first Interest needn't wait
	if s.cfg.Profile == ProfileMARS && !f.Local {
		s.plug(u, f.Uplink)
	}
	s.ups.set(id, u)
	s.upList = append(s.upList, u)
	slices.SortFunc(s.upList, func(a, b *upstream) int { return int(a.face) - int(b.face) })
}

func (s *flows) faceDown(now machine.Time, id machine.FaceID) {
	u := s.ups.get(id)
	if u == nil {
		return
	}
	u.up, u.seen.changed = false, now
	s.fib.version++
	s.rebind(now, u)
}

// faceGone forgets a face altogether.
func (s *flows) faceGone(id machine.FaceID) {
	if u := s.ups.get(id); u != nil {
		u.asks.gone = true
		u.unplug()
	}
	s.ups.set(id, nil)
	s.upList = slices.DeleteFunc(s.upList, func(u *upstream) bool { return u.face == id })
	s.fib.version++
}

// rebind expresses the Interests that wait for a face elsewhere: it went down or fell silent.
func (s *flows) rebind(now machine.Time, u *upstream) {
	if !u.used {
		return // most faces that strangers make: their end must not cost a walk over all that is pending
	}
	for _, e := range s.pit.entries {
		if !e.live {
			continue
		}
		if o := e.outFace(u.face); o != nil && !o.dead {
			o.dead = true
			if o.charge {
				u.seen.missed++
			}
			if planted.Is(planted.ChargeLost) {
				o.charge = false
			}
			s.unchargeOne(o)
			if e.flow != nil && !e.queued {
				e.avoid, e.lost = u.face, true
				s.enqueue(now, e, true)
			}
		}
	}
	if u.up {
		return
	}
	for i := len(s.order) - 1; i >= 0; i-- {
		if laneOf(s.order[i].lanes, u) != nil {
			s.reconsider(s.order[i])
		}
	}
}

// onInterest handles an Interest that arrived on face in. encoded decodes to i.
func (s *flows) onInterest(now machine.Time, in machine.FaceID, local bool, hdr *wire.Packet, i *wire.Interest) {
	if !i.HasNonce { // foreign applications may leave it to the forwarder (interop.md: always send one)
		i.Nonce, i.HasNonce = s.rand.Uint32(), true
		buf := i.Append(s.bufs.get())
		defer s.bufs.put(buf)
		if err := i.Decode(buf); err != nil {
			s.drop(DropMalformed)
			return
		}
	}
	tok := makeToken(hdr.PitToken)
	if !local && i.HasHopLimit && i.HopLimit == 0 {
		s.drop(DropHopLimit)
		return
	}
	e := s.pit.find(i)
	if e == nil {
		s.newInterest(now, in, local, hdr, tok, i)
		return
	}
	for k := range e.in {
		if e.in[k].nonce == i.Nonce && e.in[k].face != in && !planted.Is(planted.NonceCheckOff) {
			s.drop(DropLooped)
			s.nack(in, tok, i.Wire, wire.NackDuplicate)
			return
		}
	}
	if e.returned(in, i.Nonce) && !planted.Is(planted.NonceCheckOff) {
		s.drop(DropLooped)
		s.nack(in, tok, i.Wire, wire.NackDuplicate)
		return
	}
	if !local && e.disc != nil && s.uphill(now, in, e, hdr) {
		s.drop(DropLoop)
		s.nack(in, tok, i.Wire, wire.NackLoop)
		return
	}
	again := e.asker(in, local, tok)
	repeated := again != nil && again.nonce == i.Nonce // the network duplicated it
	e.addIn(in, local, i.Nonce, tok, now+lifetime(i))
	s.pit.wheel.arm(e)
	further := s.extend(e, local, i)
	if hdr.Bad {
		this := ref{e, e.gen}
		if s.accuse(now, in, e); !this.valid() {
			return
		}
	}
	switch {
	case repeated:
		s.drop(DropDuplicateInterest)
	case e.queued:
		// Still waiting here: merged by name.
	case again == nil && e.waiting() && !further:
		// Another downstream wants the same: aggregated.
	default:
		e.setNonce(i.Nonce)
		e.via = chosen(hdr, local)
		s.express(now, e, true)
	}
}

// extend lets a pending Interest go as far as one that asks for the same: true if that is further than before. The first to ask
// could otherwise keep others from an object by a small HopLimit.
func (s *flows) extend(e *entry, local bool, i *wire.Interest) bool {
	limit := uint8(255)
	if i.HasHopLimit {
		limit = i.HopLimit
		if !local {
			limit--
		}
	}
	if local && e.disc != nil {
		limit = min(limit, uint8(e.disc.room)) // as when it was new
	}
	if !e.interest.HasHopLimit || limit <= e.interest.HopLimit || !e.interest.PatchHopLimit(e.buf, limit) {
		return false
	}
	e.interest.HopLimit = limit
	return true
}

func (e *entry) setNonce(nonce uint32) {
	e.interest.PatchNonce(e.buf, nonce)
	e.interest.Nonce = nonce
}

func (s *flows) newInterest(now machine.Time, in machine.FaceID, local bool, hdr *wire.Packet, tok token, i *wire.Interest) {
	asks := s.ups.get(in).asks
	if !s.affordsEntry(asks, len(i.Wire)) {
		s.drop(DropPITFull)
		s.nack(in, tok, i.Wire, wire.NackCongestion)
		return
	}
	key := s.nonceKey(i.Name, i.Nonce)
	if seen := s.seen[key%uint64(len(s.seen))]; seen.key == key && !planted.Is(planted.NonceCheckOff) {
		if seen.face == in { // the network duplicated it
			s.drop(DropDuplicateInterest)
			return
		}
		s.drop(DropLooped)
		s.nack(in, tok, i.Wire, wire.NackDuplicate)
		return
	}
	hops := s.candidates(in, local, i.Name)
	if len(hops) == 0 {
		s.drop(DropNoRoute)
		s.nack(in, tok, i.Wire, wire.NackNoRoute)
		return
	}
	e := s.pit.insert(i.Wire)
	asks.charge(e)
	if i.HasHopLimit && !local {
		e.interest.PatchHopLimit(e.buf, i.HopLimit-1)
		e.interest.HopLimit = i.HopLimit - 1
	}
	e.label, e.labelled, e.via = hdr.Label, hdr.HasLabel, chosen(hdr, local)
	e.cost = DefaultCost
	if hdr.SizeHint > 0 {
		e.cost = float64(min(max(hdr.SizeHint, minCost), bufferSize))
	}
	e.expiry = now
	e.addIn(in, local, i.Nonce, tok, now+lifetime(i))
	s.pit.wheel.arm(e)
	if hdr.Bad {
		e.bad = true
	}
	if e.via == 0 && s.strategyOf(i.Name) == Mars && !i.Name.HasPrefix(localhostName) && s.marsInterest(now, e, in, local, hdr) {
		return
	}
	if e.bad {
		s.accuse(now, in, e)
	}
	s.forward(now, e, wire.NackNoRoute)
}

// candidates are the next hops that an Interest from face in may take: never back, and a leaf carries no transit.
// A local application, being the producer, excludes everything else.
func (s *flows) candidates(in machine.FaceID, local bool, name wire.Name) []NextHop {
	hops := s.fib.lookup(name)
	abroad := (s.cfg.Relay || local) && !name.HasPrefix(localhostName)
	takes := func(h NextHop) bool {
		u := s.ups.get(h.Face)
		return u != nil && h.Face != in && (abroad || u.local)
	}
	n := 0
	for _, h := range hops {
		if takes(h) {
			n++
		}
	}
	if n == len(hops) {
		return hops
	}
	kept := make([]NextHop, 0, n)
	for _, h := range hops {
		if takes(h) {
			kept = append(kept, h)
		}
	}
	return kept
}

// onData passes a Data packet down to everyone who asked. It is d, and held by down, which onData takes over.
func (s *flows) onData(now machine.Time, from machine.FaceID, hdr *wire.Packet, d *wire.Data, down *packet) {
	e := s.pit.match(hdr.PitToken, d.Name)
	if e == nil {
		s.drop(DropUnsolicited)
		s.bufs.drop(down)
		return
	}
	o := e.outFace(from)
	if o == nil {
		s.drop(DropUnsolicited)
		s.bufs.drop(down)
		return
	}
	if e.flow != nil && e.flow.barred(from) {
		s.drop(DropBarred)
		s.bufs.drop(down)
		return
	}
	if e.probe {
		s.bufs.drop(down)
		s.probeData(now, from, e, o, hdr)
		return
	}
	u := s.ups.get(from)
	s.learn(now, u, e, o, hdr, d)
	s.delivers(e, from)
	s.uncharge(e)
	down.data, down.queued = true, now
	down.hdr.PathTag, down.hdr.HasPathTag = mixTag(hdr.PathTag, from), true
	down.hdr.CongestionMark = hdr.CongestionMark
	if e.flow != nil {
		down.feedback = true
		down.hdr.Feedback.InterestItems = uint32(e.flow.live)
		down.hdr.Feedback.InterestCapacity = uint32(s.cfg.InterestQueue)
		down.hdr.Feedback.InterestSojourn = e.flow.sojourn(now)
	} else {
		down.hdr.Feedback, down.hdr.HasFeedback = hdr.Feedback, hdr.HasFeedback
		down.hdr.Convergence, down.hdr.HasConvergence = hdr.Convergence, hdr.HasConvergence
		s.answered(now, e, u, hdr, down)
	}
	for k := range e.in {
		p := down
		if k > 0 {
			p = s.bufs.packet(append(s.bufs.get(), d.Wire...))
			p.hdr, p.data, p.feedback, p.queued = down.hdr, true, down.feedback, now
		}
		p.tok = e.in[k].tok
		s.out = append(s.out, outbound{e.in[k].face, p})
	}
	s.forget(e)
}

// onNack handles a Nack from upstream for the Interest i.
func (s *flows) onNack(now machine.Time, from machine.FaceID, hdr *wire.Packet, i *wire.Interest) {
	e := s.pit.byToken(hdr.PitToken)
	if e == nil || !e.interest.Name.Equal(i.Name) {
		e = s.pit.find(i)
	}
	if e == nil {
		s.drop(DropUnsolicited)
		return
	}
	o := e.outFace(from)
	if o == nil || o.dead || o.nonce != i.Nonce {
		s.drop(DropUnsolicited)
		return
	}
	u := s.ups.get(from)
	if u != nil && u.onHeard(now) {
		s.wakeAll(u)
	}
	o.dead = true
	if o.charge && u != nil && hdr.NackReason != wire.NackCongestion {
		u.tokens += e.cost // nothing comes for it
	}
	s.unchargeOne(o)
	switch {
	case e.probe:
		s.probeNack(now, from, e, hdr.NackReason)
	case e.flow == nil && s.cfg.Strategy.spreads():
		if !e.waiting() {
			s.fail(e, hdr.NackReason)
		}
	case e.flow == nil:
		s.bestRoute(now, e, hdr.NackReason, false)
	default:
		s.refused(now, e, u, hdr.NackReason)
	}
}

// fail answers every downstream with a Nack and forgets the Interest.
func (s *flows) fail(e *entry, reason wire.NackReason) {
	for k := range e.in {
		if e.in[k].face == selfFace {
			continue
		}
		e.setNonce(e.in[k].nonce)
		s.nack(e.in[k].face, e.in[k].tok, e.buf, reason)
	}
	s.uncharge(e)
	s.forget(e)
}

func (s *flows) nack(to machine.FaceID, tok token, interest []byte, reason wire.NackReason) {
	p := s.bufs.packet(append(s.bufs.get(), interest...))
	p.tok, p.hdr.Nack, p.hdr.NackReason = tok, true, reason
	s.out = append(s.out, outbound{to, p})
}

// uncharge ends the outstanding Interests of an entry on every face.
func (s *flows) uncharge(e *entry) {
	for k := range e.out {
		s.unchargeOne(&e.out[k])
	}
}

func (s *flows) unchargeOne(o *outRecord) {
	if u := s.ups.get(o.face); o.charge && u != nil && u.outstanding > 0 {
		u.outstanding--
	}
	s.land(o)
	o.charge = false
}

func (s *flows) forget(e *entry) {
	for k := range e.in {
		key := s.nonceKey(e.interest.Name, e.in[k].nonce)
		s.seen[key%uint64(len(s.seen))] = seenNonce{key, e.in[k].face}
	}
	if e.queued {
		e.queued = false
		if !planted.Is(planted.QueueLeak) {
			e.flow.live--
		}
	}
	if e.owner != nil {
		e.owner.outstanding--
	}
	s.pit.remove(e)
}

func (s *flows) expire(e *entry) {
	s.drop(DropExpired)
	if planted.Is(planted.PITLeak) {
		return
	}
	s.unanswered(e)
	for k := range e.out {
		s.noteMissed(&e.out[k])
	}
	s.uncharge(e)
	s.forget(e)
}

func (s *flows) nonceKey(n wire.Name, nonce uint32) uint64 {
	return n.Hash(s.pit.seed^uint64(nonce)*0x9e3779b97f4a7c15) | 1
}

func (s *flows) wake(id machine.FaceID) { s.woken = append(s.woken, id) }

// wakeAll puts every flow that uses u back into its round and the face on the ready list.
func (s *flows) wakeAll(u *upstream) {
	for _, f := range s.order {
		if f.live == 0 {
			continue
		}
		for _, l := range f.lanes {
			if l.up == u {
				u.activate(l)
			}
		}
	}
	s.wake(u.face)
}

func lifetime(i *wire.Interest) machine.Time {
	const most = 60_000 // ms: a longer wish costs memory here and helps nobody
	return machine.Time(min(i.Lifetime, most)) * machine.Millisecond
}
