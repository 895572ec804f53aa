package fetch

import (
	"fmt"

	"mars/internal/machine"
	"mars/internal/planted"
)

// maxBad bounds how often one chunk or manifest segment may come with a wrong hash.
const maxBad = 16

// arrival is a chunk that is here, or (data nil) that the application claims to have.
type arrival struct {
	index int64
	data  []byte
}

// arrive takes a chunk: it is handed out as soon as its digest is known and the application has room for it.
func (e *Engine) arrive(t *transfer, a arrival) {
	leaf := t.layout.LeafOf(a.index)
	if t.leafState[leaf] != here {
		t.held[leaf] = append(t.held[leaf], a)
		t.kept++
		return
	}
	if t.outCount >= e.cfg.MaxUnsettled {
		t.backlog.push(a)
		t.kept++
		return
	}
	e.hand(t, a)
}

func (e *Engine) hand(t *transfer, a arrival) {
	want, ok := t.tree.ChunkDigest(a.index)
	if !ok || t.out.has(a.index) || t.done.has(a.index) {
		panic(fmt.Sprintf("fetch: chunk %d handed out twice, or without its digest", a.index))
	}
	t.out.set(a.index)
	t.outCount++
	if a.data == nil {
		if t.onDisk == nil {
			t.onDisk = make(map[int64]struct{})
		}
		t.onDisk[a.index] = struct{}{}
	}
	e.events = append(e.events, Event{ID: t.id, Kind: Chunk, Chunk: a.index, Want: want, Data: a.data})
	if planted.Is(planted.DoubleChunk) && a.index%16 == 5 {
		e.events = append(e.events, e.events[len(e.events)-1])
	}
}

// settle records the fate of a chunk that was handed out.
func (e *Engine) settle(now machine.Time, t *transfer, index int64, ok bool) {
	if t.state == ended {
		return
	}
	if index < 0 || index >= t.layout.Chunks() || t.out == nil || !t.out.has(index) {
		panic(fmt.Sprintf("fetch: Settle of chunk %d, which is not handed out", index))
	}
	t.out.clear(index)
	t.outCount--
	t.heard = now
	_, onDisk := t.onDisk[index]
	delete(t.onDisk, index)
	switch {
	case ok:
		e.finish(t, index, onDisk)
	case onDisk:
		t.againChunks = append(t.againChunks, index)
	case e.bad(t, item{chunk, index}):
		t.againChunks = append(t.againChunks, index)
	}
	if t.state == ended {
		return
	}
	for t.backlog.len() > 0 && t.outCount < e.cfg.MaxUnsettled {
		t.kept--
		e.hand(t, t.backlog.pop())
	}
	e.proceed(t)
}

// finish counts a chunk that is verified and stored.
func (e *Engine) finish(t *transfer, index int64, onDisk bool) {
	t.done.set(index)
	t.settled++
	t.rechecks = 0
	delete(t.bad, item{chunk, index})
	size := int64(t.layout.ChunkLen(index))
	t.stats.Bytes += size
	if onDisk {
		t.stats.Resumed += size
	}
	leaf := t.layout.LeafOf(index)
	if t.leafUnsettled[leaf]--; t.leafUnsettled[leaf] == 0 {
		t.tree.DropLeaf(leaf)
	}
	for t.lowest < t.end && t.done.has(t.lowest) {
		t.lowest++
	}
	if t.settled == t.end-t.first {
		e.end(t)
		e.events = append(e.events, Event{ID: t.id, Kind: Done})
	}
}

// bad counts a wrong hash. After too many the transfer ends, and it returns false.
func (e *Engine) bad(t *transfer, it item) bool {
	if t.bad == nil {
		t.bad = make(map[item]int)
	}
	t.stats.Corrupt++
	t.bad[it]++
	if t.bad[it] > maxBad {
		e.fail(t, ErrIntegrity)
		return false
	}
	return true
}

// proceed hands out the claimed chunks from the cursor on, as far as there is room, and lets the flow ask for what comes
// then. It is called whenever the cursor or the room changes, so next never meets a claimed chunk that it may ask for.
func (e *Engine) proceed(t *transfer) {
	for t.claimed != nil && t.state == active && t.outCount+t.kept < e.cfg.MaxUnsettled && t.within(t.cursor) &&
		t.leafState[t.layout.LeafOf(t.cursor)] != unknown && t.claimed(t.cursor) {
		e.arrive(t, arrival{index: t.cursor})
		t.cursor++
	}
	e.rouse(t)
}

// rouse has t's flow look whether t has something to ask for.
func (e *Engine) rouse(t *transfer) {
	f := t.flow
	if f == nil {
		return
	}
	if t.hungryIn != f {
		t.hungryIn = f
		f.hungry.push(t)
	}
	e.flows.stir(e.now, f)
}
