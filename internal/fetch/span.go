package fetch

import (
	"cmp"

	"mars/internal/machine"
)

// Span says which chunks of a resolved object to fetch: those from First up to, not including, End.
type Span struct {
	First, End int64
	MaxAhead   int64        // as in Request
	Stall      machine.Time // as in Request
}

// StartSpan begins a transfer of a part of an object that was Resolved and not accepted: of stays as it is, for further spans,
// until it is cancelled. The new transfer ends with Done when every chunk of the span is settled, and holds nothing of
// the manifest but the leaves of its chunks. false: of is not such an object, or it has no such chunks.
func (e *Engine) StartSpan(now machine.Time, of ID, s Span) (ID, bool) {
	e.now = now
	o := e.transfers[of]
	if o == nil || o.state != offered || s.First < 0 || s.First >= s.End || s.End > o.layout.Chunks() {
		return 0, false
	}
	e.lastID++
	t := &transfer{
		id: e.lastID, name: o.name, ahead: s.MaxAhead, trust: o.trust, stall: cmp.Or(s.Stall, e.cfg.Stall), heard: now, askAt: machine.Never,
		version: o.version, digest: o.digest, mtime: o.mtime, author: o.author, layout: o.layout, chunks: o.chunks, segments: o.segments,
		tree: o.tree.Fork(),
	}
	e.transfers[t.id] = t
	t.flow = e.flows.join(now, o.flow.dest)
	t.accept(s.First, s.End, nil)
	e.arm(t)
	e.rouse(t)
	return t.id, true
}

// chunksWithin is how many of the chunks of leaf a transfer wants.
func (t *transfer) chunksWithin(leaf int64) int64 {
	first, after := t.layout.ChunksOf(leaf)
	return max(0, min(after, t.end)-max(first, t.first))
}
