package fetch

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// state of a transfer.
type state uint8

const (
	resolving state = iota // asks for metadata
	listing                // fetches the top of the manifest
	offered                // Resolved was emitted; waits for Accept
	active                 // fetches chunks
	checking               // asks for metadata again: the producer said that the version is gone
	ended
)

const (
	// maxBad bounds how often one chunk or manifest segment may come with a wrong hash.
	maxBad = 16
	// maxRechecks bounds how often "gone" may turn out to be wrong.
	maxRechecks = 3
	// questionMin and questionMax bound the wait between two metadata Interests: a producer may have to hash first.
	questionMin = 250 * machine.Millisecond
	questionMax = 2 * machine.Second
	// maxRefusals is how many Nacks with "no route" in a row mean that there is none.
	maxRefusals = 4
)

// held is a chunk that came before the part of the manifest that it is checked against.
type held struct {
	index int64
	data  []byte
	claim bool
}

// transfer is one object being fetched.
type transfer struct {
	id       ID
	name     wire.Name
	ahead    int64
	stall    machine.Time // without progress for this long it fails
	state    state
	flow     *flow
	version  uint64
	digest   wire.Digest
	dest     wire.Name
	prefix   wire.Name // of chunk names, up to the version
	manifest wire.Name // of manifest segment names, up to the version
	layout   wire.Layout
	tree     *wire.ManifestReader

	question *pending // metadata Interest on its way
	askAt    machine.Time
	asks     int
	refusals int
	rechecks int
	heard    machine.Time // last sign of progress

	topNext int64 // next top segment to ask for
	cursor  int64 // next chunk to ask for
	lowest  int64 // every chunk below is settled
	settled int64
	done    []uint64 // bit per chunk: settled
	leaf    []uint8  // per leaf: 0 unknown, 1 asked for, 2 here
	left    []uint8  // per leaf: chunks not settled
	claimed func(chunk int64) bool
	again   []item // to be fetched again
	holding []held
	out     int // chunks handed out or held, not settled
	bad     map[item]int
	stats   Stats
}

// item is something that a flow fetches for a transfer.
type item struct {
	kind  kind
	index int64
}

func (t *transfer) isDone(i int64) bool { return t.done[i/64]&(1<<(i%64)) != 0 }

// accept starts the transfer of chunks.
func (t *transfer) accept(claimed func(int64) bool) {
	n := t.layout.Chunks()
	t.state, t.claimed = active, claimed
	t.done = make([]uint64, (n+63)/64)
	t.leaf = make([]uint8, t.layout.Leaves())
	t.left = make([]uint8, t.layout.Leaves())
	for i := range t.left {
		t.left[i] = uint8(min(n-int64(i)*wire.DigestsPerLeaf, wire.DigestsPerLeaf))
	}
}

// next returns what to ask for next, if anything; take says whether to count it as asked for.
func (t *transfer) next(take bool) (item, bool) {
	if n := len(t.again); n > 0 && t.state != checking {
		it := t.again[n-1]
		if take {
			t.again = t.again[:n-1]
		}
		return it, true
	}
	switch t.state {
	case listing:
		if t.topNext < t.layout.TopSegments() {
			it := item{segment, t.topNext}
			if take {
				t.topNext++
			}
			return it, true
		}
	case active:
		return t.nextChunk(take)
	}
	return item{}, false
}

func (t *transfer) nextChunk(take bool) (item, bool) {
	n := t.layout.Chunks()
	if t.cursor >= n || (t.ahead > 0 && t.cursor >= t.lowest+t.ahead) {
		return item{}, false
	}
	leaf := t.layout.LeafOf(t.cursor)
	if t.leaf[leaf] == 0 {
		if take {
			t.leaf[leaf] = 1
		}
		return item{segment, t.layout.TopSegments() + leaf}, true
	}
	it := item{chunk, t.cursor}
	if take {
		t.cursor++
	}
	return it, true
}

// skipClaimed moves the cursor over chunks that the application has claimed, handing them out to be checked.
func (e *Engine) skipClaimed(t *transfer) {
	if t.state != active || t.claimed == nil {
		return
	}
	for t.cursor < t.layout.Chunks() && t.out < e.cfg.MaxUnsettled && t.claimed(t.cursor) {
		if t.ahead > 0 && t.cursor >= t.lowest+t.ahead {
			return
		}
		leaf := t.layout.LeafOf(t.cursor)
		if t.leaf[leaf] == 0 {
			t.leaf[leaf] = 1
			t.again = append(t.again, item{segment, t.layout.TopSegments() + leaf})
		}
		e.offer(t, held{index: t.cursor, claim: true}, true)
		t.cursor++
	}
}

// offer hands a chunk to the application, or holds it until its digest is known.
func (e *Engine) offer(t *transfer, h held, fresh bool) {
	if fresh {
		t.out++
	}
	want, ok := t.tree.ChunkDigest(h.index)
	if !ok {
		t.holding = append(t.holding, h)
		return
	}
	e.events = append(e.events, Event{ID: t.id, Kind: Chunk, Chunk: h.index, Want: want, Data: h.data})
}

// onSegment takes a manifest segment.
func (e *Engine) onSegment(now machine.Time, t *transfer, index int64, content []byte) {
	top := t.layout.TopSegments()
	if t.state == ended || (index < top && t.tree.TopComplete()) || (index >= top && (t.leaf == nil || t.leaf[index-top] != 1)) {
		return
	}
	if err := t.tree.Add(index, content); err != nil {
		if index < top { // pieces can't be told apart: all of them are fetched again
			t.topNext = 0
			t.again = t.again[:0]
			e.bad(now, t, item{segment, -1}, false)
			return
		}
		e.bad(now, t, item{segment, index}, true)
		return
	}
	if index >= top {
		t.leaf[index-top] = 2
		waiting := t.holding
		t.holding = nil
		for _, h := range waiting {
			e.offer(t, h, false)
		}
		return
	}
	if t.tree.TopComplete() && t.state == listing {
		t.state = offered
		e.events = append(e.events, Event{ID: t.id, Kind: Resolved, Object: Object{
			Name: t.name, Version: t.version, Digest: t.digest, Layout: t.layout,
		}})
	}
}

// bad counts a wrong hash and, if again, has the item fetched once more.
func (e *Engine) bad(now machine.Time, t *transfer, it item, again bool) {
	if t.bad == nil {
		t.bad = make(map[item]int)
	}
	t.stats.Corrupt++
	t.bad[it]++
	if t.bad[it] > maxBad {
		e.fail(now, t, ErrIntegrity)
		return
	}
	if again {
		t.again = append(t.again, it)
	}
}

// settle records the fate of a chunk that was handed out.
func (e *Engine) settle(now machine.Time, t *transfer, index int64, ok, fromDisk bool) {
	if t.state == ended || index < 0 || index >= t.layout.Chunks() || t.isDone(index) {
		return
	}
	t.out--
	if !ok {
		if fromDisk {
			t.again = append(t.again, item{chunk, index})
			return
		}
		e.bad(now, t, item{chunk, index}, true)
		return
	}
	t.done[index/64] |= 1 << (index % 64)
	t.settled++
	t.heard = now
	size := int64(t.layout.ChunkLen(index))
	t.stats.Bytes += size
	if fromDisk {
		t.stats.Resumed += size
	}
	leaf := t.layout.LeafOf(index)
	if t.left[leaf]--; t.left[leaf] == 0 {
		t.tree.DropLeaf(leaf)
	}
	for t.lowest < t.layout.Chunks() && t.isDone(t.lowest) {
		t.lowest++
	}
	if t.settled == t.layout.Chunks() {
		e.end(t)
		e.events = append(e.events, Event{ID: t.id, Kind: Done})
	}
}
