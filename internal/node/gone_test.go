package node

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"mars/internal/fetch"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/route"
	"mars/internal/wire"
)

// replace gives the end at of a link a new on-demand face, as when a NAT between the nodes changes its mapping, and takes the
// old one away.
func (w *world) replace(at, with end) {
	far := w.peers[at]
	delete(w.peers, at)
	w.peers[with], w.peers[far] = far, with
	w.nodes[at.node].FaceUp(w.now, with.face, machine.Face{MTU: 1400, OnDemand: true})
	w.nodes[at.node].FaceDown(w.now, at.face)
	kept := w.queue[:0]
	for _, f := range w.queue { // what was on its way to the old address is lost
		if f.to != at {
			kept = append(kept, f)
		}
	}
	w.queue = kept
}

// TestOnDemandFacesLeaveNothing: a transfer from a relay whose face toward the consumer is replaced again and again, as by
// a NAT with a short memory, comes to its end, and the relay remembers the present faces only.
func TestOnDemandFacesLeaveNothing(t *testing.T) {
	testReplaced(t, end{2, 100}, "/back")
}

// TestUpstreamReplaced: the same toward the producer. What was queued for the old face must not wait for it.
func TestUpstreamReplaced(t *testing.T) {
	testReplaced(t, end{2, 201}, "/site")
}

// testReplaced replaces the relay's face at again and again; each new one is the way to prefix.
func testReplaced(t *testing.T, at end, route string) {
	const period = 3 * machine.Second
	w := newWorld(t)
	consumer, producer, relay := w.add(false), w.add(false), w.add(true)
	prefix := wire.MustParseName("/site")
	w.join(consumer, relay, 1, 1e6)
	w.join(relay, producer, 2, 1e6)
	w.nodes[consumer].AddRoute(0, nil, forward.NextHop{Face: 102, Hops: 2})
	w.nodes[relay].AddRoute(0, prefix, forward.NextHop{Face: 201, Hops: 1})

	content := make([]byte, 12_000_000)
	rand.NewChaCha8([32]byte{1}).Read(content)
	b := wire.NewManifestBuilder(wire.ChunkSize)
	b.Write(content)
	o := &publish.Object{Name: wire.MustParseName("/site/a/b"), Dest: prefix, Manifest: b.Finish()}
	pub := publish.New(publish.Config{Prefix: prefix})
	w.nodes[producer].Attach(0, pub, prefix)
	con := fetch.New(fetch.Config{Src: binary.BigEndian.AppendUint64(nil, 7), Seed: 3})
	w.nodes[consumer].Attach(0, con)
	con.Start(0, fetch.Request{Name: o.Name})
	w.nodes[consumer].Touch(0)

	var got []byte
	answer, settle := serve(pub, w.nodes[producer], o, content), take(t, con, w.nodes[consumer], &got)
	next, replaced := period, 0
	for done := false; !done; {
		if w.now > 200*machine.Second || !w.step() {
			t.Fatalf("stuck at %v after %d replacements", w.now, replaced)
		}
		if w.now >= next {
			with := end{relay, 1000 + machine.FaceID(replaced)}
			w.replace(at, with)
			w.nodes[relay].AddRoute(w.now, wire.MustParseName(route), forward.NextHop{Face: with.face, Hops: 1})
			at, next, replaced = with, next+period, replaced+1
		}
		answer(w.now)
		var err error
		if done, err = settle(w.now); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, content) {
		t.Error("content differs")
	}
	if replaced < 3 {
		t.Errorf("only %d faces were replaced", replaced)
	}
	known := map[machine.FaceID]bool{at.face: true, 100: true, 201: true} // 100 wasn't made by its peer, and may come back
	n := w.nodes[relay]
	for _, s := range n.Forwarder().Stats(nil) {
		if !known[s.ID] {
			t.Errorf("the relay remembers face %d", s.ID)
		}
	}
	for _, r := range n.Forwarder().Routes(nil) {
		for _, h := range r.Hops {
			if !known[h.Face] {
				t.Errorf("the relay has a route to %v by face %d, which is gone", r.Prefix, h.Face)
			}
		}
	}
	if len(n.onDemand) != 1 {
		t.Errorf("%d on-demand faces are known", len(n.onDemand))
	}
}

// TestControlWithoutRouting: a node without routing keeps none of the routing messages that come.
func TestControlWithoutRouting(t *testing.T) {
	silent, speaks := New(forward.Config{Seed: 1}), New(forward.Config{Seed: 2})
	speaks.EnableRouting(route.Config{ID: 2, Boot: 2, Seed: 2})
	for _, n := range []*Node{silent, speaks} {
		n.FaceUp(0, 1, machine.Face{MTU: 1400})
	}
	var buf [9000]byte
	came := uint64(0)
	for now := machine.Time(0); now < 10*machine.Second; now = speaks.Deadline() {
		speaks.Advance(now)
		for {
			size, _ := speaks.Transmit(now, 1, buf[:])
			if size <= 0 {
				break
			}
			silent.Receive(now, 1, 0, buf[:size])
			came++
		}
	}
	if got := silent.Forwarder().Dropped(forward.DropControl); came < 3 || got != came {
		t.Errorf("%d routing messages came, %d were dropped", came, got)
	}
}

// TestFetchingLeafIsUnknown: a leaf that only fetches is in nobody's map, not even by the name that it answers about itself by. With
// a prefix to announce it is, and without one no more.
func TestFetchingLeafIsUnknown(t *testing.T) {
	w := newWorld(t)
	for i := range 2 {
		relay := i == 1
		n := New(forward.Config{Seed: uint64(i + 1), ID: uint64(i + 1), Relay: relay})
		n.EnableRouting(route.Config{ID: uint64(i + 1), Boot: 1, Relay: relay, Seed: 1})
		w.nodes = append(w.nodes, n)
	}
	w.join(0, 1, 1, 0)
	leaf, relay := w.nodes[0], w.nodes[1]
	settle := func(d machine.Time) {
		for end := w.now + d; w.now < end && w.step(); {
		}
	}
	settle(2 * machine.Second)
	if m := relay.Topology(); len(m) != 1 {
		t.Errorf("the map is %+v", m)
	}
	if hops := leaf.Forwarder().Routes(nil); len(hops) != 3 { // itself, what neighbours ask, and the relay
		t.Errorf("the leaf's routes are %+v", hops)
	}
	leaf.Announce(w.now, wire.MustParseName("/site"))
	settle(2 * machine.Second)
	if m := relay.Topology(); len(m) != 2 || len(m[0].Prefixes) != 2 {
		t.Errorf("with a prefix the map is %+v", m)
	}
	leaf.Withdraw(w.now, wire.MustParseName("/site"))
	settle(70 * machine.Second)
	if m := relay.Topology(); len(m) != 1 {
		t.Errorf("without one the map is %+v", m)
	}
}
