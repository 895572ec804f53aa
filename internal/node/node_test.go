package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"mars/internal/fetch"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/publish"
	"mars/internal/wire"
)

// world is a handful of nodes joined by perfect or lossy links with a fixed delay: enough to test that the parts fit.
type world struct {
	t     *testing.T
	now   machine.Time
	nodes []*Node
	peers map[end]end
	queue []flight // sorted by due
	delay machine.Time
	slow  map[end]machine.Time // delays of links that have another one, by the end that sends
	loss  float64
	rng   *rand.Rand
	alter func(from end, datagram []byte) []byte // what a relay makes of what it sends; nil: as it is
}

type end struct {
	node int
	face machine.FaceID
}

type flight struct {
	due  machine.Time
	to   end
	data []byte
}

func newWorld(t *testing.T) *world {
	return &world{t: t, peers: map[end]end{}, delay: 5 * machine.Millisecond, slow: map[end]machine.Time{}, rng: rand.New(rand.NewPCG(1, 2))}
}

func (w *world) add(relay bool) int {
	w.nodes = append(w.nodes, New(forward.Config{Seed: uint64(len(w.nodes)) + 1, Relay: relay}))
	return len(w.nodes) - 1
}

func (w *world) join(a, b int, face machine.FaceID, rate float64) {
	ea, eb := end{a, face*100 + machine.FaceID(b)}, end{b, face*100 + machine.FaceID(a)}
	w.peers[ea], w.peers[eb] = eb, ea
	w.nodes[a].FaceUp(w.now, ea.face, machine.Face{MTU: 1400})
	w.nodes[b].FaceUp(w.now, eb.face, machine.Face{MTU: 1400, Rate: rate})
}

func (w *world) drain() {
	var buf [9000]byte
	var ready []machine.FaceID
	for i, n := range w.nodes {
		for _, f := range n.Ready(ready[:0]) {
			for {
				size, _ := n.Transmit(w.now, f, buf[:])
				if size <= 0 {
					break
				}
				if w.rng.Float64() < w.loss {
					continue
				}
				due := w.now + w.delay
				if d, ok := w.slow[end{i, f}]; ok {
					due = w.now + d
				}
				sent := bytes.Clone(buf[:size])
				if w.alter != nil {
					sent = w.alter(end{i, f}, sent)
				}
				at := len(w.queue)
				for at > 0 && w.queue[at-1].due > due {
					at--
				}
				w.queue = slices.Insert(w.queue, at, flight{due, w.peers[end{i, f}], sent})
			}
		}
	}
}

func (w *world) step() bool {
	w.drain()
	next := machine.Never
	if len(w.queue) > 0 {
		next = w.queue[0].due
	}
	for _, n := range w.nodes {
		next = min(next, n.Deadline())
	}
	if next == machine.Never {
		return false
	}
	w.now = max(next, w.now)
	for len(w.queue) > 0 && w.queue[0].due <= w.now {
		p := w.queue[0]
		w.queue = w.queue[1:]
		w.nodes[p.to.node].Receive(w.now, p.to.face, 0, p.data)
	}
	for _, n := range w.nodes {
		n.Advance(w.now)
	}
	return true
}

// serve answers a producer engine's requests for one object.
func serve(e *publish.Engine, n *Node, o *publish.Object, content []byte) func(now machine.Time) {
	return func(now machine.Time) {
		for _, r := range e.Requests(nil) {
			switch r.Kind {
			case publish.Resolve:
				if r.Name.Equal(o.Name) {
					e.Resolved(now, r.ID, o, nil)
				} else {
					e.Resolved(now, r.ID, nil, publish.ErrNotFound)
				}
			case publish.Read:
				from := r.Chunk * int64(o.Manifest.ChunkSize)
				e.Read(now, r.ID, content[from:from+int64(o.Manifest.ChunkLen(r.Chunk))], nil)
			}
		}
		n.Touch(now)
	}
}

// take settles a consumer engine's events into out; it returns true when the transfer ended.
func take(t *testing.T, e *fetch.Engine, n *Node, out *[]byte) func(now machine.Time) (bool, error) {
	return func(now machine.Time) (bool, error) {
		for evs := e.Events(nil); len(evs) > 0; evs = append(evs[1:], e.Events(nil)...) {
			switch ev := evs[0]; ev.Kind {
			case fetch.Resolved:
				*out = make([]byte, ev.Object.Layout.Size)
				e.Accept(now, ev.ID, nil)
			case fetch.Chunk:
				ok := sha256.Sum256(ev.Data) == ev.Want
				if ok {
					copy((*out)[ev.Chunk*wire.ChunkSize:], ev.Data)
				}
				e.Settle(now, ev.ID, ev.Chunk, ev.Data, ok)
			case fetch.Done:
				return true, nil
			case fetch.Failed:
				return true, ev.Err
			}
		}
		n.Touch(now)
		return false, nil
	}
}

func testTransfer(t *testing.T, size int, loss float64, relays int) {
	w := newWorld(t)
	w.loss = loss
	consumer, producer := w.add(false), w.add(false)
	prefix := wire.MustParseName("/site")
	for r := range relays {
		relay := w.add(true)
		w.join(consumer, relay, 1, 5e6*float64(r+1))
		w.join(relay, producer, 2, 0)
		w.nodes[consumer].AddRoute(0, nil, forward.NextHop{Face: 100 + machine.FaceID(relay), Hops: 2})
		w.nodes[relay].AddRoute(0, prefix, forward.NextHop{Face: 200 + machine.FaceID(producer), Hops: 1})
	}
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(content)
	b := wire.NewManifestBuilder(wire.ChunkSize)
	b.Write(content)
	o := &publish.Object{Name: wire.MustParseName("/site/a/b"), Dest: prefix, Manifest: b.Finish()}
	pub := publish.New(publish.Config{Prefix: prefix})
	w.nodes[producer].Attach(0, pub, prefix)
	src := binary.BigEndian.AppendUint64(nil, 7)
	con := fetch.New(fetch.Config{Src: src, Seed: 3})
	w.nodes[consumer].Attach(0, con)
	con.Start(0, fetch.Request{Name: o.Name})
	w.nodes[consumer].Touch(0)
	var got []byte
	answer, settle := serve(pub, w.nodes[producer], o, content), take(t, con, w.nodes[consumer], &got)
	for i := 0; ; i++ {
		if i > 5_000_000 || !w.step() {
			t.Fatalf("stuck at %v", w.now)
		}
		answer(w.now)
		if done, err := settle(w.now); err != nil {
			t.Fatal(err)
		} else if done {
			break
		}
	}
	if !bytes.Equal(got, content) {
		t.Fatal("content differs")
	}
	t.Logf("%d bytes in %.3f s: %.1f Mbit/s", size, w.now.Seconds(), float64(size)*8/w.now.Seconds()/1e6)
	for _, f := range w.nodes[consumer].Forwarder().Stats(nil) {
		t.Logf("face %d: %d Data, content %d, R %.0f, B̂ %.0f, srtt %.1f ms", f.ID, f.DataIn, f.ContentIn, f.Rate, f.Estimate, f.SRTT.Seconds()*1e3)
	}
	for i, n := range w.nodes {
		for _, r := range forward.DropReasons() {
			if d := n.Forwarder().Dropped(r); d > 0 {
				t.Logf("node %d dropped %d: %v", i, d, r)
			}
		}
	}
}

func TestTransfer(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		loss   float64
		relays int
	}{
		{"empty", 0, 0, 1},
		{"one byte", 1, 0, 1},
		{"one path", 3_000_000, 0, 1},
		{"three paths", 20_000_000, 0, 3},
		{"three paths, 1% loss", 20_000_000, 0.01, 3},
	} {
		t.Run(c.name, func(t *testing.T) { testTransfer(t, c.size, c.loss, c.relays) })
	}
}
