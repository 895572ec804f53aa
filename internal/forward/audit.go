package forward

import (
	"fmt"

	"mars/internal/machine"
)

// Auditor watches one run of one forwarder from inside: after each of its acts the invariants of protocol.md §5.5 and §8 that a
// node can break alone must hold. It costs a walk over what is pending; production has none.
type Auditor struct {
	// Least is the least round trip that a face can have; nil: not known.
	Least func(face machine.FaceID) machine.Time

	charged map[machine.FaceID]int
	flight  map[*uplink]float64 // bytes
	said    map[saidKey]done
	epochs  map[*flow]map[epochOf]bool // true: known; false: forgotten
}

type epochOf struct{ boot, epoch uint32 }

type saidKey struct {
	f *flow
	epochOf
	room int
}

// NewAuditor returns an auditor for a forwarder that has done nothing yet.
func NewAuditor() *Auditor {
	return &Auditor{
		charged: make(map[machine.FaceID]int), flight: make(map[*uplink]float64), said: make(map[saidKey]done), epochs: make(map[*flow]map[epochOf]bool),
	}
}

// Check returns what is wrong now; "": nothing.
func (a *Auditor) Check(now machine.Time, fw *Forwarder) string {
	s := &fw.flows
	clear(a.charged)
	clear(a.flight)
	live := 0
	for _, e := range s.pit.entries {
		if !e.live {
			continue
		}
		live++
		if wrong := a.entry(now, s, e); wrong != "" {
			return fmt.Sprintf("%v: %s", e.interest.Name, wrong)
		}
	}
	if live != s.pit.live || live != s.pit.wheel.n {
		return fmt.Sprintf("the PIT has %d entries, counts %d, and will expire %d", live, s.pit.live, s.pit.wheel.n)
	}
	for _, u := range s.upList {
		if u.outstanding != a.charged[u.face] {
			return fmt.Sprintf("face %d counts %d Interests in flight, there are %d", u.face, u.outstanding, a.charged[u.face])
		}
		if u.line != nil && u.line.flight != a.flight[u.line] {
			return fmt.Sprintf("the uplink of face %d counts %.0f bytes in flight, there are %.0f", u.face, u.line.flight, a.flight[u.line])
		}
		if a.Least != nil && u.sample > 0 && !u.local && u.sample < a.Least(u.face) {
			return fmt.Sprintf("face %d: a round trip of %d ns is less than the link's", u.face, u.sample)
		}
	}
	for _, f := range s.order {
		if wrong := a.flow(f, s.cfg.InterestQueue); wrong != "" {
			return fmt.Sprintf("flow %v: %s", f.name, wrong)
		}
	}
	return ""
}

// entry checks one pending Interest.
func (a *Auditor) entry(now machine.Time, s *flows, e *entry) string {
	switch {
	case len(e.in) == 0:
		return "nobody waits for it"
	case !e.armed:
		return "it will never expire"
	}
	for i := range e.in {
		for k := range i {
			if e.in[i].nonce == e.in[k].nonce && e.in[i].face != e.in[k].face {
				return fmt.Sprintf("the same Interest was taken from the faces %d and %d: it came back", e.in[k].face, e.in[i].face)
			}
		}
	}
	for i := range e.out {
		if e.out[i].charge {
			a.flight[e.out[i].line] += e.out[i].cost
			a.charged[e.out[i].face]++
		}
	}
	if e.flow == nil {
		return ""
	}
	for i := range e.in {
		if u := s.ups.get(e.in[i].face); e.flow.source && u != nil && !u.local {
			return fmt.Sprintf("a source took an Interest of its own flow from face %d", u.face)
		}
	}
	if wrong := stretched(now, e); wrong != "" {
		return wrong
	}
	if n := len(e.out); n > 0 && !e.queued && e.lost {
		if last := &e.out[n-1]; last.sent == now && !last.dead && last.face == e.avoid && e.alternatives(e.avoid) > 0 {
			return fmt.Sprintf("it was sent again by face %d, which had lost it, though there are others", e.avoid)
		}
	}
	return ""
}

// stretched checks that an Interest sent now keeps to the stretch budget (protocol.md §5.5, 3): at the source less than twice the
// least distance, or a hop more than it, and everywhere no face whose producer is farther than the Interest may still go.
func stretched(now machine.Time, e *entry) string {
	if e.disc == nil || !e.interest.HasHopLimit {
		return ""
	}
	nearest := maxHops
	for i := range e.disc.probes {
		nearest = min(nearest, e.disc.probes[i].hops)
	}
	left := int(e.interest.HopLimit)
	if most := max(2*nearest-1, nearest+1); e.disc.source && nearest < unknownHops && e.disc.room > most {
		return fmt.Sprintf("its epoch lets it go %d hops, and the producer is %d away", e.disc.room, nearest)
	}
	for i := range e.out {
		o := &e.out[i]
		if p := e.disc.find(o.face); p != nil && o.sent == now && !o.dead && p.hops < unknownHops && p.hops > left {
			return fmt.Sprintf("it went by face %d, where the producer is %d hops away, and may go %d", o.face, p.hops, left)
		}
	}
	return ""
}

// flow checks one flow: its books, and that nothing said or forgotten is taken back.
func (a *Auditor) flow(f *flow, capacity int) string {
	queued, fresh := 0, 0
	for e := f.entries.first; e != nil; e = e.younger {
		if e.queued {
			queued++
		}
	}
	for i := range f.fresh.n {
		if r := f.fresh.at(i); r.valid() && r.e.queued {
			fresh++
		}
	}
	if f.live != queued || fresh > capacity {
		return fmt.Sprintf("%d Interests wait, %d are counted, %d of them new with room for %d", queued, f.live, fresh, capacity)
	}
	known := a.epochs[f]
	if known == nil {
		known = make(map[epochOf]bool)
		a.epochs[f] = known
	}
	for _, d := range f.epochs {
		key := epochOf{d.boot, d.epoch}
		if there, seen := known[key]; seen && !there {
			return fmt.Sprintf("epoch %d was forgotten and is joined again", d.epoch)
		}
		known[key] = true
		for i := range d.done {
			o := &d.done[i]
			k := saidKey{f, key, o.room}
			if before, said := a.said[k]; said && (before.node && !o.node || before.tier > o.tier) {
				return fmt.Sprintf("epoch %d, room %d: flags fell from %v to %v", d.epoch, o.room, before, *o)
			}
			a.said[k] = *o
		}
	}
	for key, there := range known { // order: each is looked at alone
		if there && !f.has(key) {
			known[key] = false
		}
	}
	return ""
}

func (f *flow) has(key epochOf) bool {
	for _, d := range f.epochs {
		if d.boot == key.boot && d.epoch == key.epoch {
			return true
		}
	}
	return false
}

// Edge is a face that a node may use for a flow in one epoch, because its neighbour has answered.
type Edge struct {
	Flow        uint64 // hash of its name, the same at every node
	Boot, Epoch uint32
	Face        machine.FaceID
}

// Edges appends the acknowledged faces of every flow to dst.
func (fw *Forwarder) Edges(dst []Edge) []Edge {
	for _, f := range fw.flows.order {
		flow := f.name.Hash(0)
		for _, d := range f.epochs {
			for i := range d.probes {
				if p := &d.probes[i]; p.state == acked && d.valid(p) {
					dst = append(dst, Edge{flow, d.boot, d.epoch, p.face})
				}
			}
		}
	}
	return dst
}

// Stuck tells what hasn't ended at this node; "": nothing is pending, queued or in flight.
func (fw *Forwarder) Stuck() string {
	s := &fw.flows
	for _, e := range s.pit.entries {
		if e.live {
			return fmt.Sprintf("%d Interests are pending, among them %v (queued: %v, sent to %d faces, probe: %v)", s.pit.live, e.interest.Name, e.queued, len(e.out), e.probe)
		}
	}
	for _, fc := range fw.slots {
		if n := fc.link.data.len() + fc.link.control.len(); n > 0 {
			return fmt.Sprintf("face %d has %d packets to send", fc.id, n)
		}
	}
	return ""
}
