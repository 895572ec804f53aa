package forward

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// graph is an overlay of real forwarders joined by links with a delay, loss, duplication and reordering, in which producers
// answer and consumers ask. watch_test.go watches the invariants of protocol.md §5.5 over it.
type graph struct {
	rng       *rand.Rand
	now       machine.Time
	nodes     []*vertex
	inflight  []message // unordered; the earliest is searched for: schedules are random anyway
	dest      wire.Name
	producers []int
	cfg       Config // of every node, but for Seed and ID
	delay     machine.Time
	loss      float64
	dup       float64
	jitter    machine.Time
	probes    int
	frozen    bool // routing doesn't notice cut links
	watcher
}

type vertex struct {
	id    int
	fw    *Forwarder
	faces []edge // face i+1
	relay bool
	hops  map[int]int // hop count to the producer through face index
	app   bool        // has a consumer
	boot  int
	seen  sightings
}

type edge struct {
	peer, peerFace int
	up             bool
	delay          machine.Time // 0: the graph's
	lossless       bool
}

type message struct {
	due      machine.Time
	to, face int
	data     []byte
	trail    trail
}

const (
	appOf      machine.FaceID = 1 << 20 // the application's face of a node
	packetMTU                 = 1400
	nodePrefix                = "/p"
)

func newGraph(seed uint64, n int, mode DiscoveryMode) *graph {
	g := &graph{
		rng: rand.New(rand.NewPCG(seed, 77)), dest: wire.MustParseName(nodePrefix), cfg: Config{Discovery: mode},
		delay: machine.Millisecond, watcher: newWatcher(),
	}
	for i := range n {
		g.nodes = append(g.nodes, &vertex{id: i, relay: true})
	}
	return g
}

func (g *graph) link(a, b int) {
	va, vb := g.nodes[a], g.nodes[b]
	va.faces = append(va.faces, edge{peer: b, peerFace: len(vb.faces), up: true})
	vb.faces = append(vb.faces, edge{peer: a, peerFace: len(va.faces) - 1, up: true})
}

// distances gives every node's hop count to the producers through each face: shortest paths from the neighbour with the node
// itself removed, over relays (house.md, "Route").
func (g *graph) distances() {
	for _, v := range g.nodes {
		v.hops = map[int]int{}
		for f, e := range v.faces {
			if !e.up {
				continue
			}
			if d := g.distance(e.peer, v.id); d >= 0 {
				v.hops[f] = d + 1
			}
		}
	}
}

func (g *graph) distance(from, without int) int {
	dist := map[int]int{from: 0}
	queue := []int{from}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if slices.Contains(g.producers, u) {
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
func (g *graph) start(producers ...int) {
	g.producers = producers
	g.distances()
	for _, v := range g.nodes {
		g.boot(v)
	}
}

func (g *graph) boot(v *vertex) {
	v.boot++
	v.seen = newSightings()
	cfg := g.cfg
	cfg.Seed, cfg.ID, cfg.Relay = uint64(v.id+1)*1000+uint64(v.boot), uint64(v.id+1), v.relay
	v.fw = New(cfg)
	v.fw.FaceUp(g.now, appOf, machine.Face{Local: true})
	for f, e := range v.faces {
		if e.up {
			v.fw.FaceUp(g.now, machine.FaceID(f+1), machine.Face{MTU: packetMTU})
		}
	}
	if slices.Contains(g.producers, v.id) {
		v.fw.AddRoute(g.dest, NextHop{Face: appOf})
	}
	g.route(v)
}

// route installs the next hops that v has now.
func (g *graph) route(v *vertex) {
	for f := range v.faces {
		id := machine.FaceID(f + 1)
		if h, ok := v.hops[f]; ok {
			v.fw.AddRoute(g.dest, NextHop{Face: id, Hops: h})
		} else {
			v.fw.RemoveRoute(g.dest, id)
		}
	}
}

// setLink cuts or mends a link; unless it is frozen, routing knows at once.
func (g *graph) setLink(i, f int, up bool) {
	e := &g.nodes[i].faces[f]
	if e.up == up {
		return
	}
	back := &g.nodes[e.peer].faces[e.peerFace]
	e.up, back.up = up, up
	for _, end := range [2]struct{ node, face int }{{i, f}, {e.peer, e.peerFace}} {
		fw := g.nodes[end.node].fw
		if up {
			fw.FaceUp(g.now, machine.FaceID(end.face+1), machine.Face{MTU: packetMTU})
		} else {
			fw.FaceDown(g.now, machine.FaceID(end.face+1))
		}
	}
	if !g.frozen {
		g.distances()
		for _, v := range g.nodes {
			g.route(v)
		}
		g.rerouted = true
	}
	for j := range g.nodes {
		g.drain(j)
	}
}

// ask makes the consumer at node i express a Data Interest.
func (g *graph) ask(i int, seq uint64) {
	name := wire.AppendTransmission(nil, g.dest, fmt.Appendf(nil, "s%d", i), wire.MustParseName("/o")).AppendChunk(1, seq)
	it := wire.Interest{Name: name, Nonce: g.rng.Uint32(), HasNonce: true, HopLimit: 64, HasHopLimit: true, Lifetime: 2000}
	p := wire.Packet{PitToken: []byte("tk"), SizeHint: 100, Fragment: it.Append(nil)}
	g.asked[string(name)]++
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
	if p.Decode(datagram) != nil {
		return
	}
	if p.Nack || it.Decode(p.Fragment) != nil {
		g.answered(&p)
		return
	}
	d := wire.Data{Name: it.Name, Content: []byte("x"), SignatureType: wire.SignatureNull}
	reply := wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}
	g.nodes[i].fw.Receive(g.now, appOf, 0, reply.Append(nil))
}

func (g *graph) transmit(v *vertex, face int, datagram []byte) {
	e := v.faces[face]
	t := g.departs(v, face, datagram)
	if !e.up || !e.lossless && g.loss > 0 && g.rng.Float64() < g.loss {
		return
	}
	copies := 1
	if g.dup > 0 && g.rng.Float64() < g.dup {
		copies = 2
	}
	for range copies {
		due := g.now + g.delay
		if e.delay > 0 {
			due = g.now + e.delay
		}
		if g.jitter > 0 {
			due += machine.Time(g.rng.Int64N(int64(g.jitter)))
		}
		g.inflight = append(g.inflight, message{due, e.peer, e.peerFace, slices.Clone(datagram), t})
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
		g.deliver(m)
	}
	return true
}

// deliver gives a message to its node.
func (g *graph) deliver(m message) {
	v := g.nodes[m.to]
	if v.faces[m.face].up {
		v.fw.Receive(g.now, machine.FaceID(m.face+1), 0, m.data)
		g.arrived(v, m)
		g.drain(m.to)
	}
}

// run runs for d; check: the forwarding graphs are looked at after every event.
func (g *graph) run(d machine.Time, check bool) {
	end := g.now + d
	for g.broken == "" && g.step(end) {
		if check {
			g.acyclic()
		}
	}
}
