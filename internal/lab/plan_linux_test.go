package lab

import (
	"net/netip"
	"strings"
	"testing"

	"mars/internal/scenario"
)

// planOf is a system's plan for the paper's emulation study, without a network.
func planOf(t *testing.T, name string) *plan {
	t.Helper()
	s, err := scenario.Load("../../scenarios/mars-emulation-heterogeneous.yaml")
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := s.Worlds()
	if err != nil {
		t.Fatal(err)
	}
	sys, err := findSystem(name)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{w: &worlds[0], state: &state{}, emulator: &emulator{scale: 2}, dir: t.TempDir()}
	p, err := n.newPlan(sys)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanOfMPTCP: every flow has an address pair for each of its five ways; packets to either address get there, from the first
// link that they are meant for; and no host has more addresses than MPTCP keeps.
func TestPlanOfMPTCP(t *testing.T) {
	p := planOf(t, "MPTCP-Oracle")
	w := p.n.w
	arrives := func(from int, to netip.Addr, at int) bool {
		for range 10 {
			if from == at {
				return true
			}
			link, ok := p.ways[way{from, to}]
			if !ok {
				return false
			}
			from = peer(w, link, from)
		}
		return false
	}
	for i := range w.Flows {
		f := &w.Flows[i]
		if ways := p.jobs[f.Consumer].Fetches; len(ways) != 5 || ways[0].Paths != 5 {
			t.Fatalf("%s: %+v", f.Name, ways)
		}
		for _, r := range oracle(w, i) {
			back := p.uplinks[[2]int{f.Consumer, r[0]}]
			if !arrives(f.Producer, back, f.Consumer) {
				t.Errorf("%s: nothing gets back to %v", f.Name, back)
			}
		}
	}
	for host, lines := range p.lines {
		addresses, announced := 0, 0
		for _, line := range lines {
			if to, ok := strings.CutPrefix(line, "address add "); ok {
				addresses++
				a := netip.MustParsePrefix(strings.Fields(to)[0]).Addr()
				for from := range w.Nodes { // whoever knows a way knows the whole
					if _, ok := p.ways[way{from, a}]; ok && !arrives(from, a, host) {
						t.Errorf("%s: packets to %v don't arrive", w.Nodes[from].Name, a)
					}
				}
			}
			if strings.HasPrefix(line, "mptcp endpoint add") {
				announced++
			}
		}
		if addresses > 8 || w.Nodes[host].Role == scenario.Producer && announced != 4 {
			t.Errorf("%s has %d addresses and announces %d", w.Nodes[host].Name, addresses, announced)
		}
	}
}

// TestPlanOfMPQUIC: every flow has its five ways, from addresses of its consumer to those of its producer, which a producer's host
// answers with packets that its link takes.
func TestPlanOfMPQUIC(t *testing.T) {
	p := planOf(t, "MPQUIC-Oracle")
	for host, j := range p.jobs {
		if j.Stream.Protocol != "mpquic" || j.Stream.MTU != 1472 || j.Stream.Control != "" {
			t.Errorf("%s: %+v", j.Host, j.Stream)
		}
		for _, f := range j.Fetches {
			locals := map[string]bool{}
			for _, w := range f.Ways {
				locals[w.Local] = true
				at, to := host, netip.MustParseAddrPort(w.To).Addr()
				for at != p.n.w.Flows[f.Flow].Producer {
					link, ok := p.ways[way{at, to}]
					if !ok {
						t.Fatalf("%s: %s doesn't know the way to %v", f.Name, p.n.w.Nodes[at].Name, to)
					}
					at = peer(p.n.w, link, at)
				}
			}
			if len(locals) != 5 || f.Paths != 5 {
				t.Errorf("%s: %+v", f.Name, f.Ways)
			}
		}
		for _, o := range j.Objects {
			if f := &p.n.w.Flows[o.Flow]; f.Producer != host || o.Bytes != f.Bytes {
				t.Errorf("%s serves %+v", j.Host, o)
			}
		}
	}
}

// TestPlanOfMARS: consumers dial the five cores and edges their producers; every neighbour that is dialled listens and, at the ends, knows
// what its link carries; routes count hops as routing does.
func TestPlanOfMARS(t *testing.T) {
	p := planOf(t, "MARS-paper")
	for host, j := range p.jobs {
		if j.Node.Profile != "paper" {
			t.Errorf("%s runs profile %q", j.Host, j.Node.Profile)
		}
		node := p.n.w.Nodes[host]
		switch node.Role {
		case scenario.Consumer:
			if len(j.Node.Faces) != 5 || len(j.Fetches) != 5 || j.Node.Strategy != "mars" || !j.Node.Wait {
				t.Errorf("%s: %d faces, %d flows, %+v", node.Name, len(j.Node.Faces), len(j.Fetches), j.Node)
			}
			hops := map[int]int{}
			for _, f := range j.Node.Faces {
				hops[f.Routes["/p0"]]++
				if f.Rate < 39e6 || f.Rate > 40e6 {
					t.Errorf("%s: rate %g", node.Name, f.Rate)
				}
			}
			if hops[3] != 1 || hops[4] != 4 {
				t.Errorf("%s: faces by hops to p0: %v", node.Name, hops)
			}
		case scenario.Producer:
			if len(j.Node.Guests) != 1 || len(j.Node.Faces) != 0 || len(j.Objects) != 1 || j.Node.Listen == "" {
				t.Errorf("%s: %+v", node.Name, j.Node)
			}
		case scenario.Relay:
			if j.Node.Strategy != "best-route" || j.Node.Listen == "" || len(j.Node.Faces) == 0 {
				t.Errorf("%s: %+v", node.Name, j.Node)
			}
		}
	}
}
