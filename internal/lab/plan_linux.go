package lab

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mars/internal/scenario"
)

// plan is what one run needs: a job per host that does something, and what the kernel must know for it.
type plan struct {
	n       *network
	s       system
	jobs    map[int]*Job // by host
	lines   [][]string   // of ip, by host
	undo    [][]string
	given   int                   // addresses given to ends of routes
	uplinks map[[2]int]netip.Addr // a consumer's address for routes that leave by a link
	ways    map[way]int           // link
}

// way is where packets to an address are, on their way.
type way struct {
	host int
	to   netip.Addr
}

const (
	nodePort   = 6363
	streamPort = 7100
)

// newPlan makes the jobs of a system.
func (n *network) newPlan(s system) (*plan, error) {
	p := &plan{
		n: n, s: s, jobs: make(map[int]*Job), lines: make([][]string, len(n.w.Nodes)), undo: make([][]string, len(n.w.Nodes)),
		uplinks: map[[2]int]netip.Addr{}, ways: map[way]int{},
	}
	var err error
	switch {
	case !s.mars:
		p.streams()
	case s.routers:
		if err = p.nodes(); err == nil {
			p.directFaces()
		}
	default:
		if err = p.nodes(); err == nil {
			p.neighbourFaces()
		}
	}
	return p, err
}

// job is that of a host.
func (p *plan) job(host int) *Job {
	if p.jobs[host] == nil {
		p.jobs[host] = &Job{
			Host: p.n.w.Nodes[host].Name, Dilation: p.n.emulator.scale, Dir: filepath.Join(p.n.dir, p.n.w.Nodes[host].Name),
		}
	}
	return p.jobs[host]
}

// fetch gives a flow to its consumer.
func (p *plan) fetch(flow, paths int, from string) {
	f := &p.n.w.Flows[flow]
	j := p.job(f.Consumer)
	name := f.Name
	if p.s.mars {
		name = "/" + p.n.w.Nodes[f.Producer].Name + "/" + f.Name
	}
	j.Fetches = append(j.Fetches, Fetch{Flow: flow, Name: name, Start: f.Start, Bytes: f.Bytes, Chunk: f.ChunkSize, From: from, Paths: paths, Signer: p.key(f.Producer)})
	made := p.job(f.Producer)
	made.Objects = append(made.Objects, Payload{flow, f.Name, f.Bytes, f.ChunkSize})
}

// sends is the direction of a link that leaves a host.
func (p *plan) sends(link, host int) *scenario.Direction {
	if l := &p.n.w.Links[link]; l.A == host {
		return &l.AB
	}
	return &p.n.w.Links[link].BA
}

// at is the address of a host's end of a link.
func (p *plan) at(link, host int) netip.Addr {
	if p.n.w.Links[link].A == host {
		return address(link, 0)
	}
	return address(link, 1)
}

// nodes makes the jobs of MARS nodes, without faces, and their keys.
func (p *plan) nodes() error {
	for i := range p.n.w.Nodes {
		node := &p.n.w.Nodes[i]
		if node.Role == scenario.Router || node.Role == scenario.Relay && p.s.routers {
			continue
		}
		j := p.job(i)
		j.Node = &NodeJob{Role: "leaf", Strategy: "mars", Profile: p.s.profile, Key: filepath.Join(p.n.dir, node.Name+".key"), Detours: p.s.detours, Wait: p.s.wait, Guests: map[string]float64{}}
		if node.Role == scenario.Relay {
			j.Node.Role = "relay"
			if !node.MARS && !p.s.everyone {
				j.Node.Strategy = "best-route"
			}
		}
		if node.Role != scenario.Consumer {
			j.Node.Listen = fmt.Sprintf("udp4://0.0.0.0:%d", nodePort)
		}
		if node.Role == scenario.Producer {
			j.Node.Prefix = "/" + node.Name
		}
		if err := os.MkdirAll(j.Dir, 0o755); err != nil {
			return err
		}
	}
	for i := range p.n.w.Flows {
		p.fetch(i, p.paths(i), "")
	}
	return nil
}

// paths is how many ways a flow has by its consumer's links.
func (p *plan) paths(flow int) int {
	if p.s.single {
		return 1
	}
	return len(oracle(p.n.w, flow))
}

// datagrams is the rate of a direction without the headers of IP and UDP.
func datagrams(d *scenario.Direction) float64 {
	return d.Rate * float64(d.MTU-headers) / float64(d.MTU)
}

// key is the public half of a node's key, which is made when first asked for.
func (p *plan) key(host int) string {
	j := p.jobs[host]
	if j == nil || j.Node == nil {
		return ""
	}
	return "{" + j.Node.Key + "}" // public halves are put in by fillKeys
}

// neighbourFaces has every node dial those of its neighbours that lead to a producer, with static routes: those that routing
// would find.
func (p *plan) neighbourFaces() {
	faces := map[[2]int]*Face{} // by host and link
	for dest := range p.n.w.Nodes {
		if p.n.w.Nodes[dest].Role != scenario.Producer {
			continue
		}
		for host, j := range p.n.w.Nodes {
			if host == dest || p.jobs[host] == nil || j.Role == scenario.Producer {
				continue
			}
			for _, l := range p.nextLinks(host, dest) {
				f := faces[[2]int{host, l.link}]
				if f == nil {
					to := peer(p.n.w, l.link, host)
					f = p.face(host, l.link, to, p.at(l.link, to), p.at(l.link, host))
					p.knows(to, func() { p.jobs[to].Node.Guests[f.Local] = datagrams(p.sends(l.link, to)) })
					faces[[2]int{host, l.link}] = f
				}
				f.Routes["/"+p.n.w.Nodes[dest].Name] = l.hops
			}
		}
	}
	for host := range p.n.w.Nodes {
		for link := range p.n.w.Links {
			if f := faces[[2]int{host, link}]; f != nil {
				p.jobs[host].Node.Faces = append(p.jobs[host].Node.Faces, *f)
			}
		}
	}
}

type nextLink struct{ link, hops int }

// nextLinks are the links by which a host reaches dest, and the hops to go by each.
func (p *plan) nextLinks(host, dest int) (all []nextLink) {
	dist := hopsTo(p.n.w, dest, host)
	for i := range p.n.w.Links {
		l := &p.n.w.Links[i]
		if l.A != host && l.B != host {
			continue
		}
		if v := peer(p.n.w, i, host); dist[v] < unreachable && (v == dest || carries(p.n.w, v)) {
			all = append(all, nextLink{i, dist[v] + 1})
		}
	}
	if p.s.single && p.n.w.Nodes[host].Role == scenario.Consumer && len(all) > 1 {
		all = []nextLink{slices.MinFunc(all, func(a, b nextLink) int { return a.hops - b.hops })}
	}
	return all
}

// knows does f if a host knows the rates of its links: best-route relays don't.
func (p *plan) knows(host int, f func()) {
	if p.jobs[host].Node.Strategy == "mars" {
		f()
	}
}

// face is one that host dials by a link.
func (p *plan) face(host, link, to int, addr, local netip.Addr) *Face {
	f := &Face{
		Name: fmt.Sprintf("%s.%d", p.n.w.Nodes[to].Name, link), Link: link, Local: local.String(), Routes: map[string]int{},
		To: fmt.Sprintf("udp4://%s@%v:%d", p.key(to), addr, nodePort),
	}
	p.knows(host, func() { f.Rate = datagrams(p.sends(link, host)) })
	return f
}

// directFaces has every consumer dial its producers once per route: the network between only knows addresses.
func (p *plan) directFaces() {
	seen := map[[2]int]bool{}
	for i := range p.n.w.Flows {
		f := &p.n.w.Flows[i]
		if pair := [2]int{f.Consumer, f.Producer}; seen[pair] {
			continue
		} else {
			seen[pair] = true
		}
		routes := p.s.routes(p.n.w, i)
		if p.s.single {
			routes = routes[:1]
		}
		for _, r := range routes {
			c, s := p.route(f, r)
			face := p.face(f.Consumer, r[0], f.Producer, s, c)
			face.Name = fmt.Sprintf("%s.%d", p.n.w.Nodes[f.Producer].Name, r[0])
			face.Routes["/"+p.n.w.Nodes[f.Producer].Name] = 1
			p.jobs[f.Producer].Node.Guests[c.String()] = datagrams(p.sends(r[len(r)-1], f.Producer))
			p.jobs[f.Consumer].Node.Faces = append(p.jobs[f.Consumer].Node.Faces, *face)
		}
	}
}

// route gives both ends of a flow an address that hosts along the route know the way to. The producer's is the route's own. The
// consumer's serves all its routes by the same link, unless they part: MPTCP of one host keeps no more than eight addresses.
func (p *plan) route(f *scenario.Flow, links []int) (consumer, producer netip.Addr) {
	key := [2]int{f.Consumer, links[0]}
	consumer, ok := p.uplinks[key]
	if !ok || !p.agrees(f.Consumer, links, consumer) {
		consumer = p.newAddress(f.Consumer)
		p.uplinks[key] = consumer
	}
	producer = p.newAddress(f.Producer)
	at := f.Consumer
	for _, l := range links {
		next := peer(p.n.w, l, at)
		p.lead(at, l, next, producer, consumer, at == f.Consumer)
		p.lead(next, l, at, consumer, producer, next == f.Producer)
		at = next
	}
	return consumer, producer
}

// agrees tells whether packets to an address of the consumer can take a route back.
func (p *plan) agrees(consumer int, links []int, to netip.Addr) bool {
	at := consumer
	for _, l := range links {
		at = peer(p.n.w, l, at)
		if known, ok := p.ways[way{at, to}]; ok && known != l {
			return false
		}
	}
	return true
}

// newAddress gives a host one more address.
func (p *plan) newAddress(host int) netip.Addr {
	a := offset(firstRoute, p.given)
	p.given++
	p.add(host, fmt.Sprintf("address add %v/32 dev lo", a), fmt.Sprintf("address del %v/32 dev lo", a))
	return a
}

// lead tells a host the link to an address; an end of the route sends from its own address there.
func (p *plan) lead(host, link, next int, to, own netip.Addr, end bool) {
	if _, ok := p.ways[way{host, to}]; ok {
		return // told for another route
	}
	p.ways[way{host, to}] = link
	line := fmt.Sprintf("%v/32 via %v dev %s", to, p.at(link, next), deviceName(link))
	if end {
		line += fmt.Sprintf(" src %v", own)
	}
	p.add(host, "route add "+line, "route del "+line)
}

func (p *plan) add(host int, line, undo string) {
	p.lines[host], p.undo[host] = append(p.lines[host], line), append(p.undo[host], undo)
}

// streams makes the jobs of byte streams, and gives every pair of hosts the routes of its flows.
func (p *plan) streams() {
	pairs := map[[2]int][]netip.Addr{}
	ways := map[[2]int][]Way{}
	for i := range p.n.w.Flows {
		f := &p.n.w.Flows[i]
		pair := [2]int{f.Consumer, f.Producer}
		addrs := pairs[pair]
		if addrs == nil {
			for _, r := range p.s.routes(p.n.w, i) {
				c, a := p.route(f, r)
				addrs = append(addrs, a)
				ways[pair] = append(ways[pair], Way{r[0], c.String(), netip.AddrPortFrom(a, streamPort).String(), p.sends(r[0], f.Consumer).MTU - headers})
			}
			pairs[pair] = addrs
			if p.s.stream.Protocol == "mptcp" {
				p.announce(f.Producer, addrs[1:])
			}
		}
		s := p.s.stream
		s.Port = streamPort
		p.fetch(i, len(addrs), fmt.Sprintf("%v:%d", addrs[0], streamPort))
		if s.Protocol == "mpquic" {
			own := p.job(f.Consumer).Fetches
			own[len(own)-1].Ways = ways[pair]
			e := &p.n.w.Endpoints
			s.MTU, s.Scheduler, s.ECN, s.Pace, s.Buffer = p.datagram(f.Producer), e.Scheduler, e.ECN, e.Pace, e.Buffer
		}
		p.job(f.Consumer).Stream, p.job(f.Producer).Stream = &s, &s
	}
	for host, j := range p.jobs {
		if p.s.stream.Protocol == "mptcp" && j.Stream != nil {
			p.lines[host] = append(p.lines[host], "mptcp limits set subflows 8 add_addr_accepted 8")
			p.undo[host] = append(p.undo[host], "mptcp endpoint flush")
		}
	}
}

// datagram is the longest that every link of a host takes.
func (p *plan) datagram(host int) int {
	mtu := 1 << 16
	for i := range p.n.w.Links {
		if l := &p.n.w.Links[i]; l.A == host || l.B == host {
			mtu = min(mtu, p.sends(i, host).MTU)
		}
	}
	return mtu - headers
}

// announce has a producer tell its other addresses to whoever connects, which then joins them.
func (p *plan) announce(producer int, addrs []netip.Addr) {
	for _, a := range addrs {
		p.lines[producer] = append(p.lines[producer], fmt.Sprintf("mptcp endpoint add %v signal", a))
	}
}

// install tells the kernel what the plan needs.
func (p *plan) install() error { return p.tell(p.lines) }

// uninstall takes it back, the last first: routes go before the addresses that they send from.
func (p *plan) uninstall() error {
	for _, lines := range p.undo {
		slices.Reverse(lines)
	}
	return p.tell(p.undo)
}

func (p *plan) tell(lines [][]string) error {
	for host, batch := range lines {
		if len(batch) == 0 {
			continue
		}
		if err := ip(p.n.namespace(host), batch...); err != nil {
			return err
		}
	}
	return nil
}

// fillKeys makes the keys of all nodes by the binary and puts the public halves where neighbours dial.
func (p *plan) fillKeys(binary string) error {
	var pairs []string
	for _, j := range p.jobs {
		if j.Node == nil {
			continue
		}
		verb := []string{"key", "new", "-o", j.Node.Key}
		if _, err := os.Stat(j.Node.Key); err == nil {
			verb = []string{"key", "show", j.Node.Key}
		}
		out, err := exec.Command(binary, verb...).Output()
		if err != nil {
			return fmt.Errorf("key of %s: %w", j.Host, err)
		}
		pairs = append(pairs, "{"+j.Node.Key+"}", strings.TrimSpace(string(out)))
	}
	r := strings.NewReplacer(pairs...)
	for _, j := range p.jobs {
		if j.Node == nil {
			continue
		}
		for i := range j.Fetches {
			j.Fetches[i].Signer = r.Replace(j.Fetches[i].Signer)
		}
		for i := range j.Node.Faces {
			j.Node.Faces[i].To = r.Replace(j.Node.Faces[i].To)
		}
	}
	return nil
}
