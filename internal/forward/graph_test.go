package forward

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// graph is an overlay of real forwarders joined by links with a delay, loss, duplication and reordering, in which a
// producer answers and consumers ask. It watches the invariants of protocol.md §5.5 after every packet.
type graph struct {
	rng      *rand.Rand
	now      machine.Time
	nodes    []*vertex
	inflight []message // unordered; the earliest is searched for: schedules are random anyway
	dest     wire.Name
	mode     DiscoveryMode
	delay    machine.Time
	loss     float64
	dup      float64
	jitter   machine.Time
	visited  map[string]map[int]int // DT Interest (name, nonce) → nodes it visited
	broken   string                 // the first invariant found broken
	probes   int
	plant    plant
}

// plant is a planted fault.
type plant struct{ noStretch, sourceAccepts, firstIndex, flagsFall bool }

type vertex struct {
	id    int
	fw    *Forwarder
	faces []edge // face i+1
	relay bool
	hops  map[int]int // hop count to the producer through face index
	app   bool        // has a consumer
	boot  int
}

type edge struct {
	peer, peerFace int
	up             bool
}

type message struct {
	due      machine.Time
	to, face int
	data     []byte
}

const (
	appOf      machine.FaceID = 1 << 20 // the application's face of a node
	packetMTU                 = 1400
	nodePrefix                = "/p"
)

func newGraph(seed uint64, n int, mode DiscoveryMode) *graph {
	g := &graph{rng: rand.New(rand.NewPCG(seed, 77)), dest: wire.MustParseName(nodePrefix), mode: mode, delay: machine.Millisecond, visited: map[string]map[int]int{}}
	for i := range n {
		g.nodes = append(g.nodes, &vertex{id: i, relay: true})
	}
	return g
}

func (g *graph) link(a, b int) {
	va, vb := g.nodes[a], g.nodes[b]
	va.faces = append(va.faces, edge{b, len(vb.faces), true})
	vb.faces = append(vb.faces, edge{a, len(va.faces) - 1, true})
}

// distances gives every node's hop count to the producers through each face: shortest paths from the neighbour with the node
// itself removed, over relays (house.md, "Route").
func (g *graph) distances(producers []int) {
	for _, v := range g.nodes {
		v.hops = map[int]int{}
		for f, e := range v.faces {
			if !e.up {
				continue
			}
			if d := g.distance(e.peer, v.id, producers); d >= 0 {
				v.hops[f] = d + 1
			}
		}
	}
}

func (g *graph) distance(from, without int, producers []int) int {
	dist := map[int]int{from: 0}
	queue := []int{from}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if slices.Contains(producers, u) {
			return dist[u]
		}
		if !g.nodes[u].relay {
			continue // an endpoint: not transit
		}
		for _, e := range g.nodes[u].faces {
			if _, seen := dist[e.peer]; !seen && e.peer != without && e.up {
				dist[e.peer] = dist[u] + 1
				queue = append(queue, e.peer)
			}
		}
	}
	return -1
}

// start makes the forwarders and installs routes.
func (g *graph) start(producers []int) {
	g.distances(producers)
	for _, v := range g.nodes {
		g.boot(v, slices.Contains(producers, v.id))
	}
}

func (g *graph) boot(v *vertex, producer bool) {
	v.boot++
	v.fw = New(Config{Seed: uint64(v.id+1)*1000 + uint64(v.boot), ID: uint64(v.id + 1), Relay: v.relay, Discovery: g.mode})
	v.fw.FaceUp(g.now, appOf, machine.Face{Local: true})
	for f, e := range v.faces {
		if !e.up {
			continue
		}
		v.fw.FaceUp(g.now, machine.FaceID(f+1), machine.Face{MTU: packetMTU})
		if h, ok := v.hops[f]; ok {
			v.fw.AddRoute(g.dest, NextHop{Face: machine.FaceID(f + 1), Hops: h})
		}
	}
	if producer {
		v.fw.AddRoute(g.dest, NextHop{Face: appOf})
	}
}

// ask makes the consumer at node i express a Data Interest.
func (g *graph) ask(i int, seq uint64) {
	name := wire.AppendTransmission(nil, g.dest, fmt.Appendf(nil, "s%d", i), wire.MustParseName("/o")).AppendChunk(1, seq)
	it := wire.Interest{Name: name, Nonce: g.rng.Uint32(), HasNonce: true, HopLimit: 64, HasHopLimit: true, Lifetime: 2000}
	p := wire.Packet{PitToken: []byte("tk"), SizeHint: 100, Fragment: it.Append(nil)}
	g.nodes[i].fw.Receive(g.now, appOf, 0, p.Append(nil))
	g.drain(i)
}

// drain sends what node i has to send.
func (g *graph) drain(i int) {
	v := g.nodes[i]
	var buf [2048]byte
	for again := true; again; {
		again = false
		for _, f := range v.fw.Ready(nil) {
			for {
				n, _ := v.fw.Transmit(g.now, f, buf[:])
				if n <= 0 {
					break
				}
				again = true
				if f == appOf {
					g.app(i, buf[:n])
					continue
				}
				g.transmit(v, int(f)-1, buf[:n])
			}
		}
	}
}

// app is the application at node i: a producer answers, a consumer is glad.
func (g *graph) app(i int, datagram []byte) {
	var p wire.Packet
	var it wire.Interest
	if p.Decode(datagram) != nil || p.Nack || it.Decode(p.Fragment) != nil {
		return
	}
	d := wire.Data{Name: it.Name, Content: []byte("x"), SignatureType: wire.SignatureNull}
	reply := wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}
	g.nodes[i].fw.Receive(g.now, appOf, 0, reply.Append(nil))
}

func (g *graph) transmit(v *vertex, face int, datagram []byte) {
	e := v.faces[face]
	g.watch(v, datagram)
	if !e.up || g.rng.Float64() < g.loss {
		return
	}
	copies := 1
	if g.rng.Float64() < g.dup {
		copies = 2
	}
	for range copies {
		due := g.now + g.delay
		if g.jitter > 0 {
			due += machine.Time(g.rng.Int64N(int64(g.jitter)))
		}
		g.inflight = append(g.inflight, message{due, e.peer, e.peerFace, slices.Clone(datagram)})
	}
}

// watch records the nodes that a Data Interest leaves from: none twice.
func (g *graph) watch(v *vertex, datagram []byte) {
	var p wire.Packet
	var it wire.Interest
	if p.Decode(datagram) != nil || p.Nack || it.Decode(p.Fragment) != nil {
		return
	}
	f := wire.SplitFlow(it.Name)
	if f.Kind == wire.Discovery {
		g.probes++
		if len(datagram) > 150 {
			g.fault("a probe has %d bytes", len(datagram))
		}
	}
}

func (g *graph) fault(format string, args ...any) {
	if g.broken == "" {
		g.broken = fmt.Sprintf(format, args...)
	}
}

// step handles the next packet or timer; false: nothing will happen before end.
func (g *graph) step(end machine.Time) bool {
	next, at := -1, end
	for i := range g.inflight {
		if g.inflight[i].due < at {
			next, at = i, g.inflight[i].due
		}
	}
	timer := -1
	for i, v := range g.nodes {
		if d := v.fw.Deadline(); d < at {
			next, timer, at = -1, i, max(d, g.now)
		}
	}
	if at >= end {
		g.now = end
		return false
	}
	g.now = max(g.now, at)
	if timer >= 0 {
		g.nodes[timer].fw.Advance(g.now)
		g.drain(timer)
	} else {
		m := g.inflight[next]
		g.inflight[next] = g.inflight[len(g.inflight)-1]
		g.inflight = g.inflight[:len(g.inflight)-1]
		v := g.nodes[m.to]
		if m.face < len(v.faces) && v.faces[m.face].up {
			v.fw.Receive(g.now, machine.FaceID(m.face+1), 0, m.data)
			g.drain(m.to)
		}
	}
	return true
}

// run runs for d, checking the forwarding graph of every flow after every event.
func (g *graph) run(d machine.Time, check bool) {
	end := g.now + d
	for g.broken == "" && g.step(end) {
		if check {
			g.acyclic()
		}
	}
}

// flowAt is node v's state of the flow whose source is node src, in the source's epochs.
func (g *graph) flowAt(v *vertex, src int) *flow {
	name := g.dest.Clone().Append(wire.TypeGeneric, fmt.Appendf(nil, "s%d", src))
	return v.fw.flows.flows[name.Hash(v.fw.flows.pit.seed)]
}

// edges are the valid upstream edges of a flow's epoch: node → peers.
func (g *graph) edges(src int, boot, epoch uint32) map[int][]int {
	out := map[int][]int{}
	for _, v := range g.nodes {
		f := g.flowAt(v, src)
		if f == nil {
			continue
		}
		for _, d := range f.epochs {
			if d.boot != boot || d.epoch != epoch {
				continue
			}
			for i := range d.probes {
				p := &d.probes[i]
				if p.face < appOf && d.valid(p) {
					out[v.id] = append(out[v.id], v.faces[int(p.face)-1].peer)
				}
			}
		}
	}
	return out
}

// acyclic checks invariant 1: the graph of acknowledged hops reachable from the source has no cycle.
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
			if c := cycle(g.edges(v.id, d.boot, d.epoch), v.id); c != nil {
				g.fault("flow of node %d, epoch %d: cycle %v", v.id, d.epoch, c)
			}
		}
	}
}

// cycle returns a cycle reachable from a node, nil if there is none.
func cycle(edges map[int][]int, from int) []int {
	state := map[int]int{}
	var path []int
	var visit func(int) []int
	visit = func(u int) []int {
		state[u] = 1
		path = append(path, u)
		for _, w := range edges[u] {
			if state[w] == 1 {
				return append(slices.Clone(path[slices.Index(path, w):]), w)
			}
			if state[w] == 0 {
				if c := visit(w); c != nil {
					return c
				}
			}
		}
		state[u] = 2
		path = path[:len(path)-1]
		return nil
	}
	return visit(from)
}
