package forward

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// endsAfter is how long discovery takes on graph number seed, in units of tiers × the round trip of the longest allowed path (0:
// there is nothing to discover), and whether it ended only because it took too long.
func endsAfter(t *testing.T, seed uint64, loss float64) (took float64, capped bool) {
	g := randomGraph(seed, Detours, 20)
	g.delay, g.loss = 10*machine.Millisecond, loss
	producer := g.rng.IntN(len(g.nodes))
	g.start(producer)
	src := (producer + 1 + g.rng.IntN(len(g.nodes)-1)) % len(g.nodes)
	g.ask(src, 1)
	f := g.flowAt(g.nodes[src], src)
	if f == nil || len(f.epochs) == 0 {
		return 0, false
	}
	d := f.epochs[0]
	for d.finished == 0 && g.step(discoveryMax*2) {
	}
	if d.finished == 0 {
		t.Fatalf("seed %d, loss %g: discovery never ended", seed, loss)
	}
	rtt := machine.Time(2*d.room) * g.delay
	return d.finished.Seconds() / (float64(d.tiers) * rtt.Seconds()), f.found > discoveryMax
}

// TestInvariantsDiscoveryEnds checks invariant 4: discovery ends within c·tiers·RTT, RTT being that of the longest path that the
// stretch budget allows. c is stated for the 99th percentile; beyond it discoveryMax ends what doesn't converge.
func TestInvariantsDiscoveryEnds(t *testing.T) {
	cases := uint64(300)
	if testing.Short() || raceEnabled {
		cases = 60
	}
	for _, c := range []struct{ loss, c float64 }{{0, 5}, {0.05, 8}, {0.1, 15}} {
		var times []float64
		capped := 0
		for seed := range cases {
			x, late := endsAfter(t, seed, c.loss)
			if x > 0 {
				times = append(times, x)
			}
			if late {
				capped++
			}
		}
		slices.Sort(times)
		at := func(q float64) float64 { return times[int(q*float64(len(times)-1))] }
		t.Logf("%g loss: median %.1f, 90%% %.1f, 99%% %.1f, most %.1f; %d capped", c.loss, at(.5), at(.9), at(.99), at(1), capped)
		if capped > 0 && c.loss == 0 {
			t.Errorf("%d of %d discoveries didn't converge without loss", capped, len(times))
		}
		if at(.99) > c.c {
			t.Errorf("%g loss: 99%% end within %.1f·tiers·RTT, wanted %g", c.loss, at(.99), c.c)
		}
	}
}

// deadEnd is a hop that must be invalid by a time.
type deadEnd struct {
	by       machine.Time
	from, to int
	face     machine.FaceID
	epoch    epochKey
}

// deadEndCase cuts links of a converged lossless graph before routing knows of it, keeps asking, and checks every hop that leads
// to a node without a valid upstream: once an Interest has gone that way, the hop is invalid within a round trip. It returns
// how many such hops there were.
func deadEndCase(t *testing.T, seed uint64) (found int) {
	g, _ := outcome(seed, 0, 10)
	src := slices.IndexFunc(g.nodes, func(v *vertex) bool { return v.app })
	g.rng = rand.New(rand.NewPCG(seed, 5))
	g.frozen = true
	for range 1 + g.rng.IntN(4) {
		v := g.nodes[g.rng.IntN(len(g.nodes))]
		g.setLink(v.id, g.rng.IntN(len(v.faces)), false)
	}
	var due []deadEnd
	for k := range uint64(12) {
		g.ask(src, 100+k)
		end := g.now + 10*machine.Millisecond
		for {
			for _, m := range g.inflight {
				if e, ok := g.deadEnd(src, m); ok {
					due = append(due, e)
				}
			}
			if !g.step(end) {
				break
			}
			due = slices.DeleteFunc(due, func(e deadEnd) bool {
				if g.now < e.by {
					return false
				}
				found++
				if d := g.flowAt(g.nodes[e.from], src).at(e.epoch); d != nil && d.valid(d.find(e.face)) {
					t.Fatalf("seed %d: node %d still sends to node %d, which has no valid upstream", seed, e.from, e.to)
				}
				return true
			})
		}
	}
	return found
}

// deadEnd tells whether a message is an Interest on its way to a node that knows no way on.
func (g *graph) deadEnd(src int, m message) (deadEnd, bool) {
	epoch, ok := labelled(m.data)
	v := g.nodes[m.to]
	f := g.flowAt(v, src)
	back := v.faces[m.face]
	if !ok || m.to == src || slices.Contains(g.producers, m.to) || !back.up || f == nil || f.at(epoch) == nil {
		return deadEnd{}, false
	}
	d := f.at(epoch)
	for i := range d.probes {
		if p := &d.probes[i]; d.open(p, maxHops) && v.faces[p.face-1].up {
			return deadEnd{}, false
		}
	}
	return deadEnd{m.due + 2*g.delay, back.peer, m.to, machine.FaceID(back.peerFace + 1), epoch}, true
}

// labelled returns the epoch of an Interest of a flow.
func labelled(datagram []byte) (epochKey, bool) {
	var p wire.Packet
	if p.Decode(datagram) != nil || p.Nack || !p.HasLabel {
		return epochKey{}, false
	}
	return epochKey{p.Label.Boot, p.Label.Epoch}, true
}

// TestInvariantsDeadEnds checks the second half of invariant 2.
func TestInvariantsDeadEnds(t *testing.T) {
	cases := uint64(500)
	if testing.Short() || raceEnabled {
		cases = 60
	}
	found := 0
	for seed := range cases {
		found += deadEndCase(t, seed)
	}
	if found == 0 {
		t.Error("no node ever lost all its upstreams")
	}
	t.Logf("%d graphs, %d Interests to nodes without an upstream", cases, found)
}
