package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// behind is a consumer 0 with one link to relay 1, which has relays 2 and 3 between itself and the producer 4.
func behind() *graph {
	g := newGraph(1, 5, Detours)
	g.link(0, 1)
	g.link(1, 2)
	g.link(1, 3)
	g.link(2, 4)
	g.link(3, 4)
	g.nodes[0].relay, g.nodes[4].relay, g.nodes[0].app = false, false, true
	g.start(4)
	return g
}

// until asks every 50 ms until ok or the end, and tells whether it was ok.
func (g *graph) until(end machine.Time, ok func() bool) bool {
	for k := uint64(g.now); g.now < end; k++ {
		g.ask(0, k)
		if g.run(50*machine.Millisecond, false); ok() {
			return true
		}
	}
	return false
}

// newest is the newest epoch of the flow at a node.
func (g *graph) newest(v int) *discovery {
	f := g.flowAt(g.nodes[v], 0)
	return f.epochs[len(f.epochs)-1]
}

// TestWaysComeBack: a way that returns behind a relay is found at once, though the source's own candidates never change.
func TestWaysComeBack(t *testing.T) {
	for _, at := range []struct{ node, face int }{{1, 2}, {3, 1}} { // next to the relay that hints, and behind
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			g := behind()
			both := func() bool {
				d := g.newest(1)
				return g.flowAt(g.nodes[0], 0).epochs[0].finished > 0 && d.valid(d.find(2)) && d.find(3) != nil && d.find(3).state == acked
			}
			g.setLink(at.node, at.face, false)
			g.until(2*machine.Second, func() bool { return false })
			if both() {
				t.Fatal("a way that is cut is used")
			}
			g.setLink(at.node, at.face, true)
			mended, asked := g.now, len(g.asked)
			if !g.until(mended+5*machine.Second, both) {
				t.Fatalf("not found in 5 s: %+v", g.newest(1).probes)
			}
			t.Logf("found after %.0f ms", (g.now-mended).Seconds()*1e3)
			epoch := g.newest(0).epoch
			if g.until(g.now+20*machine.Second, func() bool { return g.newest(0).epoch != epoch }) {
				t.Error("discovered again, though nothing changed")
			}
			if got := len(g.got); got < len(g.asked)-1 || asked == 0 {
				t.Errorf("%d of %d chunks came", got, len(g.asked))
			}
		})
	}
}

// TestHintsAreFollowedRarely: whoever says all the time that there are more ways makes the source look, but not all the time.
func TestHintsAreFollowedRarely(t *testing.T) {
	r := newRig(t, Config{})
	r.fw.FaceUp(0, 1, machine.Face{Local: true})
	r.fw.FaceUp(0, 2, machine.Face{MTU: 1400})
	r.fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 2, Hops: 2})
	start := r.fw.flows.epoch
	for n := range uint64(600) { // a minute
		r.interest(1, chunkOf("s", n), "t")
		r.drain()
		for _, s := range append([]sent(nil), r.sent[2]...) {
			if wire.SplitFlow(s.name).Kind == wire.Discovery {
				r.data(2, s.name, 0, nil)
			} else {
				r.nack(2, s.name, nackMoreWays)
			}
		}
		r.drain()
		for _, s := range append([]sent(nil), r.sent[2]...) {
			r.data(2, s.name, 8000, nil)
		}
		r.now += 100 * machine.Millisecond
		r.fw.Advance(r.now)
		r.check()
	}
	if got := r.fw.flows.epoch - start; got < 3 || got > 10 {
		t.Errorf("%d epochs in a minute", got)
	}
	if f, _ := r.fw.Flow(wire.MustParseName("/site/s")); !f.Epochs[0].Faces[0].Valid {
		t.Error("the face that hints is ruled out")
	}
}
