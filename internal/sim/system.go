package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mars/cc"
	"mars/internal/channel"
	"mars/internal/endpoint"
	"mars/internal/fetch"
	"mars/internal/foreign"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/publish"
	"mars/internal/scenario"
	"mars/internal/wire"
)

// system says what runs on the hosts of a scenario. Names are those of evaluation.md.
type system struct {
	name     string
	ends     forward.Strategy // at consumers and producers
	relays   forward.Strategy // at relays that aren't MARS nodes by the scenario
	routers  bool             // relays are plain IP routers
	single   bool             // consumers know one next hop only
	everyone bool             // every relay runs the strategy of the ends
	wait     bool             // Data wait for discovery
	tuned    bool             // the default profile, not the paper's

	plain      bool            // consumers ask for plain names (peers.go)
	control    foreign.Control // of plain consumers
	downhill   bool            // every next hop is nearer to the producer
	even       bool            // PCON's shares begin equal
	endpoints  *endpoints      // hosts run other transports over IP routers (endpoints.go); nil: they are nodes
	controller string          // of congestion, of endpoints; "": what the options say
	note       string          // what must be said wherever its figures are printed
}

// systems are those that can be simulated.
var systems = []system{
	{name: "MARS-paper", ends: forward.Mars, relays: forward.BestRoute, wait: true},
	{name: "MARS-IP-paper", ends: forward.Mars, routers: true, wait: true},
	{name: "MARS-ENDPOINT-paper", ends: forward.Mars, relays: forward.BestRoute, single: true, wait: true},
	{name: "MARS-everywhere-paper", ends: forward.Mars, everyone: true, wait: true},
	{name: "MARS", ends: forward.Mars, relays: forward.BestRoute, tuned: true},
	{name: "MARS-IP", ends: forward.Mars, routers: true, tuned: true},
	{name: "MARS-everywhere", ends: forward.Mars, everyone: true, tuned: true},
	{name: "best-route", ends: forward.BestRoute, everyone: true, plain: true},
	{name: "PCON", ends: forward.PCON, everyone: true, plain: true, control: foreign.PCON},
	{name: "PCON-loop-free", ends: forward.PCON, everyone: true, plain: true, control: foreign.PCON, downhill: true},
	{
		name: "PCON-even", ends: forward.PCON, everyone: true, plain: true, control: foreign.PCON, even: true,
		note: "[R] PCON-even: the next hops of a prefix begin with equal shares; PCON's authors begin with the shortest one.",
	},
	{
		name: "QSF-like", ends: forward.QSF, everyone: true, plain: true, control: foreign.PCON,
		note: "[R] QSF-like is a reconstruction after one sentence on NDN-QSF, not its algorithm (docs/adr/0010).",
	},
	{name: "TCP", routers: true, endpoints: &endpoints{endpoint.TCP, hashed}},
	{name: "MPTCP-ECMP", routers: true, endpoints: &endpoints{endpoint.MPTCP, hashed}},
	{name: "MPTCP-Oracle", routers: true, endpoints: &endpoints{endpoint.MPTCP, oracle}},
	{name: "QUIC", routers: true, endpoints: &endpoints{endpoint.MPQUIC, single}},
	{name: "MPQUIC-ECMP", routers: true, endpoints: &endpoints{endpoint.MPQUIC, hashed}, note: assignmentNote},
	{name: "MPQUIC-Oracle", routers: true, endpoints: &endpoints{endpoint.MPQUIC, oracle}, note: assignmentNote},
}

const assignmentNote = "[R] MPQUIC without the name of a controller has those of mp-quic: CUBIC on the first path, OLIA on the others, " +
	"each as two connections (docs/mpquic.md)."

// Systems are the names of the systems that can be simulated.
func Systems() []string {
	var names []string
	for i := range systems {
		names = append(names, systems[i].name)
	}
	return names
}

// Note is what must be said wherever figures of a system are printed; "": nothing.
func Note(name string) string {
	if s, err := findSystem(name); err == nil {
		return s.note
	}
	return ""
}

// Knows tells whether there is a system of this name.
func Knows(name string) bool {
	_, err := findSystem(name)
	return err == nil
}

func findSystem(name string) (*system, error) {
	for i := range systems {
		if systems[i].name == name {
			return &systems[i], nil
		}
	}
	base, control, ok := strings.Cut(name, ":")
	for i := range systems {
		if s := systems[i]; ok && s.name == base && s.endpoints != nil {
			algorithm, err := cc.Lookup(control)
			if err != nil {
				return nil, err
			}
			s.name, s.controller, s.note = name, control, ""
			if algorithm.Reconstruction != "" {
				s.note = "[R] " + control + " is a reconstruction: " + algorithm.Reconstruction + " (docs/controllers.md)."
			}
			return &s, nil
		}
	}
	return nil, fmt.Errorf("no system %q: there are %s; those of endpoints may name their congestion control, as in TCP:reno", name, strings.Join(Systems(), ", "))
}

// defaultChunk is the content of a Data packet where neither flow nor scenario says another, bytes.
const defaultChunk = wire.ChunkSize

// build makes the network of one run.
func (s *system) build(w *scenario.World, seed uint64, opt Options) (*world, error) {
	if s.endpoints == nil && (w.Measure != (scenario.Measure{}) || slices.ContainsFunc(w.Flows, goesOn)) {
		return nil, fmt.Errorf("%s fetches whole objects: flows without a size, with a stop or of the background, and measure, are for TCP and its like", s.name)
	}
	b := &builder{world: world{w: w, system: s}, g: newGraph(w), opt: opt, seed: seed}
	b.net.seed = seed
	b.addLinks()
	for i := range w.Nodes {
		b.addHost(i)
	}
	switch {
	case s.endpoints != nil:
		if err := b.addEndFlows(); err != nil {
			return nil, err
		}
	case s.routers:
		b.addTables()
		b.addDirectFaces()
		b.addFlows()
	default:
		b.addNeighbourFaces()
		b.addFlows()
	}
	if err := b.schedule(); err != nil {
		return nil, err
	}
	mtu := 0
	for i := range w.Links {
		mtu = max(mtu, w.Links[i].AB.MTU, w.Links[i].BA.MTU)
	}
	b.net.seal(mtu, s.touches(w, mtu))
	return &b.world, nil
}

// touches is how many bytes of a packet are written or read at most: TCP and MPTCP write headers and the first bytes of the payload. What
// faults do to packets may be anywhere in them.
func (s *system) touches(w *scenario.World, mtu int) int {
	const headers = 128
	if s.endpoints != nil && s.endpoints.protocol != endpoint.MPQUIC && len(w.Faults) == 0 {
		return headers
	}
	return mtu
}

// goesOn tells whether a flow isn't over when an object is whole, or isn't the system's.
func goesOn(f scenario.Flow) bool {
	return f.Bytes == 0 || f.Stop > 0 || f.Background != "" || len(f.Moves) > 0
}

// world is a network with what its hosts run.
type world struct {
	net       network
	w         *scenario.World
	system    *system
	nodes     []*node.Node // by host; nil: a router
	consumers []starter    // by host; nil: none
	producers []*producer
	ends      []*endHost // by host, of endpoint systems; nil: a router
	recipes   []recipe   // by host
	flows     []*flow
	left      int // flows that aren't over
	healed    bool
}

type builder struct {
	world
	g    *graph
	opt  Options
	seed uint64
	ids  []uint64
}

func (b *builder) addLinks() {
	for i := range b.w.Links {
		l := &b.w.Links[i]
		b.net.links = append(b.net.links,
			newLink(int32(2*i), int32(l.B), l.Name+":ab", &l.AB, b.seed),
			newLink(int32(2*i+1), int32(l.A), l.Name+":ba", &l.BA, b.seed))
		b.net.addrs = append(b.net.addrs, int32(l.A), int32(l.B))
	}
}

// plain tells whether a node is an IP router in this system.
func (b *builder) plain(i int) bool {
	r := b.w.Nodes[i].Role
	return r == scenario.Router || r == scenario.Relay && b.system.routers
}

func (b *builder) addHost(i int) {
	n := &b.w.Nodes[i]
	h := host{name: n.Name}
	random := channel.Stream(b.seed, "node:"+n.Name)
	id := random.Uint64()
	b.ids = append(b.ids, id)
	b.nodes, b.consumers, b.producers = append(b.nodes, nil), append(b.consumers, nil), append(b.producers, nil)
	b.recipes, b.ends = append(b.recipes, recipe{}), append(b.ends, nil)
	if b.plain(i) {
		h.router = &router{}
		b.net.hosts = append(b.net.hosts, h)
		return
	}
	if b.system.endpoints != nil {
		b.addEndHost(i, &h, random.Uint64())
		b.net.hosts = append(b.net.hosts, h)
		return
	}
	cfg := forward.Config{
		Seed: random.Uint64(), ID: id, Strategy: b.system.ends, Relay: n.Role == scenario.Relay,
		Discovery: forward.Direct, DataAfterDiscovery: b.system.wait, EvenStart: b.system.even,
	}
	if b.system.tuned {
		cfg.Profile = forward.ProfileMARS
	}
	if cfg.Relay && !n.MARS && !b.system.everyone {
		cfg.Strategy = b.system.relays
	}
	r := &b.recipes[i]
	r.config = cfg
	src := binary.BigEndian.AppendUint64(nil, id)
	switch n.Role {
	case scenario.Consumer:
		if b.system.plain {
			c := newPlainConsumer(b.system, random.Uint64(), b.opt)
			b.consumers[i] = c
			r.apps = func(now machine.Time, n *node.Node) turner {
				c.node = n
				n.Attach(now, c.engine)
				return c
			}
			break
		}
		c := &consumer{step: b.opt.Series, trace: b.opt.tracer}
		c.engine = fetch.New(fetch.Config{Src: src, Seed: random.Uint64(), Window: b.opt.Tuning.Window, Standing: b.opt.Tuning.Standing, Backpressure: b.system.tuned})
		b.consumers[i] = c
		r.apps = func(now machine.Time, n *node.Node) turner {
			c.node = n
			n.Attach(now, c.engine)
			return c
		}
	case scenario.Producer:
		p := &producer{prefix: prefixOf(n), objects: make(map[string]*content)}
		b.producers[i] = p
		r.apps = func(now machine.Time, n *node.Node) turner {
			p.node, p.engine = n, publish.New(publish.Config{Prefix: p.prefix})
			n.Attach(now, p.engine, p.prefix)
			return p
		}
	}
	b.nodes[i] = node.New(cfg)
	h.run(b.nodes[i])
	if r.apps != nil {
		h.app = r.apps(0, b.nodes[i])
	}
	b.net.hosts = append(b.net.hosts, h)
}

// prefixOf is the prefix that a producer serves.
func prefixOf(n *scenario.Node) wire.Name {
	return wire.Name(nil).AppendString(wire.TypeGeneric, n.Name)
}

// addFace gives host a face that leaves by a link toward an address; peer is the face of the other end.
func (b *builder) addFace(host, link int, addr int32, peer machine.FaceID) machine.FaceID {
	h := &b.net.hosts[host]
	d := b.direction(link, host)
	f := machine.Face{MTU: d.MTU - headerBytes, Uplink: int(b.g.directed(link, host)) + 1}
	if b.shapes(host) { // a MARS node knows the rate of its links, and so its Data queue is where packets wait
		f.Rate = float64(d.Rate / 8 * float64(f.MTU) / float64(d.MTU))
	}
	if b.system.plain {
		f.DataQueue = b.dataQueue(d)
	}
	h.ports = append(h.ports, port{link: b.g.directed(link, host), addr: addr, face: peer, config: f})
	id := machine.FaceID(len(h.ports))
	h.m.FaceUp(0, id, f)
	return id
}

// addRoute installs a route to a producer.
func (b *builder) addRoute(host, dest int, hop forward.NextHop) {
	b.recipes[host].routes = append(b.recipes[host].routes, staticRoute{dest, hop})
	b.nodes[host].AddRoute(0, b.producers[dest].prefix, hop)
}

// shapes tells whether a host knows the rate of its links: those of MARS, and of systems that mark their own queues.
func (b *builder) shapes(i int) bool {
	if b.system.plain {
		return b.system.ends != forward.BestRoute
	}
	n := &b.w.Nodes[i]
	return n.Role != scenario.Relay || n.MARS || b.system.everyone
}

func (b *builder) direction(link, from int) *scenario.Direction {
	if l := &b.w.Links[link]; l.A == from {
		return &l.AB
	}
	return &b.w.Links[link].BA
}

// addNeighbourFaces joins neighbours by one face per link, and installs the routes that routing would find.
func (b *builder) addNeighbourFaces() {
	faces := make([]map[int]machine.FaceID, len(b.w.Nodes)) // by link
	for i := range faces {
		faces[i] = make(map[int]machine.FaceID)
	}
	for i := range b.w.Links {
		l := &b.w.Links[i]
		a, z := machine.FaceID(len(b.net.hosts[l.A].ports)+1), machine.FaceID(len(b.net.hosts[l.B].ports)+1)
		faces[l.A][i] = b.addFace(l.A, i, b.g.address(i, l.B), z)
		faces[l.B][i] = b.addFace(l.B, i, b.g.address(i, l.A), a)
	}
	for dest := range b.w.Nodes {
		if b.producers[dest] == nil {
			continue
		}
		for i := range b.w.Nodes {
			if i == dest || b.nodes[i] == nil {
				continue
			}
			hops := b.g.nextHops(i, dest)
			if b.system.downhill {
				hops = downhill(hops)
			}
			if b.system.single && b.consumers[i] != nil {
				hops = nil
				if h, ok := b.g.shortest(i, dest); ok {
					hops = []nextHop{h}
				}
			}
			for _, h := range hops {
				b.addRoute(i, dest, forward.NextHop{Face: faces[i][h.link], Hops: h.hops})
			}
		}
	}
}

// addTables fills the tables of the routers: for every address the way to it.
func (b *builder) addTables() {
	for i := range b.net.hosts {
		if r := b.net.hosts[i].router; r != nil {
			r.table = slices.Repeat([]int32{-1}, len(b.net.addrs))
		}
	}
	for addr, owner := range b.net.addrs {
		link := addr / 2
		first := b.g.peer(link, int(owner)) // the address is reached through the link that it is on
		for i := range b.net.hosts {
			r := b.net.hosts[i].router
			switch {
			case r == nil:
			case i == first:
				r.table[addr] = b.g.directed(link, i)
			default:
				if h, ok := b.g.shortest(i, first); ok {
					r.table[addr] = b.g.directed(h.link, i)
				}
			}
		}
	}
}

// addDirectFaces joins every consumer and producer that share a flow by one face per uplink of the consumer: the network
// between them only knows addresses.
func (b *builder) addDirectFaces() {
	type pair struct{ consumer, producer int }
	seen := make(map[pair]bool)
	for i := range b.w.Flows {
		f := &b.w.Flows[i]
		if seen[pair{f.Consumer, f.Producer}] {
			continue
		}
		seen[pair{f.Consumer, f.Producer}] = true
		down := b.downlink(f.Consumer, f.Producer)
		for _, up := range b.uplinks(f.Consumer, f.Producer) {
			c := machine.FaceID(len(b.net.hosts[f.Consumer].ports) + 1)
			p := machine.FaceID(len(b.net.hosts[f.Producer].ports) + 1)
			b.addFace(f.Consumer, up, b.g.address(down, f.Producer), p)
			b.addFace(f.Producer, down, b.g.address(up, f.Consumer), c)
			b.addRoute(f.Consumer, f.Producer, forward.NextHop{Face: c, Hops: 1})
		}
	}
}

// downlink is the link by which a producer is reached: its first that the consumer has a way to.
func (b *builder) downlink(consumer, dest int) int {
	for _, l := range b.g.links[dest] {
		if b.g.peer(l, dest) == consumer {
			return l
		}
		if _, ok := b.g.shortest(consumer, b.g.peer(l, dest)); ok {
			return l
		}
	}
	return b.g.links[dest][0]
}

// uplinks are the links by which a consumer leaves for a producer.
func (b *builder) uplinks(consumer, dest int) []int {
	if b.system.single {
		h, _ := b.g.shortest(consumer, dest)
		return []int{h.link}
	}
	var all []int
	for _, h := range b.g.nextHops(consumer, dest) {
		all = append(all, h.link)
	}
	return all
}

func (b *builder) addFlows() {
	for i := range b.w.Flows {
		sf := &b.w.Flows[i]
		p, c := b.producers[sf.Producer], b.consumers[sf.Consumer]
		chunk := sf.ChunkSize
		if chunk == 0 {
			chunk = defaultChunk
		}
		f := &flow{
			name: sf.Name, group: sf.Group, size: sf.Bytes, chunk: chunk, start: machine.Time(sf.Start),
			content: contentOf(sf.Bytes, chunk), t95: -1, t100: -1, discovered: -1,
			object: p.prefix.Clone().AppendString(wire.TypeGeneric, sf.Name),
			path:   p.prefix.Clone().Append(wire.TypeGeneric, binary.BigEndian.AppendUint64(nil, b.ids[sf.Consumer])),
		}
		p.objects[string(f.object)] = f.content
		if b.opt.Graph {
			b.notePaths(f, sf)
		}
		b.flows = append(b.flows, f)
		b.net.at(f.start, func(now machine.Time) {
			c.begin(now, f)
			b.net.pump(sf.Consumer)
		})
	}
}
