package sim

import (
	"fmt"
	"hash/fnv"
	"slices"

	"mars/cc"
	"mars/internal/endpoint"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// exposure says which routes between two hosts an endpoint transport gets.
type exposure uint8

const (
	// hashed is ECMP: the network chooses among the shortest routes by a hash of each connection's or subflow's addresses.
	hashed exposure = iota
	// oracle gives the hosts one subflow for each way that leaves the consumer by a link of its own.
	oracle
	// single is hashed with one route, whatever the transport could do.
	single
)

// endpoints says what the hosts of a system run, and over which routes.
type endpoints struct {
	protocol endpoint.Protocol
	expose   exposure
}

// transport is how connections of a system are made in a world.
func (s *system) transport(w *scenario.World, opt Options) (*endpoint.Transport, error) {
	name := s.controller
	if name == "" {
		name = opt.Control
	}
	if name == "" && s.endpoints.expose == single {
		name = "cubic" // QUIC isn't mp-quic with one path
	}
	e := &w.Endpoints
	t, err := endpoint.NewTransport(s.endpoints.protocol, name, e.Scheduler)
	if err != nil {
		return nil, err
	}
	t.ECN, t.Buffer, t.Pace, t.Dilation = e.ECN, e.Buffer, t.Pace || e.Pace, opt.Dilation
	return t, nil
}

// of is the system that a flow runs, and its transport, where t is that of the system's own flows.
func (s *system) of(f *scenario.Flow, t *endpoint.Transport) (*system, *endpoint.Transport, error) {
	if f.Background == "" {
		return s, t, nil
	}
	control, err := cc.Lookup(f.Background)
	if err != nil {
		return nil, nil, err
	}
	own := *t
	own.Protocol, own.Control, own.Pace, own.Assignment = endpoint.TCP, control, control.Name == "bbr", false
	return &system{routers: true, endpoints: &endpoints{endpoint.TCP, hashed}}, &own, nil
}

// endHost is what runs on a host of endpoint systems, beside its Machine.
type endHost struct {
	host   *endpoint.Host
	flows  []*flow // those begun, by ID−1
	events []endpoint.Event
	step   machine.Time
}

// addEndHost makes a consumer or producer of endpoint systems.
func (b *builder) addEndHost(i int, h *host, seed uint64) {
	e := &endHost{step: b.opt.Series}
	e.host = endpoint.New(endpoint.Config{Seed: seed, Size: func(object uint64) int64 {
		if object < uint64(len(b.w.Flows)) && b.w.Flows[object].Producer == i {
			return objectSize(&b.w.Flows[object])
		}
		return 0
	}})
	b.ends[i] = e
	h.run(e.host)
	h.app = e
}

func (e *endHost) turn(now machine.Time) {
	if !e.host.Eventful() {
		return
	}
	e.events = e.host.Events(e.events[:0])
	for i := range e.events {
		ev := &e.events[i]
		f := e.flows[ev.ID-1]
		if ev.Bytes > 0 {
			f.got(now, int(ev.Bytes), e.step)
		}
		switch {
		case ev.Err != nil:
			f.failed, f.failedAt = ev.Err, now
		case ev.Done:
			f.t100 = now - f.start
		}
	}
}

// addEndFlows gives every flow its faces, one pair for each of its routes, and tables to the routers along them.
func (b *builder) addEndFlows() error {
	t, err := b.system.transport(b.w, b.opt)
	if err != nil {
		return err
	}
	for i := range b.w.Flows {
		sf := &b.w.Flows[i]
		f := &flow{name: sf.Name, group: sf.Group, size: objectSize(sf), start: machine.Time(sf.Start), t95: -1, t100: -1, discovered: -1}
		system, t, err := b.system.of(sf, t)
		if err != nil {
			return err
		}
		r := endpoint.Request{Object: uint64(i), Transport: t}
		consumer, producer := b.ends[sf.Consumer], b.ends[sf.Producer]
		k := &measured{consumer: consumer, producer: producer}
		for _, route := range system.routes(b.g, sf, b.seed) {
			c, p := b.addRoutedFaces(sf, route, t.Protocol)
			k.down, k.up = append(k.down, c), append(k.up, p)
			producer.host.Listen(p, t)
		}
		r.Faces = k.down
		f.paths = len(r.Faces)
		b.move(sf, k)
		if b.w.Measure != (scenario.Measure{}) {
			b.observe(f, k)
		}
		f.follow = func() {
			s := producer.host.Served(r.Object)
			f.requests, f.resent = s.Segments, s.Resent
		}
		b.flows = append(b.flows, f)
		b.net.at(f.start, func(now machine.Time) {
			f.discovered = now
			consumer.flows = append(consumer.flows, f)
			id := consumer.host.Fetch(now, r)
			if sf.Stop > 0 {
				b.net.at(machine.Time(sf.Stop), func(now machine.Time) {
					f.stopped = true
					consumer.host.Abort(now, id)
					b.net.pump(sf.Consumer)
				})
			}
			for _, do := range f.then {
				do(now)
			}
			b.net.pump(sf.Consumer)
		})
	}
	return nil
}

// addRoutedFaces gives both ends of a flow a face that keeps to a route: each has an address there that routers along the route
// know the way to, and no others do.
func (b *builder) addRoutedFaces(sf *scenario.Flow, route []int, p endpoint.Protocol) (consumer, producer machine.FaceID) {
	up, down := b.newAddress(sf.Producer), b.newAddress(sf.Consumer) // where packets of the consumer go, and the producer's
	b.lay(sf, route, up, down)
	consumer = machine.FaceID(len(b.net.hosts[sf.Consumer].ports) + 1)
	producer = machine.FaceID(len(b.net.hosts[sf.Producer].ports) + 1)
	b.addEndFace(sf.Consumer, route[0], up, producer, p)
	b.addEndFace(sf.Producer, route[len(route)-1], down, consumer, p)
	return consumer, producer
}

// lay tells the routers along a route the ways to the addresses of its ends.
func (b *builder) lay(sf *scenario.Flow, route []int, up, down int32) {
	at := sf.Consumer
	for _, l := range route {
		next := b.g.peer(l, at)
		if r := b.net.hosts[next].router; r != nil {
			r.set(down, b.g.directed(l, next))
		}
		if r := b.net.hosts[at].router; r != nil {
			r.set(up, b.g.directed(l, at))
		}
		at = next
	}
}

func (b *builder) newAddress(host int) int32 {
	b.net.addrs = append(b.net.addrs, int32(host))
	return int32(len(b.net.addrs) - 1)
}

func (b *builder) addEndFace(host, link int, addr int32, peer machine.FaceID, p endpoint.Protocol) {
	h := &b.net.hosts[host]
	f := machine.Face{MTU: b.direction(link, host).MTU - p.Overhead()}
	h.ports = append(h.ports, port{link: b.g.directed(link, host), addr: addr, face: peer, config: f, header: uint8(p.Overhead())})
	h.m.FaceUp(0, machine.FaceID(len(h.ports)), f)
}

// set makes a router know the way to an address.
func (r *router) set(addr, link int32) {
	for int(addr) >= len(r.table) {
		r.table = append(r.table, -1)
	}
	r.table[addr] = link
}

// routes are the ways that a flow's connection gets, each as links from the consumer.
func (s *system) routes(g *graph, f *scenario.Flow, seed uint64) [][]int {
	if s.endpoints.expose == oracle {
		if len(f.Paths) > 0 {
			return f.Paths
		}
		return g.disjoint(f.Consumer, f.Producer)
	}
	if len(f.Paths) > 0 {
		return f.Paths[:1]
	}
	equal := g.equal(f.Consumer, f.Producer)
	n := 1
	if s.endpoints.protocol != endpoint.TCP && s.endpoints.expose != single {
		n = min(len(equal), maxSubflows)
	}
	var all [][]int
	for i := range n {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%d/%d", f.Name, i, seed)
		all = append(all, equal[h.Sum64()%uint64(len(equal))])
	}
	return all
}

// maxSubflows is what hosts open on their own account (Linux allows eight).
const maxSubflows = 8

// routed is the world with the routes that a system's flows may take, for its bound.
func (s *system) routed(w *scenario.World) *scenario.World {
	if s.endpoints == nil {
		return w
	}
	g, own := newGraph(w), *w
	own.Flows = slices.Clone(w.Flows)
	for i := range own.Flows {
		f := &own.Flows[i]
		if s.endpoints.expose == oracle {
			f.Paths = s.routes(g, f, 0)
		} else if len(f.Paths) == 0 {
			f.Paths = g.equal(f.Consumer, f.Producer)
		} else {
			f.Paths = f.Paths[:1]
		}
	}
	return &own
}
