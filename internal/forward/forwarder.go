package forward

import (
	"math/bits"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Config sets up a Forwarder. The zero value of a field means its default.
type Config struct {
	Seed          uint64   // of everything random: hash keys, nonces
	ID            uint64   // of this node: breaks ties between labels
	Strategy      Strategy // for names with a MARS marker
	Profile       Profile  // of Mars
	Application   bool     // an application's own forwarder, attached to the node of its host: local names are for that one
	Relay         bool     // carries transit between other nodes; a leaf answers Nack(NoRoute)
	InterestQueue int      // capacity of each flow's Interest queue, Interests
	MaxPIT        int      // pending Interests, in all
	MaxFlows      int      // flows remembered
	MaxFaceFlows  int      // flows remembered for one downstream face; a name counts once per 256 bytes
	Discovery     DiscoveryMode
	// DataAfterDiscovery holds a new flow's Interests for Data until its first discovery has ended, as in the paper's
	// measurements. Otherwise they start at once, on the shortest faces (protocol.md §5.4).
	DataAfterDiscovery bool
	EvenStart          bool // PCON: the next hops of a prefix begin with equal shares, not all on the nearest

	faults faults
}

// DefaultMaxPIT bounds the pending Interests of a node.
const DefaultMaxPIT = 1 << 17

// DropReason says why a packet was dropped. Bad packets are counted, never errors.
type DropReason uint8

// The drop reasons.
const (
	_                     DropReason = iota
	DropMalformed                    // doesn't decode
	DropFragment                     // impossible or oversized fragment
	DropDuplicateFragment            // fragment came twice
	DropHopLimit                     // HopLimit exhausted
	DropDuplicateInterest            // the same Interest twice from one face
	DropNoRoute                      // no next hop (answered with a Nack)
	DropPITFull                      // too many pending Interests (answered with a Nack)
	DropInterestQueue                // flow's Interest queue full (answered with a Nack)
	DropDataQueue                    // Data queue full
	DropControlQueue                 // Nacks or unshaped Interests wait in vain
	DropLoop                         // it would go uphill (answered with a Nack)
	DropUnsolicited                  // Data or Nack that nobody waits for
	DropExpired                      // pending Interest ran out of its lifetime
	DropFaceDown                     // its face is gone
	DropScope                        // /localhost from another node
	DropNack                         // Nack for a peer that may not know what it is
	DropControl                      // routing message that nobody here takes
	DropLooped                       // an Interest came back: its nonce is known from another face (answered with a Nack)
	DropBarred                       // Data of a flow by a face that brought it false ones
	dropReasons
)

var dropNames = [dropReasons]string{
	"", "malformed", "fragment", "duplicate_fragment", "hop_limit", "duplicate_interest", "no_route", "pit_full",
	"interest_queue_full", "data_queue_full", "control_queue_full", "loop", "unsolicited", "expired", "face_down", "scope", "nack_unwanted", "control", "looped", "barred",
}

func (r DropReason) String() string { return dropNames[r] }

// face joins the two sides of one face.
type face struct {
	id   machine.FaceID
	slot int
	up   bool
	link link
	flow *upstream
	wake machine.Time // when to look at it again; Never: when woken
	heap int          // position in the wake heap, −1: not there
	n    Counters

	mars  bool // the peer has used one of our header fields
	nacks bool // the peer has sent a Nack
}

// Counters counts the packets of one face.
type Counters struct {
	InterestsIn, InterestsOut uint64
	DataIn, DataOut           uint64
	NacksIn, NacksOut         uint64
	ContentIn                 uint64 // bytes of Content in Data that answered an Interest
	BytesIn, BytesOut         uint64 // of datagrams
	Drops                     uint64
}

// Forwarder is a MARS forwarder (machine.Machine). Local faces are applications on this node; whoever composes the
// node moves their packets.
type Forwarder struct {
	cfg     Config
	bufs    pool
	flows   flows
	faces   table[face]
	slots   []*face // by slot; fixed order of Ready
	ready   []uint64
	wakes   wakes
	dropped [dropReasons]uint64
	control []Control // from neighbours

	commands []Command // from applications

	pkt      wire.Packet // scratch: one datagram at a time
	interest wire.Interest
	data     wire.Data
}

// New returns a forwarder without faces or routes.
func New(cfg Config) *Forwarder {
	if cfg.InterestQueue == 0 {
		cfg.InterestQueue = DefaultInterestQueue
	}
	if cfg.MaxPIT == 0 {
		cfg.MaxPIT = DefaultMaxPIT
	}
	if cfg.MaxFlows == 0 {
		cfg.MaxFlows = DefaultMaxFlows
	}
	if cfg.MaxFaceFlows == 0 {
		cfg.MaxFaceFlows = max(cfg.MaxFlows/4, min(cfg.MaxFlows, 2))
	}
	fw := &Forwarder{cfg: cfg}
	fw.flows = newFlows(cfg, &fw.bufs, &fw.dropped)
	return fw
}

// Profile is how Interests are paced and scheduled here.
func (fw *Forwarder) Profile() Profile { return fw.cfg.Profile }

// minMTU is the smallest MTU that a face works with: 64 fragments must hold the largest packet.
const minMTU = 512

// FaceUp adds a face, or brings it back.
func (fw *Forwarder) FaceUp(now machine.Time, id machine.FaceID, f machine.Face) {
	if f.Local {
		f.MTU = 0
	} else {
		f.MTU = max(f.MTU, minMTU)
	}
	fc := fw.faces.get(id)
	if fc == nil {
		fc = &face{id: id, slot: len(fw.slots), wake: machine.Never, heap: -1}
		// The peer may hold fragments of an earlier run of this node: they must not become one packet with ours.
		fc.link.sequence = uint64(fw.flows.boot) << 32
		fw.faces.set(id, fc)
		fw.slots = append(fw.slots, fc)
		if len(fw.ready)*64 < len(fw.slots) {
			fw.ready = append(fw.ready, 0)
		}
	}
	fc.up = true
	fc.link.Face = f
	fc.link.creditAt = now
	fw.flows.faceUp(now, id, f)
	fc.flow = fw.flows.ups.get(id)
	if fw.cfg.Strategy.spreads() && !f.Local {
		fc.link.codel = newCoDel()
		fc.flow.codel = fc.link.codel
	}
	fw.settle(now)
}

// FaceDown takes a face out of service. Its queued Data are dropped; the Interests that wait for it go elsewhere.
func (fw *Forwarder) FaceDown(now machine.Time, id machine.FaceID) {
	fc := fw.faces.get(id)
	if fc == nil || !fc.up {
		return
	}
	fc.up = false
	fw.dropped[DropFaceDown] += uint64(fc.link.data.len() + fc.link.control.len())
	fc.link.reset(&fw.bufs)
	fw.flows.faceDown(now, id)
	fw.settle(now)
}

// FaceGone forgets a face that will never come back; its routes stay until they are withdrawn.
func (fw *Forwarder) FaceGone(now machine.Time, id machine.FaceID) {
	fw.FaceDown(now, id)
	if fc := fw.faces.get(id); fc != nil {
		fw.rearm(fc, machine.Never)
		fw.unready(fc)
		fw.faces.set(id, nil)
		// The last slot moves into the hole, so that slots stay dense.
		last := fw.slots[len(fw.slots)-1]
		if last != fc {
			lastReady := fw.isReady(last)
			fw.unready(last)
			last.slot = fc.slot
			fw.slots[fc.slot] = last
			if lastReady {
				fw.setReady(last)
			}
		}
		fw.slots = fw.slots[:len(fw.slots)-1]
		fw.flows.faceGone(id)
	}
}

// AddRoute installs a route: name prefix, face, routed hop count (0: an application here).
func (fw *Forwarder) AddRoute(prefix wire.Name, h NextHop) { fw.flows.fib.add(prefix.Clone(), h) }

// RemoveRoute withdraws a route.
func (fw *Forwarder) RemoveRoute(prefix wire.Name, face machine.FaceID) {
	fw.flows.fib.remove(prefix, face)
}

// Receive handles one datagram from face id.
func (fw *Forwarder) Receive(now machine.Time, id machine.FaceID, _ machine.ECN, datagram []byte) {
	fw.Take(now, id, datagram, machine.Part{})
}

// Take is Receive of a datagram that may be lent in part (machine.Lender). False: nothing has come of it yet, being a part of a
// packet, or bad.
func (fw *Forwarder) Take(now machine.Time, id machine.FaceID, datagram []byte, tail machine.Part) bool {
	fc := fw.faces.get(id)
	if fc == nil || !fc.up {
		fw.dropped[DropFaceDown]++
		return false
	}
	p := &fw.pkt
	var err error
	if tail.Of != nil {
		err = p.DecodeParts(datagram, tail.Bytes())
	} else {
		err = p.Decode(datagram)
	}
	if err != nil {
		fw.dropped[DropMalformed]++
		fc.n.Drops++
		return false
	}
	fc.n.BytesIn += uint64(len(datagram) + tail.Len())
	fc.mars = fc.mars || speaksMARS(p)
	fc.nacks = fc.nacks || p.Nack
	if fw.cfg.Profile == ProfileMARS && !fc.link.Local {
		fc.link.repair.meets(p, fc.mars)
		if fc.link.hear(now, p, &fw.bufs) {
			fw.setReady(fc)
		}
	}
	if p.Fragment == nil { // an idle packet
		return false
	}
	if len(p.Fragment) > wire.MaxPacket { // no buffer on the way takes it: kept, it would block its face for good
		fw.dropped[DropMalformed]++
		fc.n.Drops++
		return false
	}
	if p.FragCount > 1 {
		hdr, whole, drop := fc.link.in.add(now, p, tail, &fw.bufs)
		if drop != 0 {
			fw.dropped[drop]++
			fc.n.Drops++
		}
		if hdr == nil {
			return false
		}
		fw.flows.mended = !fc.link.in.order
		fw.accept(now, fc, hdr, whole.wire, whole)
	} else {
		fw.flows.mended = false
		fw.accept(now, fc, p, p.Fragment, nil)
	}
	fw.settle(now)
	return true
}

// accept hands a network packet to the flow side. body is the packet, and whole, unless nil, a packet of the pool that holds it.
func (fw *Forwarder) accept(now machine.Time, fc *face, hdr *wire.Packet, body []byte, whole *packet) {
	if len(body) > 0 && body[0] == wire.TypeData && !hdr.Nack {
		if whole == nil {
			whole = fw.bufs.packet(append(fw.bufs.get(), body...))
		}
		if err := fw.data.Decode(whole.wire); err != nil {
			fw.malformed(fc, whole)
			return
		}
		fc.n.DataIn++
		before := fw.dropped[DropUnsolicited]
		size := len(fw.data.Content)
		fw.flows.onData(now, fc.id, hdr, &fw.data, whole)
		if fw.dropped[DropUnsolicited] == before {
			fc.n.ContentIn += uint64(size)
		}
		return
	}
	if err := fw.interest.Decode(body); err != nil {
		fw.malformed(fc, whole)
		return
	}
	switch {
	case hdr.Nack:
		fc.n.NacksIn++
		fw.flows.onNack(now, fc.id, hdr, &fw.interest)
	case !fc.link.Local && isControl(&fw.interest):
		fc.mars = true
		fw.takeIn(fc, fw.interest.Parameters)
	case fw.localhost(fc, hdr, &fw.interest):
	default:
		fc.n.InterestsIn++
		fw.flows.onInterest(now, fc.id, fc.link.Local, hdr, &fw.interest)
	}
	if whole != nil {
		fw.bufs.drop(whole)
	}
}

func (fw *Forwarder) malformed(fc *face, whole *packet) {
	fw.dropped[DropMalformed]++
	fc.n.Drops++
	if whole != nil {
		fw.bufs.drop(whole)
	}
}

// settle moves what the flow side produced to the link side and wakes the faces concerned.
func (fw *Forwarder) settle(now machine.Time) {
	fw.settleOut()
	for _, id := range fw.flows.woken {
		if fc := fw.faces.get(id); fc != nil && fc.up {
			fw.setReady(fc)
		}
	}
	fw.flows.woken = fw.flows.woken[:0]
}

func (fw *Forwarder) settleOut() {
	for i := range fw.flows.out {
		o := &fw.flows.out[i]
		fw.enqueue(o.face, o.p)
		o.p = nil
	}
	fw.flows.out = fw.flows.out[:0]
}

func (fw *Forwarder) enqueue(id machine.FaceID, p *packet) {
	fc := fw.faces.get(id)
	switch {
	case fc == nil || !fc.up:
		fw.dropped[DropFaceDown]++
	case !fc.suit(p):
		fw.dropped[DropNack]++
	case p.data && !p.urgent && !fc.link.pushData(p):
		fw.dropped[DropDataQueue]++
		fc.n.Drops++
	case (!p.data || p.urgent) && !fc.link.pushControl(p):
		fw.dropped[DropControlQueue]++
		fc.n.Drops++
	default:
		fw.setReady(fc)
		return
	}
	fw.bufs.drop(p)
}

// Advance expires pending Interests and looks at the faces whose time has come.
func (fw *Forwarder) Advance(now machine.Time) {
	fw.flows.pit.wheel.advance(now, fw.flows.expire)
	fw.flows.probeAll(now)
	for {
		fc := fw.wakes.due(now)
		if fc == nil {
			break
		}
		fw.rearm(fc, machine.Never)
		if fc.flow != nil {
			fw.flows.checkSilence(now, fc.flow)
			at := fc.flow.silenceDeadline()
			if fc.link.repair.on {
				at = min(at, max(fc.link.repair.deadline(), now+1))
			}
			fw.rearm(fc, at)
		}
		fw.setReady(fc)
	}
	fw.settle(now)
}

// sleep takes a face off the ready list until at, or until its silence is due.
func (fw *Forwarder) sleep(fc *face, at machine.Time) {
	fw.unready(fc)
	fw.rearm(fc, min(at, fc.flow.silenceDeadline()))
}

// Ready appends the faces that may have something to send, in the order of their slots.
func (fw *Forwarder) Ready(dst []machine.FaceID) []machine.FaceID {
	for w, word := range fw.ready {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, fw.slots[w*64+bits.TrailingZeros64(word)].id)
		}
	}
	return dst
}

// Deadline is the next expiry or wake-up.
func (fw *Forwarder) Deadline() machine.Time {
	at := min(fw.flows.pit.wheel.deadline(), fw.wakes.deadline())
	for _, f := range fw.flows.probing {
		at = min(at, f.probeAt)
	}
	return at
}

func (fw *Forwarder) isReady(fc *face) bool { return fw.ready[fc.slot/64]&(1<<(fc.slot%64)) != 0 }
func (fw *Forwarder) setReady(fc *face)     { fw.ready[fc.slot/64] |= 1 << (fc.slot % 64) }
func (fw *Forwarder) unready(fc *face)      { fw.ready[fc.slot/64] &^= 1 << (fc.slot % 64) }

func (fw *Forwarder) rearm(fc *face, at machine.Time) {
	fc.wake = at
	fw.wakes.update(fc)
}

// Dropped returns how many packets were dropped for reason r.
func (fw *Forwarder) Dropped(r DropReason) uint64 { return fw.dropped[r] }

// DropReasons lists the reasons that Dropped knows.
func DropReasons() []DropReason {
	all := make([]DropReason, 0, dropReasons-1)
	for r := DropMalformed; r < dropReasons; r++ {
		all = append(all, r)
	}
	return all
}

// Pending is the number of pending Interests.
func (fw *Forwarder) Pending() int { return fw.flows.pit.live }
