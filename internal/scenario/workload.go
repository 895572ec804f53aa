package scenario

import (
	"cmp"
	"time"
)

// workload reads the flows: those of the generator's pairs, then those that are listed.
func (b *builder) workload(top *section) {
	s, ok := top.section("workload")
	if !ok {
		top.missing("workload", "{size: 18 MB, …}")
		return
	}
	var common Flow
	read(s, "size", &common.Bytes, parseBytes)
	read(s, "chunk", &common.ChunkSize, parseChunk)
	starts := texts(s, "starts", parseDuration)
	start := func(group int) time.Duration {
		if len(starts) == 0 {
			return 0
		}
		return starts[group%len(starts)]
	}
	for _, p := range b.pairs {
		f := common
		f.Consumer, f.Producer, f.Group, f.Start = p.consumer, p.producer, p.group, start(p.group)
		b.addFlow(s, f)
	}
	s.each("flows", func(key string, v *value) {
		b.flow(key, v, common, start)
	})
	s.done()
	b.checkWorkload(s)
}

func (b *builder) flow(key string, v *value, f Flow, start func(group int) time.Duration) {
	s := b.d.section(key, v)
	read(s, "name", &f.Name, parseName)
	read(s, "size", &f.Bytes, parseBytes)
	read(s, "chunk", &f.ChunkSize, parseChunk)
	read(s, "group", &f.Group, integer(0, maxFlows))
	f.Start = start(f.Group)
	read(s, "start", &f.Start, parseDuration)
	read(s, "stop", &f.Stop, parsePositiveDuration)
	read(s, "background", &f.Background, parseControl)
	ok := b.end(s, "consumer", Consumer, &f.Consumer)
	ok = b.end(s, "producer", Producer, &f.Producer) && ok
	s.each("paths", func(key string, v *value) {
		if path, good := b.path(key, v, &f); ok && good {
			f.Paths = append(f.Paths, path)
		}
	})
	if ok {
		s.each("moves", func(key string, v *value) { b.move(key, v, &f) })
	}
	s.done()
	if ok {
		b.addFlow(s, f)
	}
}

func parseChunk(s string) (int, error) {
	f, err := measure(s, byteUnits, 1, 1<<20, "6016 B")
	return int(f), err
}

// end reads one end of a flow.
func (b *builder) end(s *section, key string, role Role, dst *int) bool {
	v := s.get(key)
	if v == nil {
		s.missing(key, "the name of a node of that role")
		return false
	}
	i, ok := b.find(s.sub(key), v, b.nodes, "node")
	if ok && b.w.Nodes[i].Role != role {
		b.d.fail(v.at, s.sub(key), ErrNode, "name a node with role: "+string(role), "%s is a %s", b.w.Nodes[i].Name, b.w.Nodes[i].Role)
		return false
	}
	*dst = i
	return ok
}

// path reads a route of f: the names of its links from the consumer to the producer.
func (b *builder) path(key string, v *value, f *Flow) (path []int, ok bool) {
	if v.kind != list {
		b.d.fail(v.at, key, ErrValue, "write the names of its links, such as [c-r1, r1-p]", "expected a list, got %v", v.kind)
		return nil, false
	}
	at := f.Consumer
	for i, item := range v.items {
		l, found := b.find(key, item, b.links, "link")
		if !found {
			return nil, false
		}
		next, joined := b.w.Links[l].other(at)
		inner := i > 0 && b.w.Nodes[at].Role != Relay && b.w.Nodes[at].Role != Router
		if !joined || inner {
			b.d.fail(item.at, key, ErrRoute, "list the links in order from the consumer to the producer, through relays", "%s doesn't go on from %s", item.text, b.w.Nodes[at].Name)
			return nil, false
		}
		at, path = next, append(path, l)
	}
	if at != f.Producer {
		b.d.fail(v.at, key, ErrRoute, "list the links in order from the consumer to the producer", "the path ends at %s", b.w.Nodes[at].Name)
		return nil, false
	}
	return path, true
}

// other returns the other end of l, and whether n is an end at all.
func (l *Link) other(n int) (int, bool) {
	switch n {
	case l.A:
		return l.B, true
	case l.B:
		return l.A, true
	}
	return 0, false
}

// addFlow adds a flow; without a name it is "consumer-producer".
func (b *builder) addFlow(s *section, f Flow) {
	if len(b.w.Flows) >= maxFlows {
		b.tooMany(s.at, s.key, "flows", maxFlows)
	}
	if b.full {
		return
	}
	if f.Bytes == 0 && b.w.Measure == (Measure{}) {
		s.missing("size", "18 MB")
		return
	}
	if f.Stop > 0 && f.Stop <= f.Start {
		b.d.fail(s.at, s.key, ErrValue, "let it stop after its start", "it stops at %v and starts at %v", f.Stop, f.Start)
	}
	f.Name = cmp.Or(f.Name, b.w.Nodes[f.Consumer].Name+"-"+b.w.Nodes[f.Producer].Name)
	if _, there := b.flows[f.Name]; there {
		b.d.fail(s.at, s.key, ErrDuplicate, "give one of them a name: of its own", "there is a flow %q already", f.Name)
	}
	b.flows[f.Name] = len(b.w.Flows)
	b.w.Flows = append(b.w.Flows, f)
}

func (b *builder) checkWorkload(s *section) {
	if len(b.w.Flows) == 0 && len(b.d.report.list) == 0 {
		s.missing("flows", "[{consumer: c, producer: p}]")
	}
	const packet = 1400
	packets := 0.0
	for _, f := range b.w.Flows {
		packets += float64(f.Bytes) / packet
	}
	if packets > maxPackets {
		b.d.fail(s.at, s.key, ErrSize, "choose smaller objects or fewer flows", "the flows make %.3g packets; the limit is %.3g", packets, maxPackets)
	}
}
