package forward

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestGraphScripts runs testdata/graph/*.txt: small overlays, packet by packet. Commands:
//
//	nodes NAME…           relays
//	leaf NAME…            they carry no transit
//	link A B              both ways, 1 ms
//	start PRODUCER        makes the forwarders and installs routes
//	ask NAME              an application there expresses an Interest
//	step [N]              the next N packets arrive (1)
//	lose                  the next packet is lost
//	cut A B               the link goes down; routing doesn't notice
//	quiet                 packets and timers run until nothing is on its way for 150 ms
//	table NAME            every node's discovery of the flow of that consumer
func TestGraphScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/graph/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &graphScript{t: t, g: newGraph(1, 0, Detours)}
			s.g.frozen = true
			golden(t, file, s.command, func() string {
				text := s.out.String()
				s.out.Reset()
				return text
			})
			if s.g.acyclic(); s.g.broken != "" {
				t.Error(s.g.broken)
			}
		})
	}
}

type graphScript struct {
	t     *testing.T
	g     *graph
	names []string
	asked uint64
	out   strings.Builder
}

func (s *graphScript) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *graphScript) node(name string) int {
	i := slices.Index(s.names, name)
	if i < 0 {
		s.t.Fatalf("no node %q", name)
	}
	return i
}

func (s *graphScript) command(f []string) {
	g := s.g
	switch f[0] {
	case "nodes":
		for _, name := range f[1:] {
			s.names = append(s.names, name)
			g.nodes = append(g.nodes, &vertex{id: len(g.nodes), relay: true})
		}
	case "leaf":
		for _, name := range f[1:] {
			g.nodes[s.node(name)].relay = false
		}
	case "link":
		g.link(s.node(f[1]), s.node(f[2]))
	case "start":
		g.start(s.node(f[1]))
	case "ask":
		s.asked++
		g.nodes[s.node(f[1])].app = true
		g.ask(s.node(f[1]), s.asked)
	case "step":
		for range number(append(f, "1")[1], 1) {
			s.step(g.now+machine.Second, true)
		}
	case "lose":
		if i := g.earliest(); i >= 0 {
			s.printf("lost: %s", s.describe(g.inflight[i]))
			g.inflight = slices.Delete(g.inflight, i, i+1)
		}
	case "cut":
		v := g.nodes[s.node(f[1])]
		g.setLink(v.id, slices.IndexFunc(v.faces, func(e edge) bool { return e.peer == s.node(f[2]) }), false)
	case "quiet":
		n := 0
		for s.step(g.now+150*machine.Millisecond, false) {
			n++
		}
		s.printf("%d packets", n)
	case "table":
		s.table(s.node(f[1]))
	default:
		s.t.Fatalf("unknown command %q", f[0])
	}
}

// step lets timers run until a packet arrives.
func (s *graphScript) step(end machine.Time, show bool) bool {
	g := s.g
	for {
		next := g.earliest()
		if next >= 0 {
			m := g.inflight[next]
			if before := len(g.inflight); g.step(m.due+1) && !slices.ContainsFunc(g.inflight[:min(before, len(g.inflight))], m.same) {
				if show {
					s.printf("%s", s.describe(m))
				}
				return true
			}
			continue
		}
		if !g.step(end) {
			return false
		}
	}
}

func (m message) same(o message) bool { return len(m.data) > 0 && &m.data[0] == &o.data[0] }

// earliest is the next message to arrive, −1 if there is none.
func (g *graph) earliest() int {
	next := -1
	for i := range g.inflight {
		if next < 0 || g.inflight[i].due < g.inflight[next].due {
			next = i
		}
	}
	return next
}

// describe says what a packet is: probes by ProbeIdx and number.
func (s *graphScript) describe(m message) string {
	var p wire.Packet
	var it wire.Interest
	var d wire.Data
	from := s.g.nodes[m.to].faces[m.face].peer
	text := fmt.Sprintf("%5.1f ms  %s→%s ", float64(m.due)/1e6, s.names[from], s.names[m.to])
	if err := p.Decode(m.data); err != nil {
		s.t.Fatal(err)
	}
	switch {
	case it.Decode(p.Fragment) == nil && p.Nack:
		reason := map[wire.NackReason]string{wire.NackLoop: "loop", wire.NackDuplicate: "duplicate", wire.NackNoRoute: "no route"}[p.NackReason]
		return text + fmt.Sprintf("nack %s, %s", reason, s.subject(it.Name))
	case p.HasLabel:
		label := "⊤"
		if p.Label.Hops != topLabel.Hops {
			label = fmt.Sprintf("%d.%02x", p.Label.Hops, p.Label.Hash>>56)
		}
		return text + fmt.Sprintf("%s, label %s, may go %d hops", s.subject(it.Name), label, it.HopLimit)
	case d.Decode(p.Fragment) == nil:
		text += "data for " + s.subject(d.Name)
		if p.HasConvergence {
			text += fmt.Sprintf(", TierConv %s NodeConv %s", bit(p.Convergence.Tier), bit(p.Convergence.Node))
		}
	}
	return text
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func (s *graphScript) subject(name wire.Name) string {
	n := wire.SplitFlow(name)
	if n.Kind != wire.Discovery {
		return "chunk"
	}
	var src int
	if _, err := fmt.Sscanf(string(n.Src), "s%d", &src); err != nil {
		s.t.Fatal(err)
	}
	index, seq, _ := n.Probe()
	return fmt.Sprintf("probe %d of tier %d", seq-uint64(s.g.nodes[src].fw.flows.boot), index)
}

// table prints every node's discovery of a flow.
func (s *graphScript) table(src int) {
	for _, v := range s.g.nodes {
		f := s.g.flowAt(v, src)
		if f == nil {
			continue
		}
		for _, d := range f.epochs {
			label := "⊤"
			if !d.source {
				label = fmt.Sprintf("%d.%02x", d.label.Hops, d.label.Hash>>56)
			}
			end := ""
			if d.finished > 0 {
				end = fmt.Sprintf(", finished at %.1f ms", d.finished.Seconds()*1e3)
			}
			s.printf("%s: epoch %d, label %s, ProbeIdx %d%s", s.names[v.id], d.epoch, label, d.index, end)
			for i := range d.probes {
				p := &d.probes[i]
				if p.face >= appOf {
					s.printf("  the producer is here")
					continue
				}
				said := ""
				if p.state == acked {
					said = fmt.Sprintf(", TierConv up to %d, NodeConv %s", p.tierConv, bit(p.nodeConv))
				}
				s.printf("  tier %d, %d hops by %s: %v%s", p.tier, p.hops, s.names[v.faces[p.face-1].peer], p.state, said)
			}
		}
	}
}
