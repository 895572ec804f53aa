package sim

import (
	"strings"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// plainSystems are the NDN systems that MARS is compared with.
func plainSystems() (list []string) {
	for i := range systems {
		if systems[i].plain {
			list = append(list, systems[i].name)
		}
	}
	return list
}

// play runs a world to its end, for a look inside.
func play(t *testing.T, w *scenario.World, system string, seed uint64) *world {
	t.Helper()
	s, err := findSystem(system)
	if err != nil {
		t.Fatal(err)
	}
	world, err := s.build(w, seed, Options{})
	if err != nil {
		t.Fatal(err)
	}
	world.run(machine.Time(w.Limit))
	for _, f := range world.flows {
		if f.t100 < 0 || f.corrupt > 0 {
			t.Fatalf("%s: %s ended with %v, %d corrupt", system, f.name, f.failed, f.corrupt)
		}
	}
	return world
}

// TestPlainRepeats: the same seed gives the same bits with every system.
func TestPlainRepeats(t *testing.T) {
	for _, name := range plainSystems() {
		a, b := play(t, emulation(0.01, 200_000), name, 1), play(t, emulation(0.01, 200_000), name, 1)
		if a.net.hash != b.net.hash || a.net.events != b.net.events {
			t.Errorf("%s: the same seed gave two runs", name)
		}
	}
}

// TestPlainCapacity: no link carries more than its rate, and no flow is faster than its consumer's links.
func TestPlainCapacity(t *testing.T) {
	for _, name := range plainSystems() {
		w := play(t, emulation(0, 1_000_000), name, 1)
		for i := range w.net.links {
			l := &w.net.links[i]
			d := w.w.Links[i/2].AB
			if most := d.Rate/8*w.net.now.Seconds() + 1500; float64(l.bytes-int64(l.wait)) > most {
				t.Errorf("%s: link %s carried %d bytes of %.0f", name, l.name, l.bytes, most)
			}
		}
		for _, f := range w.flows {
			if rate := float64(f.size*8) / f.t100.Seconds(); rate > 5*40e6 {
				t.Errorf("%s: %s at %.0f Mbit/s by five links of 40", name, f.name, rate/1e6)
			}
		}
	}
}

// uses counts the links of a consumer by which more than 2% of its Data came.
func uses(w *world, consumer int) (n int) {
	total := uint64(0)
	faces := w.nodes[consumer].Forwarder().Stats(nil)
	for _, f := range faces {
		if !f.Local {
			total += f.DataIn
		}
	}
	for _, f := range faces {
		if !f.Local && f.DataIn*50 > total {
			n++
		}
	}
	return n
}

// TestPlainPaths: best-route keeps to one next hop, PCON and QSF-like use all five, and PCON without loops has only one here:
// of the other cores none is nearer than the consumer itself.
func TestPlainPaths(t *testing.T) {
	for name, want := range map[string]int{"PCON": 5, "QSF-like": 5, "PCON-loop-free": 1} {
		if got := uses(play(t, emulation(0, 4_000_000), name, 1), 0); got != want {
			t.Errorf("%s: %d next hops in use, want %d", name, got, want)
		}
	}
	w := emulation(0, 1_000_000)
	w.Flows = w.Flows[:1]
	if got := uses(play(t, w, "best-route", 1), 0); got != 1 {
		t.Errorf("best-route: %d next hops in use", got)
	}
}

// ring is a consumer, three relays that know each other, and a producer behind all of them.
func ring(size int64) *scenario.World {
	w := &scenario.World{Limit: 300 * time.Second}
	for _, name := range []string{"c", "a", "b", "d", "x", "p"} {
		role := scenario.Relay
		switch name {
		case "c":
			role = scenario.Consumer
		case "p":
			role = scenario.Producer
		}
		w.Nodes = append(w.Nodes, scenario.Node{Name: name, Role: role})
	}
	for _, ends := range [][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {1, 4}, {2, 4}, {3, 4}, {4, 5}} {
		d := scenario.Direction{Rate: 40e6, Delay: 5 * time.Millisecond, Packets: 100, MTU: 1500}
		if ends[0] == 4 {
			d.Rate = 20e6
		}
		w.Links = append(w.Links, scenario.Link{
			Name: w.Nodes[ends[0]].Name + "-" + w.Nodes[ends[1]].Name, A: ends[0], B: ends[1], AB: d, BA: d,
		})
	}
	w.Flows = []scenario.Flow{{Name: "f", Consumer: 0, Producer: 5, Bytes: size, ChunkSize: 6016}}
	return w
}

// TestPlainLoops: where routing offers neighbours that aren't nearer, Interests come back to where they have been; without
// such next hops none does. The result counts them.
func TestPlainLoops(t *testing.T) {
	for _, c := range []struct {
		system string
		loops  bool
	}{{"PCON-even", true}, {"QSF-like", true}, {"PCON-loop-free", false}, {"best-route", false}} {
		r, err := Run(ring(2_000_000), c.system, 1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Looped > 0) != c.loops || r.Flows[0].T100 < 0 {
			t.Errorf("%s: %d looped, %+v", c.system, r.Looped, r.Flows[0])
		}
	}
}

// TestPCONDrifts: PCON begins on the shortest way; marks move its shares until Interests loop, and the longer the transfer,
// the more it loses on the same network without those next hops (MARS Fig. 1).
func TestPCONDrifts(t *testing.T) {
	last := 1.0
	for _, size := range []int64{18_000_000, 144_000_000} {
		free, prone := play(t, ring(size), "PCON-loop-free", 1), play(t, ring(size), "PCON", 1)
		ratio := prone.flows[0].t95.Seconds() / free.flows[0].t95.Seconds()
		if ratio < last || free.looped() > 0 {
			t.Errorf("%d bytes: %.2f times as long as without loops, after %.2f; %d looped without", size, ratio, last, free.looped())
		}
		last = ratio
	}
	if last < 1.2 {
		t.Errorf("a long transfer takes only %.2f times as long", last)
	}
}

// TestPlainQueues: a face of a system that marks its own queue holds what the link's queue holds in the scenario, and knows
// its rate; with best-route the link is the queue.
func TestPlainQueues(t *testing.T) {
	for name, rate := range map[string]float64{"PCON": 40e6 / 8 * 1472 / 1500, "best-route": 0} {
		w := play(t, emulation(0, 100_000), name, 1)
		f := w.net.hosts[0].ports[0].config
		if f.Rate != rate || 2*f.DataQueue*5 != 1000 { // 6016 bytes are 5 packets
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestNotes: what is a reconstruction says so.
func TestNotes(t *testing.T) {
	for _, name := range Systems() {
		want := name == "QSF-like" || name == "PCON-even" || strings.HasPrefix(name, "MPQUIC-")
		if got := strings.HasPrefix(Note(name), "[R] "); got != want {
			t.Errorf("%s: note %q", name, Note(name))
		}
	}
}
