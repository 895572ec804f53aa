package fetch

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// state of a transfer.
//
//	            metadata           top list, checked       Accept            every chunk settled
//	resolving ───────────► listing ─────────────────► offered ─────► active ────────────────────► ended
//	    ▲                     │                                       │  ▲
//	    └─────────────────────┘                        "version gone" ▼  │ metadata: the same version
//	        "version gone"                                         checking
//
// From every state an error, a stall or Cancel leads to ended.
type state uint8

const (
	resolving state = iota // asks for metadata
	listing                // fetches the top of the manifest
	offered                // Resolved was emitted; waits for Accept
	active                 // fetches chunks
	checking               // asks for metadata again: the producer said that the version is gone
	ended
)

// transfer is one object being fetched.
type transfer struct {
	id       ID
	name     wire.Name
	ahead    int64 // Request.MaxAhead
	manifest bool  // Request.Manifest
	trust    Trust
	stall    machine.Time // without progress for this long it fails
	state    state
	stats    Stats
	heard    machine.Time // last sign of progress
	alarm    machine.Time // when Advance looks at it
	heap     int

	// The question which version is current.
	question *pending // on its way
	askAt    machine.Time
	asked    int          // times in a row
	inLine   bool         // waits to ask
	open     bool         // counts in questions.open
	refusals int          // Nacks in a row
	busy     int          // answers "busy" in a row
	busyFrom machine.Time // time of the first of them
	rechecks int          // "gone" that proved wrong, since the last progress
	suspects bool         // the last answer wasn't believed
	doubts   int          // such answers, signed or whole but by whom nobody trusts, since one was believed
	why      error        // of the last one
	accused  []item       // for which "gone" was said, until the answer comes

	// The version.
	version  uint64
	digest   wire.Digest
	mtime    int64
	author   wire.Author
	layout   wire.Layout
	chunks   wire.Name // of chunks, up to the version
	segments wire.Name // of manifest segments, up to the version
	tree     *wire.ManifestReader

	// What is asked for.
	flow          *flow
	hungryIn      *flow // the flow whose hungry ring it is in
	pending       int   // Interests on their way or lost
	topNext       int64 // next top segment
	first, end    int64 // the chunks from first up to end are wanted
	cursor        int64 // next chunk
	claimed       func(chunk int64) bool
	againLeaves   []int64 // manifest segments and chunks to be fetched again
	againChunks   []int64
	bad           map[item]int // how often each came wrong
	leafState     []leafState
	leafUnsettled []uint8 // per leaf: chunks not settled

	// What came.
	held     map[int64][]arrival // by the leaf that they wait for
	backlog  ring[arrival]       // may be handed out when there is room
	kept     int                 // chunks in both
	out      bitmap              // handed out, not settled
	outCount int
	onDisk   map[int64]struct{} // of these, the claimed ones
	done     bitmap             // settled
	settled  int64
	lowest   int64 // every chunk from first up to it is settled
}

func (t *transfer) due() (machine.Time, uint64) { return t.alarm, uint64(t.id) }
func (t *transfer) place() *int                 { return &t.heap }

type leafState uint8

const (
	unknown leafState = iota
	wanted            // asked for
	here
)

type bitmap []uint64

func newBitmap(n int64) bitmap    { return make(bitmap, (n+63)/64) }
func (b bitmap) has(i int64) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitmap) set(i int64)      { b[i/64] |= 1 << (i % 64) }
func (b bitmap) clear(i int64)    { b[i/64] &^= 1 << (i % 64) }

// accept starts the transfer of the chunks from first up to end. What it allocates, 64 bytes per leaf, is no more than twice
// the top list that came and was checked.
func (t *transfer) accept(first, end int64, claimed func(int64) bool) {
	n, leaves := t.layout.Chunks(), t.layout.Leaves()
	t.state, t.claimed = active, claimed
	t.first, t.end, t.cursor, t.lowest = first, end, first, first
	t.done, t.out = newBitmap(n), newBitmap(n)
	t.leafState, t.leafUnsettled = make([]leafState, leaves), make([]uint8, leaves)
	for i := range t.leafUnsettled {
		t.leafUnsettled[i] = uint8(t.chunksWithin(int64(i)))
	}
	t.held = make(map[int64][]arrival)
	if _, ok := t.tree.ChunkDigest(0); ok { // it came with the metadata
		t.leafState[0] = here
	}
}

// waitsForApplication tells whether progress is the application's to make.
func (t *transfer) waitsForApplication() bool { return t.state == offered || t.outCount > 0 }

func (t *transfer) stalled(now machine.Time) bool {
	return now-t.heard >= t.stall && !t.waitsForApplication()
}

// next is what to ask for next; false: nothing now. room is how many chunks may be on this side of the application.
func (t *transfer) next(room int) (item, bool) {
	switch {
	case t.state == listing && len(t.againLeaves) == 0 && t.topNext < t.layout.TopSegments():
		return item{segment, t.topNext}, true
	case t.state != listing && t.state != active:
		return item{}, false
	case len(t.againLeaves) > 0: // chunks here may wait for it, so it needs no room
		return item{segment, t.againLeaves[len(t.againLeaves)-1]}, true
	case t.state == listing || t.outCount+t.kept >= room:
		return item{}, false
	case len(t.againChunks) > 0:
		return item{chunk, t.againChunks[len(t.againChunks)-1]}, true
	case !t.within(t.cursor):
		return item{}, false
	}
	if leaf := t.layout.LeafOf(t.cursor); t.leafState[leaf] == unknown {
		return item{segment, t.layout.TopSegments() + leaf}, true
	}
	return item{chunk, t.cursor}, true // not a claimed one: proceed goes on past those
}

// within tells whether there is a chunk i, and whether it may be asked for yet.
func (t *transfer) within(i int64) bool {
	return i < t.end && (t.ahead == 0 || i < t.lowest+t.ahead)
}

// take marks what next returned as asked for.
func (t *transfer) take(it item) {
	leaves, chunks := len(t.againLeaves), len(t.againChunks)
	switch {
	case it.kind == segment && leaves > 0:
		t.againLeaves = t.againLeaves[:leaves-1]
	case it.kind == segment && t.state == listing:
		t.topNext++
	case it.kind == segment:
		t.leafState[it.index-t.layout.TopSegments()] = wanted
	case chunks > 0:
		t.againChunks = t.againChunks[:chunks-1]
	default:
		t.cursor++
	}
}

// name appends the name of what p asks for.
func (p *pending) appendName(dst wire.Name) wire.Name {
	prefix := p.t.chunks
	if p.kind == segment {
		prefix = p.t.segments
	}
	return append(dst, prefix...).AppendNumber(wire.TypeSegment, uint64(p.index))
}

// size is how many bytes of Data p brings.
func (p *pending) size() int {
	if p.kind == segment {
		return p.t.layout.SegmentLen(p.index)
	}
	return p.t.layout.ChunkLen(p.index)
}
