package forward

import (
	"fmt"
	"math/bits"

	"mars/internal/machine"
	"mars/internal/wire"
)

// watcher watches the invariants of protocol.md §5.5 over a graph, from outside: by the packets that nodes send.
type watcher struct {
	broken   string // the first invariant found broken
	rerouted bool   // routes changed under way: what isn't acknowledged may not fit
	sources  []wire.Name
	epochs   map[string]epochKey // of each PD name
	budget   map[epochKey]int    // hops that Interests of an epoch may go
	asked    map[string]int      // Interests that consumers expressed, by name
	got      map[string]int      // Data that they received
	largest  int                 // probe packet, bytes
}

func newWatcher() watcher {
	return watcher{epochs: map[string]epochKey{}, budget: map[epochKey]int{}, asked: map[string]int{}, got: map[string]int{}}
}

type epochKey struct{ boot, epoch uint32 }

// trail is where an Interest has been: the nodes that it left, in this epoch, whatever its nonce.
type trail struct {
	visited uint64
	hops    int
}

// sightings is what one run of a node did.
type sightings struct {
	trails map[trailKey]trail
	flags  map[flagKey]wire.Convergence
	first  map[epochKey]int // ProbeIdx of the first probe that came
	tried  map[triedKey]bool
	rooms  map[string]int // how far a probe may go from here, by name
}

type (
	trailKey struct {
		epochKey
		name string
	}
	flagKey struct {
		epochKey
		index uint64
		room  int
	}
	triedKey struct {
		epochKey
		face machine.FaceID
	}
)

func newSightings() sightings {
	return sightings{map[trailKey]trail{}, map[flagKey]wire.Convergence{}, map[epochKey]int{}, map[triedKey]bool{}, map[string]int{}}
}

func (g *graph) fault(format string, args ...any) {
	if g.broken == "" {
		g.broken = fmt.Sprintf("at %.1f ms: ", g.now.Seconds()*1e3) + fmt.Sprintf(format, args...)
	}
}

// departs looks at a packet that leaves v, and returns the trail of an Interest.
func (g *graph) departs(v *vertex, face int, datagram []byte) (t trail) {
	var p wire.Packet
	if p.Decode(datagram) != nil {
		g.fault("node %d sends what doesn't decode", v.id)
		return t
	}
	var it wire.Interest
	switch {
	case p.Nack:
	case it.Decode(p.Fragment) != nil:
		g.flagsRise(v, &p, len(datagram))
	case p.HasLabel:
		t = g.interestDeparts(v, face, &p, &it)
		if wire.SplitFlow(it.Name).Kind == wire.Discovery {
			g.probes++
			g.largest = max(g.largest, len(datagram))
		}
	}
	return t
}

// interestDeparts checks invariants 1 (no node twice) and 3 (stretch) on an Interest, and that tiers are probed ascending.
func (g *graph) interestDeparts(v *vertex, face int, p *wire.Packet, it *wire.Interest) trail {
	epoch := epochKey{p.Label.Boot, p.Label.Epoch}
	name := wire.SplitFlow(it.Name)
	t := v.seen.trails[trailKey{epoch, string(it.Name)}]
	if t.visited&(1<<v.id) != 0 {
		g.fault("%v leaves node %d for the second time", it.Name, v.id)
	}
	t.visited |= 1 << v.id
	t.hops++
	d := g.epochAt(v, name.Flow, epoch)
	if d == nil {
		return t
	}
	if d.source && t.hops == 1 && len(d.probes) > 0 {
		g.budget[epoch] = stretch(d.probes[0].hops, g.cfg.Discovery)
	}
	if budget := g.budget[epoch]; budget > 0 && t.hops > budget {
		g.fault("%v goes its hop %d of %d", it.Name, t.hops, budget)
	}
	if name.Kind == wire.Discovery {
		g.epochs[string(it.Name)] = epoch
		index, _, _ := name.Probe()
		g.ascends(v, d, epoch, machine.FaceID(face+1), int(index))
	}
	return t
}

// ascends checks that the first probe to a face comes no earlier than the face's tier is due: as many indices after the node's
// first probe as there are tiers before it, unless all before it are out of question (MARS §III-B1, B2).
func (g *graph) ascends(v *vertex, d *discovery, epoch epochKey, face machine.FaceID, index int) {
	p := d.find(face)
	key := triedKey{epoch, face}
	if p == nil || v.seen.tried[key] {
		return
	}
	v.seen.tried[key] = true
	first := v.seen.first[epoch]
	if d.source || p.tier <= index-first {
		return
	}
	for i := range d.probes {
		if q := &d.probes[i]; q.tier < p.tier && d.open(q, d.room) {
			g.fault("node %d probes tier %d at index %d, the first was %d, face %d of tier %d is %v", v.id, p.tier, index, first, q.face, q.tier, q.state)
		}
	}
}

// flagsRise checks invariant 5 on the PD Data that v sends.
func (g *graph) flagsRise(v *vertex, p *wire.Packet, size int) {
	var d wire.Data
	if !p.HasConvergence || d.Decode(p.Fragment) != nil {
		return
	}
	g.largest = max(g.largest, size)
	index, _, _ := wire.SplitFlow(d.Name).Probe()
	key := flagKey{g.epochs[string(d.Name)], index, v.seen.rooms[string(d.Name)]}
	before, now := v.seen.flags[key], p.Convergence
	if before.Tier && !now.Tier || before.Node && !now.Node {
		g.fault("node %d takes flags of index %d back: %+v, then %+v", v.id, index, before, now)
	}
	v.seen.flags[key] = now
}

// arrived notes the trail of an Interest that v has accepted.
func (g *graph) arrived(v *vertex, m message) {
	var p wire.Packet
	var it wire.Interest
	if p.Decode(m.data) != nil || p.Nack || !p.HasLabel || it.Decode(p.Fragment) != nil {
		return
	}
	e := v.fw.flows.pit.find(&it)
	if e == nil || e.inFace(machine.FaceID(m.face+1)) == nil {
		return
	}
	if m.trail.visited&(1<<v.id) != 0 {
		g.fault("node %d accepts %v a second time", v.id, it.Name)
	}
	epoch := epochKey{p.Label.Boot, p.Label.Epoch}
	key := trailKey{epoch, string(it.Name)}
	t, known := v.seen.trails[key]
	if !known || m.trail.hops < t.hops {
		t.hops = m.trail.hops
	}
	t.visited |= m.trail.visited
	v.seen.trails[key] = t
	if name := wire.SplitFlow(it.Name); name.Kind == wire.Discovery {
		v.seen.rooms[string(it.Name)] = e.room()
		if _, known := v.seen.first[epoch]; !known {
			index, _, _ := name.Probe()
			v.seen.first[epoch] = int(index)
		}
	}
	for _, f := range v.fw.flows.order { // invariant 8
		waiting := 0
		for i := range f.fresh.n {
			if r := f.fresh.at(i); r.valid() && r.e.queued {
				waiting++
			}
		}
		if waiting > v.fw.cfg.InterestQueue {
			g.fault("node %d queues %d Interests of a flow", v.id, waiting)
		}
	}
}

// answered notes what a consumer received.
func (g *graph) answered(p *wire.Packet) {
	var d wire.Data
	if !p.Nack && d.Decode(p.Fragment) == nil {
		if g.got[string(d.Name)]++; g.got[string(d.Name)] > g.asked[string(d.Name)] {
			g.fault("%v was asked for %d times and came %d times", d.Name, g.asked[string(d.Name)], g.got[string(d.Name)])
		}
	}
}

// flowAt is node v's state of the flow whose source is node src.
func (g *graph) flowAt(v *vertex, src int) *flow {
	for len(g.sources) <= src {
		g.sources = append(g.sources, g.dest.Clone().Append(wire.TypeGeneric, fmt.Appendf(nil, "s%d", len(g.sources))))
	}
	return v.fw.flows.flows[g.sources[src].Hash(v.fw.flows.pit.seed)]
}

func (g *graph) epochAt(v *vertex, name wire.Name, epoch epochKey) *discovery {
	f := v.fw.flows.flows[name.Hash(v.fw.flows.pit.seed)]
	if f == nil {
		return nil
	}
	return f.at(epoch)
}

func (f *flow) at(epoch epochKey) *discovery {
	for _, d := range f.epochs {
		if d.boot == epoch.boot && d.epoch == epoch.epoch {
			return d
		}
	}
	return nil
}

// edges are the peers, as bits, that each node may use in an epoch of a flow; ackedOnly: those that have answered.
func (g *graph) edges(src int, epoch epochKey, ackedOnly bool) []uint64 {
	out := make([]uint64, len(g.nodes))
	for _, v := range g.nodes {
		f := g.flowAt(v, src)
		if f == nil {
			continue
		}
		d := f.at(epoch)
		if d == nil {
			continue
		}
		for i := range d.probes {
			if p := &d.probes[i]; p.face < appOf && d.valid(p) && (!ackedOnly || p.state == acked) {
				out[v.id] |= 1 << v.faces[int(p.face)-1].peer
			}
		}
	}
	return out
}

// acyclic checks invariant 1 on all flows: the graph of valid hops has no cycle. Where routes have changed, hops that nobody
// has acknowledged may point uphill; they are refused when they are used.
func (g *graph) acyclic() {
	for _, v := range g.nodes {
		if !v.app {
			continue
		}
		f := g.flowAt(v, v.id)
		if f == nil {
			continue
		}
		for _, d := range f.epochs {
			if c := cycle(g.edges(v.id, epochKey{d.boot, d.epoch}, g.rerouted), v.id); c != 0 {
				g.fault("flow of node %d, epoch %d: cycle through nodes %s", v.id, d.epoch, members(c))
			}
		}
	}
}

// cycle returns the nodes, as bits, that lie on or between cycles reachable from a node; 0: there is none.
func cycle(edges []uint64, from int) uint64 {
	left := uint64(1) << from
	for todo := left; todo != 0; {
		i := bits.TrailingZeros64(todo)
		fresh := edges[i] &^ left
		left |= fresh
		todo = todo&^(1<<i) | fresh
	}
	for changed := true; changed; { // strip those that lead nowhere
		changed = false
		for rest := left; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); edges[i]&left == 0 {
				left &^= 1 << i
				changed = true
			}
		}
	}
	return left
}

func members(set uint64) string {
	var list []int
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return fmt.Sprint(list)
}
