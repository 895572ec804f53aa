package forward

import (
	"slices"

	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// How the source of a flow drives discovery (MARS paper §III-B2: the consumer advances ProbeIdx), and how every node
// answers probes. The rules themselves are in discovery.go.
const (
	// probeWindow bounds the outstanding probes of a flow; it begins at probeWindowMin and grows by one with each answer.
	probeWindow    = 32
	probeWindowMin = 4
	// probeGap paces probes, at no more than probesPerRTT in a round trip; probeIdle is how often a source whose window is full looks for tries that are over.
	probeGap     = machine.Millisecond
	probesPerRTT = 8
	probeIdle    = 10 * machine.Millisecond
	// probeLifetime is the lifetime of a probe, ms.
	probeLifetime = 1000
	// firstProbeTimeout holds while no round trip of a face is known.
	firstProbeTimeout = 250 * machine.Millisecond
	// discoveryMax ends a discovery that doesn't converge: what it has found by then is used.
	discoveryMax = 3 * machine.Second
	// refreshEvery is how often an active flow looks for new paths (protocol.md §5.4); restartMin is the least time between
	// two discoveries of a flow.
	refreshEvery = 30 * machine.Second
	restartMin   = 500 * machine.Millisecond
	// maxIndex bounds ProbeIdx: tiers are at most as many as hops.
	maxIndex = 2 * maxHops
	// keptEpochs is how many epochs of a flow a node remembers: the one in use, and the one that replaces it.
	keptEpochs = 2
)

// routes are the next hops for a flow's producer that this node may use.
func (s *flows) routes(f *flow, local bool) []NextHop {
	var hops []NextHop
	for _, h := range s.fib.lookup(f.name) {
		if u := s.ups.get(h.Face); u != nil && u.up && (s.cfg.Relay || local || u.local) {
			if u.local { // the producer is here
				return []NextHop{{Face: h.Face}}
			}
			hops = append(hops, h)
		}
	}
	return hops
}

// sourceEpoch returns the epoch that a flow of an application here uses now, and starts discovery for a new flow, or when
// routing has changed. nil: no route.
func (s *flows) sourceEpoch(now machine.Time, f *flow) *discovery {
	if !f.source {
		f.source = true
		f.epochs = nil
		f.probeSeq = uint64(s.boot) // names of an earlier run may still be pending somewhere
	}
	if len(f.epochs) == 0 {
		d := s.newEpoch(f)
		if len(d.probes) == 0 {
			return nil
		}
		f.epochs = append(f.epochs, d)
		f.version = s.fib.version
		s.setLanes(f)
		s.beginProbing(now, f, d)
	}
	if f.version != s.fib.version && len(f.epochs) < keptEpochs {
		// Until the candidates are those in use the change is looked at again: a discovery may be too recent to start another.
		if f.epochs[0].same(s.newProbes(f)) {
			f.version = s.fib.version
		} else {
			s.rediscover(now, f)
		}
	}
	return f.epochs[0]
}

// newEpoch is the next epoch of a flow whose source is here.
func (s *flows) newEpoch(f *flow) *discovery {
	s.epoch++
	return newDiscovery(s.boot, s.epoch, topLabel, true, s.routes(f, true), s.cfg)
}

func (s *flows) newProbes(f *flow) []probe {
	return newDiscovery(0, 0, topLabel, true, s.routes(f, true), s.cfg).probes
}

// same tells whether the candidates are those of d.
func (d *discovery) same(probes []probe) bool {
	if len(probes) != len(d.probes) {
		return false
	}
	for i := range probes {
		if probes[i].face != d.probes[i].face || probes[i].hops != d.probes[i].hops {
			return false
		}
	}
	return true
}

// beginProbing schedules the probes of epoch d.
func (s *flows) beginProbing(now machine.Time, f *flow, d *discovery) {
	f.started, f.probeAt, f.window = now, now, probeWindowMin
	if len(d.probes) == 1 && s.ups.get(d.probes[0].face).local { // nothing to find: the producer is here
		d.finished, f.probeAt = now, machine.Never
		return
	}
	if !f.probing {
		f.probing = true
		s.probing = append(s.probing, f)
	}
	if planted.Is(planted.ProbeTimerOff) && len(f.epochs) == keptEpochs {
		f.probeAt = machine.Never
		return
	}
	s.drive(now, f) // not probeAll: this may be called from there
}

// rediscover starts a new epoch beside the one in use: make before break.
func (s *flows) rediscover(now machine.Time, f *flow) {
	if !f.source || f.evicted || len(f.epochs) == 0 || len(f.epochs) == keptEpochs || f.epochs[0].finished == 0 {
		return // one is under way
	}
	if now < f.started+restartMin {
		f.probeAt = min(f.probeAt, f.started+restartMin)
		return
	}
	d := s.newEpoch(f)
	if len(d.probes) == 0 {
		f.started, f.probeAt = now, now+restartMin
		return
	}
	f.epochs = append(f.epochs, d)
	s.setLanes(f)
	s.beginProbing(now, f, d)
}

// probeAll sends the probes that are due and ends the discoveries that have converged.
func (s *flows) probeAll(now machine.Time) {
	kept := s.probing[:0]
	for _, f := range s.probing {
		if now >= f.probeAt && !f.evicted {
			s.drive(now, f)
		}
		if f.evicted || f.probeAt == machine.Never {
			f.probing = false
			continue
		}
		kept = append(kept, f)
	}
	clear(s.probing[len(kept):])
	s.probing = kept
}

// drive does what is due for one flow's discovery.
func (s *flows) drive(now machine.Time, f *flow) {
	d := f.epochs[len(f.epochs)-1]
	if d.finished != 0 { // time for the slow periodic probe, or a restart that had to wait
		if now-f.used > refreshEvery && f.live == 0 {
			f.probeAt = machine.Never // nobody uses the flow: found paths may grow old
			return
		}
		f.probeAt = now + refreshEvery
		f.hintGap = 0
		s.rediscover(now, f)
		return
	}
	s.markDown(d)
	d.expire(now)
	if d.advance() || now-f.started > discoveryMax {
		s.converged(now, f, d)
		return
	}
	if f.outstanding >= probeWindow {
		f.probeAt = now + probeIdle
		return
	}
	gap := s.probeGap(d)
	if f.outstanding >= f.window && !d.untried() { // on the way still, or lost: nobody knows
		gap = max(gap, probeIdle)
	}
	f.probeAt = now + gap
	s.sendProbe(now, f, d)
}

// probeGap is the least time between two probes.
func (s *flows) probeGap(d *discovery) machine.Time {
	var rtt machine.Time
	for i := range d.probes {
		if u := s.ups.get(d.probes[i].face); u != nil && u.srtt > 0 && (rtt == 0 || u.srtt < rtt) {
			rtt = u.srtt
		}
	}
	return max(probeGap, rtt/probesPerRTT)
}

// converged puts a discovered epoch into use.
func (s *flows) converged(now machine.Time, f *flow, d *discovery) {
	d.finished = max(now, 1)
	f.probeAt = now + refreshEvery
	f.found = now - f.started
	if len(f.epochs) == keptEpochs {
		if d.upstreams() == 0 { // worse than nothing: keep what there is and try again
			f.epochs = f.epochs[:1]
			f.probeAt = now + restartMin
		} else {
			f.epochs = append(f.epochs[:0], d)
		}
		s.setLanes(f)
	} else if d.upstreams() == 0 {
		f.probeAt = now + restartMin
	}
	s.reconsider(f)
}

func (s *flows) wakeFlow(f *flow) {
	if f.live == 0 {
		return
	}
	for _, l := range f.lanes {
		l.up.activate(l)
		s.wake(l.up.face)
	}
}

// sendProbe sends one PD Interest of our own.
func (s *flows) sendProbe(now machine.Time, f *flow, d *discovery) {
	if s.pit.live >= s.cfg.MaxPIT {
		return
	}
	f.probeSeq++
	i := wire.Interest{
		Name:        wire.AppendDiscovery(nil, f.dest, f.src, uint64(d.index), f.probeSeq),
		MustBeFresh: true, Nonce: s.rand.Uint32(), HasNonce: true, Lifetime: probeLifetime,
		HopLimit: uint8(d.room), HasHopLimit: true,
	}
	buf := i.Append(s.bufs.get())
	e := s.pit.insert(buf)
	s.bufs.put(buf)
	e.disc, e.owner, e.probe, e.probeIdx = d, f, true, d.index
	e.label, e.labelled = d.label, true
	e.expiry = now
	e.addIn(selfFace, false, i.Nonce, token{}, now+probeLifetime*machine.Millisecond)
	s.pit.wheel.arm(e)
	f.outstanding++
	s.probe(now, e, selfFace)
}

// selfFace is the downstream of probes that this node sends for its own flows.
const selfFace machine.FaceID = 0

// join finds the epoch of a flow that passes through here, or freezes a label and joins it. nil: it may not.
func (s *flows) join(now machine.Time, f *flow, label wire.Label) *discovery {
	for _, d := range f.epochs {
		if d.boot == label.Boot && d.epoch == label.Epoch {
			return d
		}
	}
	if len(f.epochs) == keptEpochs && label.Boot == f.epochs[0].boot && label.Epoch < f.epochs[0].epoch && !planted.Is(planted.StaleEpoch) {
		return nil // long gone: its label here is forgotten, and another could close a cycle
	}
	hops := s.routes(f, false)
	mine := wire.Label{Hash: f.name.Hash(s.cfg.ID)}
	if len(hops) > 0 {
		mine.Hops = uint16(hops[0].Hops) // next hops are sorted
	}
	d := newDiscovery(label.Boot, label.Epoch, mine, false, hops, s.cfg)
	d.joined, f.version = now, s.fib.version
	if len(f.epochs) == keptEpochs {
		f.epochs = append(f.epochs[:0], f.epochs[1:]...)
	}
	at := len(f.epochs)
	for at > 0 && f.epochs[at-1].boot == d.boot && f.epochs[at-1].epoch > d.epoch { // it was overtaken on the way: oldest first
		at--
	}
	f.epochs = slices.Insert(f.epochs, at, d)
	s.setLanes(f)
	return d
}

// probe forwards a PD Interest by the face that discovery says, or answers it.
func (s *flows) probe(now machine.Time, e *entry, in machine.FaceID) {
	d := e.disc
	if len(d.probes) == 1 && s.ups.get(d.probes[0].face) != nil && s.ups.get(d.probes[0].face).local {
		s.answerProbe(now, e, wire.Convergence{Tier: true, Node: true}) // the producer is here
		return
	}
	s.markDown(d)
	face := d.onProbe(now, in, e.probeIdx, e.room(), s.probeTimeout)
	u := s.ups.get(face)
	if face == 0 || u == nil {
		s.fail(e, wire.NackNoRoute)
		return
	}
	s.out = append(s.out, outbound{face, s.send(now, u, e, false)})
}

// markDown rules out the faces that are down.
func (s *flows) markDown(d *discovery) {
	for i := range d.probes {
		p := &d.probes[i]
		if u := s.ups.get(p.face); (u == nil || !u.up) && p.state != looped {
			p.state = dead
		}
	}
}

func (s *flows) probeTimeout(face machine.FaceID) machine.Time {
	if u := s.ups.get(face); u != nil && u.srtt > 0 {
		return max(3*u.srtt, minProbeTimeout)
	}
	return firstProbeTimeout
}

// answerProbe sends PD Data with our flags downstream, or takes them in if the probe was ours.
func (s *flows) answerProbe(now machine.Time, e *entry, c wire.Convergence) {
	var own *flow
	for k := range e.in {
		if e.in[k].face == selfFace {
			own = e.owner
			continue
		}
		d := wire.Data{Name: e.interest.Name, SignatureType: wire.SignatureNull}
		p := s.bufs.packet(d.Append(s.bufs.get()))
		p.data, p.urgent, p.tok, p.queued = true, true, e.in[k].tok, now
		p.hdr.Convergence, p.hdr.HasConvergence = c, true
		s.out = append(s.out, outbound{e.in[k].face, p})
	}
	s.forget(e)
	if own != nil && own.discovering() {
		own.window = min(own.window+1, probeWindow)
		if own.epochs[len(own.epochs)-1].advance() {
			own.probeAt = now
			s.drive(now, own)
		}
	}
}

// discovering tells whether the source is still probing.
func (f *flow) discovering() bool {
	return !f.evicted && len(f.epochs) > 0 && f.epochs[len(f.epochs)-1].finished == 0
}

// probeData handles PD Data that came by a face.
func (s *flows) probeData(now machine.Time, from machine.FaceID, e *entry, o *outRecord, hdr *wire.Packet) {
	c := hdr.Convergence
	if !hdr.HasConvergence { // a node that knows no discovery looks converged (protocol.md §5.3)
		c = wire.Convergence{Tier: true, Node: true}
	}
	if u := s.ups.get(from); u != nil {
		if len(e.out) == 1 {
			u.onRTT(now - o.sent)
		}
		if u.onHeard(now) {
			s.wakeAll(u)
		}
	}
	e.disc.onData(from, e.probeIdx, e.room(), c)
	s.answerProbe(now, e, e.disc.flags(e.probeIdx, e.room()))
}

// probeNack handles a Nack to a probe: the next face is tried.
func (s *flows) probeNack(now machine.Time, from machine.FaceID, e *entry, reason wire.NackReason) {
	e.disc.onNack(from, reason)
	in := machine.FaceID(0)
	if len(e.in) > 0 {
		in = e.in[0].face
	}
	own := e.owner
	s.probe(now, e, in)
	if own != nil && own.discovering() {
		own.probeAt = min(own.probeAt, now)
	}
}
