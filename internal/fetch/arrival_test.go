package fetch

import (
	"errors"
	"slices"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestHandOutIsBounded: never more than MaxUnsettled chunks are with the application, whatever is in flight, and a slow
// application slows the asking down.
func TestHandOutIsBounded(t *testing.T) {
	o := newObject("/s/a", 4_000_000, 0, 1)
	w := newWorld(t, Config{MaxUnsettled: 20}, o)
	w.settle = 40 * ms
	id := w.start(o, Request{})
	kept := 0
	for !w.apps[id].over {
		w.step()
		if tr := w.e.transfers[id]; tr != nil {
			kept = max(kept, tr.kept)
		}
	}
	w.succeed()
	if a := w.apps[id]; a.most != 20 {
		t.Errorf("%d chunks were out at once, want 20", a.most)
	}
	if kept > initialWindow {
		t.Errorf("%d chunks were kept back", kept)
	}
}

// TestMaxAhead: in-order applications need to hold no more than MaxAhead chunks.
func TestMaxAhead(t *testing.T) {
	o := newObject("/s/a", 2_000_000, 0, 1)
	for _, ahead := range []int64{1, 2, 10} {
		w := newWorld(t, Config{}, o)
		w.lose, w.jitter, w.settle = 0.05, 30*ms, 3*ms
		id := w.start(o, Request{MaxAhead: ahead})
		w.succeed()
		lowest, have := int64(0), map[int64]bool{}
		for _, i := range w.apps[id].order {
			if i >= lowest+ahead {
				t.Fatalf("chunk %d came while %d was the lowest missing", i, lowest)
			}
			for have[i] = true; have[lowest]; lowest++ {
			}
		}
	}
}

// TestClaimedChunks: what the application has is checked there, what is wrong is fetched, and nothing else.
func TestClaimedChunks(t *testing.T) {
	o := newObject("/s/a", 600*80, 80, 1)
	for _, c := range []struct {
		say     string
		claimed func(int64) bool
		right   func(int64) bool
		fetched int
	}{
		{"nothing", nil, nil, 600},
		{"everything", func(int64) bool { return true }, nil, 0},
		{"everything, and all is wrong", func(int64) bool { return true }, func(int64) bool { return false }, 600},
		{"the first half", func(i int64) bool { return i < 300 }, nil, 300},
		{"the second half", func(i int64) bool { return i >= 300 }, nil, 300},
		{"every other one", func(i int64) bool { return i%2 == 1 }, nil, 300},
		{"every other one, of which some are wrong", func(i int64) bool { return i%2 == 0 }, func(i int64) bool { return i%4 == 0 }, 450},
	} {
		for _, room := range []int{1, 50, 1024} {
			w := newWorld(t, Config{MaxUnsettled: room}, o)
			w.settle = ms
			id := w.start(o, Request{})
			w.apps[id].claimed, w.apps[id].right = c.claimed, c.right
			w.succeed()
			if got := len(w.sent) - 1 - 1 - 3; got != c.fetched {
				t.Errorf("%s, room for %d: %d chunks fetched, want %d", c.say, room, got, c.fetched)
			}
			if s := w.e.Stats(id); s.Resumed != int64(600-c.fetched)*80 || s.Corrupt != 0 {
				t.Errorf("%s: %+v", c.say, s)
			}
		}
	}
}

// TestWrongChunks: what comes with a wrong hash is fetched again, but not for ever.
func TestWrongChunks(t *testing.T) {
	o := newObject("/s/a", 80_000, 0, 1)
	for _, bound := range []struct {
		label string
		times int
		ok    bool
	}{
		{"a/3", maxBad, true},
		{"a/3", maxBad + 1, false},
		{"a/leaf0", maxBad, true},
		{"a/leaf0", maxBad + 1, false},
		{"a/top0", maxBad, true},
		{"a/top0", maxBad + 1, false},
	} {
		w := newWorld(t, Config{}, o)
		id := w.start(o, Request{})
		for !w.apps[id].over {
			for i := range w.queue { // the answers on their way
				f := &w.queue[i]
				if f.data != nil && !f.spoilt && w.sent[bound.label] <= bound.times && w.labelOf(f.data) == bound.label {
					f.data, f.spoilt = corrupt(f.data), true
				}
			}
			w.step()
		}
		if a := w.apps[id]; bound.ok != (a.err == nil) || !bound.ok && !errors.Is(a.err, ErrIntegrity) {
			t.Errorf("%s wrong %d times: %v", bound.label, bound.times, a.err)
		}
		w.clean()
	}
}

// labelOf is the label of what a Data packet answers.
func (w *world) labelOf(datagram []byte) string {
	var p wire.Packet
	var d wire.Data
	if p.Decode(datagram) != nil || d.Decode(p.Fragment) != nil {
		w.t.Fatalf("no Data")
	}
	i := wire.Interest{Name: d.Name, Nonce: 1, HasNonce: true}
	if wire.SplitFlow(d.Name).Kind != wire.Transmission {
		return "meta"
	}
	h := wire.Packet{PitToken: p.PitToken, Fragment: i.Append(nil)}
	return w.p.label(parse(h.Append(nil)))
}

// TestWrongLength: a chunk of another length than the layout says isn't handed out.
func TestWrongLength(t *testing.T) {
	o := newObject("/s/a", 8000, 0, 1)
	for _, content := range [][]byte{nil, {}, o.content[:7999], append(clone(o.content), 0)} {
		w := newWorld(t, Config{}, o)
		id := w.start(o, Request{})
		wrong := false
		for !w.apps[id].over {
			for i := range w.queue {
				if f := &w.queue[i]; f.data != nil && !wrong && w.labelOf(f.data) == "a/0" {
					wrong = true
					var p wire.Packet
					var d wire.Data
					if p.Decode(f.data) != nil || d.Decode(p.Fragment) != nil {
						t.Fatal("no Data")
					}
					d.Content = content
					p.Fragment = d.Append(nil)
					f.data = p.Append(nil)
				}
			}
			w.step()
		}
		w.succeed()
		if s := w.e.Stats(id); s.Corrupt != 1 || w.sent["a/0"] != 2 || w.apps[id].handed != 1 {
			t.Errorf("%d bytes: %+v", len(content), s)
		}
	}
}

// TestSettlePanics: an application that settles what it hasn't got is broken.
func TestSettlePanics(t *testing.T) {
	o := newObject("/s/a", 80_000, 0, 1)
	for _, c := range []struct {
		say   string
		at    machine.Time
		chunk int64
	}{
		{"before it is accepted", 30 * ms, 0},
		{"never handed out", 62 * ms, 9},
		{"settled already", 62 * ms, 0},
		{"no such chunk", 62 * ms, 10},
		{"negative", 62 * ms, -1},
	} {
		t.Run(c.say, func(t *testing.T) {
			w := newWorld(t, Config{}, o)
			id := w.start(o, Request{})
			w.until(c.at)
			if c.at > 60*ms && (!slices.Contains(w.apps[id].order, 0) || slices.Contains(w.apps[id].order, 9)) {
				t.Fatal("it is another time than the test thinks")
			}
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			w.e.Settle(w.now, id, c.chunk, nil, true)
		})
	}
}

// TestSettleAfterTheEnd: what a transfer that is over still had handed out may be settled.
func TestSettleAfterTheEnd(t *testing.T) {
	e := New(Config{Src: source})
	id := e.Start(0, Request{Name: wire.MustParseName("/s/a")})
	e.Cancel(0, id)
	e.Settle(0, id, 5, make([]byte, 8000), true)
	if len(e.spare) != 1 {
		t.Error("the buffer is lost")
	}
}

// TestBuffersAreReused, and not kept without end.
func TestBuffersAreReused(t *testing.T) {
	e := New(Config{Src: source})
	for range 2 * maxSpare {
		e.Settle(0, 1, 0, make([]byte, 8000), true)
	}
	if len(e.spare) != maxSpare {
		t.Errorf("%d buffers are kept", len(e.spare))
	}
	e.Settle(0, 1, 0, make([]byte, 10), true)
	if b := e.buffer(); cap(b) < wire.ChunkSize || len(e.spare) != maxSpare-1 {
		t.Errorf("a buffer of %d, %d left", cap(b), len(e.spare))
	}
}

// TestWaitingForALeaf: chunks that nothing can be checked against yet are no more than the application would get.
func TestWaitingForALeaf(t *testing.T) {
	o := newObject("/s/a", 4_000_000, 0, 1)
	for _, claimed := range []func(int64) bool{nil, func(int64) bool { return true }} {
		w := newWorld(t, Config{MaxUnsettled: 20}, o)
		id := w.start(o, Request{})
		w.apps[id].claimed = claimed
		for w.now < 5*sec {
			w.queue = slices.DeleteFunc(w.queue, func(f flight) bool { return f.data != nil && w.labelOf(f.data) == "a/leaf0" })
			w.step()
		}
		// What was on its way when the limit was reached comes too.
		if tr := w.e.transfers[id]; tr.kept < 20 || tr.kept > 60 || claimed != nil && tr.kept != 20 {
			t.Errorf("%d chunks wait", tr.kept)
		}
		w.succeed()
	}
}

// TestForgetting: what is over is not remembered while the transfer goes on.
func TestForgetting(t *testing.T) {
	o := newObject("/s/a", 600*8000, 0, 1)
	w := newWorld(t, Config{}, o)
	w.corrupt = 0.2
	id := w.start(o, Request{})
	for w.apps[id].left != 1 {
		w.step()
	}
	tr := w.e.transfers[id]
	if len(tr.bad) > 1 || len(tr.held) != 0 || len(tr.onDisk) != 0 {
		t.Errorf("%d wrong ones, %d leaves waited for, %d on disk", len(tr.bad), len(tr.held), len(tr.onDisk))
	}
	leaves := 0
	for _, i := range []int64{0, 250, 500} {
		if _, ok := tr.tree.ChunkDigest(i); ok {
			leaves++
		}
	}
	if leaves != 1 {
		t.Errorf("%d leaves are held for one chunk", leaves)
	}
	w.succeed()
}

// TestBacklogIsRecycled when its transfer ends.
func TestBacklogIsRecycled(t *testing.T) {
	o := newObject("/s/a", 80_000, 0, 1)
	w := newWorld(t, Config{MaxUnsettled: 2}, o)
	w.settle = sec
	id := w.start(o, Request{})
	w.until(200 * ms)
	kept := w.e.transfers[id].backlog.len()
	w.e.Cancel(w.now, id)
	if kept == 0 || len(w.e.spare) != kept {
		t.Errorf("%d buffers of %d", len(w.e.spare), kept)
	}
}
