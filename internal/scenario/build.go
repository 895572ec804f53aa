package scenario

import (
	"slices"
	"strings"
	"time"
)

// worldKeys are the top-level keys that may differ by point.
var worldKeys = []string{"topology", "workload", "faults", "limit", "endpoints", "measure"}

// Limits of one World, and of all worlds of a scenario together.
const (
	maxNodes    = 5_000
	maxLinks    = 20_000
	maxFlows    = 10_000
	maxPackets  = 1e9 // of all flows
	maxFaults   = 1_000
	maxExpanded = 300_000
)

// builder builds one World from the tree.
type builder struct {
	d     *decoder
	w     *World
	nodes map[string]int // indices by name
	links map[string]int
	flows map[string]int
	pairs []pair // who fetches from whom, by the generator
	full  bool   // a limit was hit and told
}

// pair is a consumer and a producer that a generator puts together.
type pair struct {
	consumer, producer, group int
}

func (b *builder) build(root *value) {
	top := b.d.section("", root)
	b.topology(top)
	b.endpoints(top)
	b.measure(top)
	b.workload(top)
	if len(b.d.report.list) > 0 {
		return // what follows would only repeat that
	}
	b.reachable(root)
	top.each("faults", b.fault)
	if !need(top, "limit", "60s", &b.w.Limit, parsePositiveDuration) {
		return
	}
	for _, f := range b.w.Flows {
		if b.w.Limit > 0 && f.Start >= b.w.Limit {
			b.d.fail(root.field("limit").at, "limit", ErrValue, "raise it, or let the flow start sooner", "flow %s starts at %v, when the run has ended", f.Name, f.Start)
		}
	}
	if m := b.w.Measure; m.To > b.w.Limit && b.w.Limit > 0 {
		b.d.fail(root.field("limit").at, "limit", ErrValue, "raise it, or measure less long", "the measurement ends at %v, when the run has ended", m.To)
	}
}

// topology reads nodes and links, after those of a generator.
func (b *builder) topology(top *section) {
	t, ok := top.section("topology")
	if !ok {
		top.missing("topology", "{generate: parallel, …}, or nodes and links")
		return
	}
	base := blankLink()
	base.read(t, "link")
	kind := ""
	if read(t, "generate", &kind, oneOf(generatorNames...)) && kind != "" {
		g := &generator{b, t, base}
		generators[slices.Index(generatorNames, kind)](g)
	}
	t.each("nodes", b.node)
	t.each("links", func(key string, v *value) { b.link(key, v, base) })
	t.done()
}

func (b *builder) node(key string, v *value) {
	s := b.d.section(key, v)
	var n Node
	read(s, "role", &n.Role, oneOf(Consumer, Producer, Relay, Router))
	read(s, "mars", &n.MARS, parseBool)
	ok := need(s, "name", "r1", &n.Name, parseName)
	if s.v.field("role") == nil {
		s.missing("role", "relay (or consumer, producer, router)")
	}
	s.done()
	if ok && n.Name != "" {
		b.addNode(s.at, s.sub("name"), n)
	}
}

// addNode adds a node and returns its index.
func (b *builder) addNode(at place, key string, n Node) int {
	if _, there := b.nodes[n.Name]; there {
		b.d.fail(at, key, ErrDuplicate, "give each node a name of its own", "there is a node %q already", n.Name)
	}
	if len(b.w.Nodes) >= maxNodes {
		b.tooMany(at, key, "nodes", maxNodes)
		return 0
	}
	b.nodes[n.Name] = len(b.w.Nodes)
	b.w.Nodes = append(b.w.Nodes, n)
	return len(b.w.Nodes) - 1
}

func (b *builder) tooMany(at place, key, what string, limit int) {
	if !b.full {
		b.d.fail(at, key, ErrSize, "make it smaller", "more than %d %s", limit, what)
	}
	b.full = true
}

func (b *builder) link(key string, v *value, base linkSpec) {
	s := b.d.section(key, v)
	spec := base
	spec.fields(s)
	var name string
	read(s, "name", &name, parseName)
	present := 1
	read(s, "when", &present, integer(0, 1))
	var ends []int
	s.each("between", func(key string, v *value) {
		if i, ok := b.find(key, v, b.nodes, "node"); ok {
			ends = append(ends, i)
		} else {
			ends = append(ends, -1)
		}
	})
	s.done()
	switch {
	case s.v.field("between") == nil:
		s.missing("between", "[a, b]")
	case len(ends) != 2:
		b.d.fail(s.at, s.sub("between"), ErrValue, "write between: [a, b]", "a link has two ends, not %d", len(ends))
	case slices.Contains(ends, -1):
	case ends[0] == ends[1]:
		b.d.fail(s.at, s.sub("between"), ErrValue, "name another node", "both ends are %s", b.w.Nodes[ends[0]].Name)
	case present == 1:
		b.addLink(s.at, s.key, name, ends[0], ends[1], spec)
	}
}

// addLink adds a link with the name, or "a-b" if it is empty.
func (b *builder) addLink(at place, key, name string, a, z int, spec linkSpec) {
	if len(b.w.Links) >= maxLinks {
		b.tooMany(at, key, "links", maxLinks)
	}
	if b.full {
		return
	}
	if name == "" {
		name = b.w.Nodes[a].Name + "-" + b.w.Nodes[z].Name
	}
	if _, there := b.links[name]; there {
		b.d.fail(at, key, ErrDuplicate, "give one of them a name: of its own", "there is a link %q already", name)
	}
	spec.complete(b.d, at, key, name)
	b.links[name] = len(b.w.Links)
	b.w.Links = append(b.w.Links, Link{Name: name, A: a, B: z, AB: spec.ab, BA: spec.ba})
}

// find returns the index of the node, link or flow that v names.
func (b *builder) find(key string, v *value, index map[string]int, what string) (int, bool) {
	var name string
	if !parse(b.d, key, v, &name, parseText) {
		return 0, false
	}
	i, ok := index[name]
	if !ok {
		var known []string
		switch what {
		case "node":
			for _, n := range b.w.Nodes {
				known = append(known, n.Name)
			}
		case "link":
			for _, l := range b.w.Links {
				known = append(known, l.Name)
			}
		case "flow":
			for _, f := range b.w.Flows {
				known = append(known, f.Name)
			}
		}
		b.d.fail(v.at, key, ErrNode, nearest(name, known), "unknown %s %q", what, name)
	}
	return i, ok
}

// faultKinds say what each fault needs.
var faultKinds = []FaultKind{
	Blackhole, LinkDown, Exclude, SetRate, SetDelay, SetLoss, SetBurst, Reorder, Duplicate, Corrupt, SetMTU, Deaf, Stale, Restart, Skew, Heal,
}

// strikesLink and strikesNode say what a fault strikes; Deaf strikes a node's end of a link, Heal everything.
func (k FaultKind) strikesLink() bool { return k != Restart && k != Skew && k != Heal }
func (k FaultKind) strikesNode() bool { return k == Restart || k == Skew || k == Deaf }

func (b *builder) fault(key string, v *value) {
	s := b.d.section(key, v)
	f := Fault{Link: -1, Node: -1}
	known := need(s, "kind", "blackhole", &f.Kind, oneOf(faultKinds...))
	need(s, "at", "1s", &f.At, parseDuration)
	read(s, "for", &f.For, parsePositiveDuration)
	if v := s.get("after"); v != nil {
		if i, ok := b.find(s.sub("after"), v, b.flows, "flow"); ok {
			f.After = b.w.Flows[i].Name
		}
	}
	if known && f.Kind.strikesNode() {
		b.target(s, "node", b.nodes, &f.Node)
	}
	if known && f.Kind.strikesLink() {
		b.target(s, "link", b.links, &f.Link)
	}
	b.faultValue(s, &f)
	s.done()
	if len(b.w.Faults) == maxFaults {
		b.tooMany(s.at, "faults", "faults", maxFaults)
	}
	if !b.full {
		b.w.Faults = append(b.w.Faults, f)
	}
}

// faultValue reads how bad a fault is, and checks that it can strike there.
func (b *builder) faultValue(s *section, f *Fault) {
	switch f.Kind {
	case SetRate:
		need(s, "value", "10 Mbit/s", &f.Value, parseRate)
	case SetDelay:
		var d time.Duration
		need(s, "value", "20ms", &d, parseDuration)
		f.Value = d.Seconds()
	case SetLoss, SetBurst, Reorder, Duplicate, Corrupt:
		need(s, "value", "1%", &f.Value, parseFraction)
	case SetMTU:
		bytes := 0
		need(s, "value", "1280", &bytes, integer(28, 65535))
		f.Value = float64(bytes)
	case Skew:
		need(s, "value", "1%", &f.Value, parseSkew)
	case Deaf:
		if f.Link >= 0 && f.Node >= 0 {
			if l := b.w.Links[f.Link]; l.A != f.Node && l.B != f.Node {
				b.d.fail(s.at, s.sub("node"), ErrNode, "name one of its ends", "%s isn't an end of %s", b.w.Nodes[f.Node].Name, l.Name)
			}
		}
	case Exclude:
		if f.Link >= 0 {
			l := b.w.Links[f.Link]
			if b.w.Nodes[l.A].Role != Consumer && b.w.Nodes[l.B].Role != Consumer {
				b.d.fail(s.at, s.sub("link"), ErrValue, "name a link of a consumer, or use kind: down", "%s isn't a consumer's link", l.Name)
			}
		}
	}
}

// parseSkew parses how much too fast a clock runs: a fraction that may be negative.
func parseSkew(s string) (float64, error) {
	sign, rest := 1.0, s
	if after, ok := strings.CutPrefix(s, "-"); ok {
		sign, rest = -1, after
	}
	f, err := parseFraction(rest)
	if err == nil && f > 0.5 {
		err = bad(ErrSize, "choose one between -50% and 50%", "%q is more than half", s)
	}
	return float64(sign * f), err
}

// target reads what a fault strikes.
func (b *builder) target(s *section, key string, index map[string]int, dst *int) {
	v := s.get(key)
	if v == nil {
		s.missing(key, "the name of a "+key)
		return
	}
	if i, ok := b.find(s.sub(key), v, index, key); ok {
		*dst = i
	}
}
