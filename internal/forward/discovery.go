package forward

import (
	"cmp"
	"slices"

	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// Path discovery of one flow in one epoch at one node: which faces it may use toward the producer (MARS paper §III-B;
// protocol.md §5). It is a pure value: the forwarder feeds it what arrives and does what it answers.
//
// Each candidate face goes through
//
//	         probe sent                    Data
//	unsent ─────────────▶ in flight ───────────────▶ acked
//	                       │   ▲ │
//	                timeout│   │ │ third timeout, Nack(NoRoute)
//	                       └───┘ └──────────────────▶ dead ───── Data ────▶ acked
//	                             │ Nack(Loop, Duplicate)
//	                             └──────────────────▶ looped
//
// Safety is the label's: a node freezes ℓ = (routed hops, hash) when it joins an epoch, the source's is above all, and
// an Interest only moves to a smaller label. So the graph of accepted hops has no cycle at any instant, whatever is
// lost, reordered or late. Tiers and probes only choose which safe faces are worth having.

// DiscoveryMode says which faces discovery may find.
type DiscoveryMode uint8

// The discovery modes.
const (
	Detours DiscoveryMode = iota // all faces within the stretch budget
	Direct                       // at most one hop longer than the shortest
	Literal                      // the paper's rules alone, without labels: it can form cycles, and is kept to show that
)

// faults are bugs that tests plant and expect to be caught; none by default.
type faults uint8

const (
	faultLabel   faults = 1 << iota // accepts any sender
	faultSource                     // the source accepts its own flow
	faultFirst                      // a node first reached late begins with a late tier
	faultFlags                      // flags fall again
	faultStretch                    // no stretch budget
)

type probeState uint8

const (
	unsent probeState = iota
	inFlight
	acked
	dead
	looped
)

var probeStates = [...]string{"unsent", "in flight", "acked", "dead", "looped"}

func (s probeState) String() string { return probeStates[s] }

const (
	maxTries        = 3
	minProbeTimeout = 100 * machine.Millisecond
	unknownHops     = 255 // a static default route knows no distance
	// maxHops is the HopLimit where the distance isn't known.
	maxHops = 64
)

// topLabel is the source's label in its own flow: it may use any neighbour that accepts.
var topLabel = wire.Label{Hops: 1<<16 - 1, Hash: 1<<64 - 1}

// probe is the state of one candidate face.
type probe struct {
	face     machine.FaceID
	hops     int // routed, through this face
	tier     int // 0: the shortest
	state    probeState
	tries    int
	deadline machine.Time // in flight: when this try is over
	room     int          // the most hops that an answered probe could go; what follows is for that
	tierConv int          // highest ProbeIdx for which it returned TierConv; −1: none
	nodeConv bool
	ingress  bool // Literal: a shorter-tier probe came in by it
}

// done is what a node has said about probes that could go room hops: what holds for more holds for less. A face may fit probes
// that come by a short way and not those that come by a longer one, so flags are monotone within (epoch, tier, room).
type done struct {
	room, tier int // tier: the highest ProbeIdx with TierConv
	node       bool
	turn       int // of the round robin over faces: probes of different room that alternate would else share the faces out
}

// of returns what is known about probes that may go room hops.
func (d *discovery) of(room int) *done {
	for i := range d.done {
		if d.done[i].room == room {
			return &d.done[i]
		}
	}
	d.done = append(d.done, done{room: room, tier: -1})
	return &d.done[len(d.done)-1]
}

// discovery is one flow in one epoch at one node.
type discovery struct {
	boot, epoch uint32
	label       wire.Label // frozen
	mode        DiscoveryMode
	faults      faults
	source      bool
	hold        bool    // at the source: Data wait for the end of discovery
	eager       bool    // at the source: Data don't even wait for a face's first answer
	probes      []probe // by tier, hops, face
	tiers       int
	first       int // ProbeIdx at which a probe first came; −1: none yet
	index       int // highest ProbeIdx seen; at the source: the current one
	room        int // most hops that an arriving probe could still go
	done        []done
	joined      machine.Time
	finished    machine.Time // at the source: when NodeConv was reached; 0: not yet
}

// stretch is the hop budget of a flow whose source is d hops away: ⌈2·d⌉ − 1, but at least one hop more than the shortest,
// or a relay beside a direct path could never be used. Without detours it is that one hop more.
func stretch(d int, mode DiscoveryMode) int {
	switch {
	case d >= unknownHops:
		return maxHops
	case mode == Direct:
		return min(d+1, maxHops)
	}
	return min(max(2*d-1, d+1), maxHops)
}

// newDiscovery joins an epoch with the next hops that routing offers now.
func newDiscovery(boot, epoch uint32, label wire.Label, source bool, hops []NextHop, cfg Config) *discovery {
	d := &discovery{boot: boot, epoch: epoch, label: label, source: source, mode: cfg.Discovery, faults: cfg.faults, first: -1}
	d.label.Boot, d.label.Epoch = boot, epoch
	if len(hops) == 0 {
		return d
	}
	nearest := hops[0].Hops
	for _, h := range hops {
		nearest = min(nearest, h.Hops)
	}
	most := stretch(nearest, d.mode)
	if d.faults&faultStretch != 0 {
		most = maxHops
	}
	for _, h := range hops {
		if h.Hops <= most || h.Hops == nearest || h.Hops >= unknownHops {
			d.probes = append(d.probes, probe{face: h.Face, hops: h.Hops, tierConv: -1})
		}
	}
	slices.SortFunc(d.probes, func(a, b probe) int {
		return cmp.Or(cmp.Compare(a.hops, b.hops), cmp.Compare(a.face, b.face))
	})
	for i := range d.probes {
		if i > 0 && d.probes[i].hops > d.probes[i-1].hops {
			d.tiers++
		}
		d.probes[i].tier = d.tiers
	}
	d.tiers++
	if source {
		d.first, d.room, d.hold = 0, most, cfg.DataAfterDiscovery
		d.eager = cfg.Profile == ProfileMARS && !d.hold && d.mode != Literal
	}
	return d
}

// holds tells whether Data Interests still wait for discovery.
func (d *discovery) holds() bool { return d.hold && d.finished == 0 }

// refuses tells whether an Interest from a sender with this label must be answered with Nack(Loop): it would go uphill.
func (d *discovery) refuses(sender wire.Label, local bool) bool {
	if d.mode == Literal || d.faults&faultLabel != 0 || planted.Is(planted.LabelCheckOff) {
		return false
	}
	if d.source {
		return !local && d.faults&faultSource == 0
	}
	return !d.label.Less(sender)
}

// localTier is the tier that this node probes at ProbeIdx index.
func (d *discovery) localTier(index int) int {
	return min(max(index-max(d.first, 0), 0), d.tiers-1)
}

// reach is the highest tier open at ProbeIdx index: the local tier, or the first after it that has a usable face if no tier up
// to there has. The paper lets a node without one give up; a node cut off from its shortest paths would then be lost for
// the whole epoch, and labels keep a longer tier safe at any time.
func (d *discovery) reach(index, room int) int {
	tier := d.localTier(index)
	for i := range d.probes {
		if p := &d.probes[i]; d.open(p, room) {
			return max(tier, p.tier)
		}
	}
	return tier
}

// open tells whether a face may still turn out valid for packets that can go room hops.
func (d *discovery) open(p *probe, room int) bool {
	return p.state != dead && p.state != looped && !p.ingress && p.fits(room)
}

// fits tells whether a face's distance is within what a packet may still go.
func (p *probe) fits(room int) bool {
	return p.hops >= unknownHops || p.hops <= room || planted.Is(planted.StretchOff)
}

// valid tells whether Data Interests may use the face: it is acknowledged, or one of the shortest, along which labels fall
// anyway and Data can start at once.
func (d *discovery) valid(p *probe) bool {
	return p.state == acked || p.tier == 0 && p.state != dead && p.state != looped && !p.ingress
}

// onProbe handles a PD Interest that came by face from (0: our own) and may go room hops further. It returns the face to
// forward it by; 0: there is none.
func (d *discovery) onProbe(now machine.Time, from machine.FaceID, index, room int, timeout func(machine.FaceID) machine.Time) machine.FaceID {
	if d.first < 0 {
		d.first = index
		if d.faults&faultFirst != 0 {
			d.first = 0
		}
	}
	d.index = max(d.index, index)
	d.room = max(d.room, room)
	d.noteIngress(from, index)
	tier := d.reach(index, room)
	for i := range d.probes {
		p := &d.probes[i]
		if p.tier > tier {
			break
		}
		if p.face == from || p.ingress || !p.fits(room) {
			continue
		}
		if p.state == inFlight && now >= p.deadline {
			if p.state = unsent; p.tries >= maxTries {
				p.state = dead
			}
		}
		if p.state == unsent {
			p.state, p.deadline = inFlight, now+timeout(p.face)
			p.tries++
			return p.face
		}
	}
	// The paper goes round robin over ValidUpstream, so that upstream nodes are exercised (§III-B3). Faces that still have
	// something to say go first: several round robins in a row can otherwise keep missing one node for ever.
	face := d.rotate(from, room, func(p *probe) bool { return p.state == inFlight || p.state == acked && !p.settled(index, room) })
	if face == 0 {
		face = d.rotate(from, room, func(p *probe) bool { return p.state == acked })
	}
	return face
}

// noteIngress notes that probes come by a face. With labels its node is above us, so it would refuse us: no probe is spent
// on it. The paper's own rule (§III-B1) excludes it from longer tiers only.
func (d *discovery) noteIngress(from machine.FaceID, index int) {
	p := d.find(from)
	switch {
	case p == nil || p.state == acked:
	case d.mode == Literal:
		p.ingress = p.ingress || p.tier > d.localTier(index)
	case d.faults&faultLabel == 0 && !planted.Is(planted.LabelCheckOff):
		p.state = looped
	}
}

// settled tells whether a face has said all that it will at ProbeIdx index, for probes that may go room hops.
func (p *probe) settled(index, room int) bool {
	return p.state == acked && p.room >= room && (p.tierConv >= index || p.nodeConv)
}

// rotate is the round robin over some of the faces.
func (d *discovery) rotate(from machine.FaceID, room int, some func(*probe) bool) machine.FaceID {
	turn := &d.of(room).turn
	for range d.probes {
		*turn = (*turn + 1) % len(d.probes)
		if p := &d.probes[*turn]; some(p) && p.face != from && p.fits(room) && !p.ingress {
			return p.face
		}
	}
	return 0
}

func (d *discovery) find(face machine.FaceID) *probe {
	for i := range d.probes {
		if d.probes[i].face == face {
			return &d.probes[i]
		}
	}
	return nil
}

// onData handles PD Data from a face, for a probe that could go room hops: the face is a valid upstream, and its flags combine
// with the others'.
func (d *discovery) onData(face machine.FaceID, index, room int, c wire.Convergence) {
	p := d.find(face)
	if p == nil || p.state == looped {
		return
	}
	p.state = acked
	if room > p.room {
		p.room, p.tierConv, p.nodeConv = room, -1, false
	}
	if room < p.room {
		return
	}
	if c.Tier {
		p.tierConv = max(p.tierConv, index)
	}
	p.nodeConv = p.nodeConv || c.Node
}

// onTransmission notes that a Data Interest was answered by a face: it isn't dead, whatever became of its probes.
func (d *discovery) onTransmission(face machine.FaceID) {
	if p := d.find(face); p != nil && p.state == dead {
		p.state, p.tries = unsent, 0
	}
}

// onNack handles a Nack to a PD or Data Interest: the face is no upstream in this epoch. Congestion says nothing of it.
func (d *discovery) onNack(face machine.FaceID, reason wire.NackReason) {
	p := d.find(face)
	if p == nil {
		return
	}
	switch reason {
	case wire.NackLoop, wire.NackDuplicate:
		p.state = looped
	case wire.NackCongestion:
	default:
		if p.state != looped {
			p.state = dead
		}
	}
}

// untried tells whether a face of an open tier waits for a probe.
func (d *discovery) untried() bool {
	tier := d.reach(d.index, d.room)
	for i := range d.probes {
		if p := &d.probes[i]; p.tier <= tier && p.state == unsent && d.open(p, d.room) {
			return true
		}
	}
	return false
}

// expire counts the tries that are over; the source calls it, since nothing else may arrive.
func (d *discovery) expire(now machine.Time) {
	for i := range d.probes {
		if p := &d.probes[i]; p.state == inFlight && now >= p.deadline {
			if p.state = unsent; p.tries >= maxTries {
				p.state = dead
			}
		}
	}
}

// flags are what this node returns to a probe with ProbeIdx index that may go room hops: TierConv when every face up to the
// current tier is settled and returned TierConv itself; NodeConv when all tiers are and each upstream returned NodeConv. If
// no face of the current tier is eligible the node converges at once: longer tiers are skipped (§III-B3).
func (d *discovery) flags(index, room int) wire.Convergence {
	tier := d.reach(index, room)
	tierConv, nodeConv := true, true
	usable := false // in the current tier
	for i := range d.probes {
		p := &d.probes[i]
		if !d.open(p, room) {
			continue
		}
		if p.tier == tier {
			usable = true
		}
		settled := p.settled(index, room)
		if p.tier <= tier {
			tierConv = tierConv && settled
		}
		nodeConv = nodeConv && (p.tier > tier && !usable || settled && p.nodeConv)
	}
	if d.faults&faultFlags != 0 {
		return wire.Convergence{Tier: tierConv, Node: nodeConv}
	}
	return d.latch(index, room, tierConv, nodeConv)
}

// latch remembers flags, so that they never fall, and returns them together with what was said before.
func (d *discovery) latch(index, room int, tierConv, nodeConv bool) (c wire.Convergence) {
	mine := d.of(room)
	if tierConv {
		mine.tier = max(mine.tier, index)
	}
	mine.node = mine.node || nodeConv
	if planted.Is(planted.FlagsFall) {
		mine.node = nodeConv
		if !tierConv {
			mine.tier = -1
		}
	}
	for _, o := range d.done {
		if o.room >= room {
			c.Tier = c.Tier || index <= o.tier || o.node
			c.Node = c.Node || o.node
		}
	}
	return c
}

// advance moves the source to the next tier when the current one has converged; done: nothing is left to discover.
func (d *discovery) advance() (done bool) {
	for range d.probes {
		c := d.flags(d.index, d.room)
		if c.Node {
			return true
		}
		if !c.Tier {
			return false
		}
		if d.index >= d.tiers+maxHops { // an upstream that never says NodeConv
			return true
		}
		d.index++
	}
	return len(d.probes) == 0
}

// upstreams is the number of valid faces.
func (d *discovery) upstreams() int {
	n := 0
	for i := range d.probes {
		if d.valid(&d.probes[i]) {
			n++
		}
	}
	return n
}
