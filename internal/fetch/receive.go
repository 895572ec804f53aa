package fetch

import (
	"errors"

	"mars/internal/machine"
	"mars/internal/wire"
)

// maxRechecks bounds how often in a row "version gone" may turn out to be wrong.
const maxRechecks = 3

// Receive handles Data or a Nack from the node.
func (e *Engine) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	e.now = now
	if e.pkt.Decode(datagram) != nil || e.pkt.Fragment == nil || e.pkt.FragCount > 1 {
		return
	}
	p := e.pendings.byToken(e.pkt.PitToken)
	switch {
	case p == nil:
	case e.pkt.Nack:
		if e.interest.Decode(e.pkt.Fragment) == nil && e.interest.Nonce == p.nonce { // else of an earlier transmission
			e.onNack(now, p)
		}
	case e.data.Decode(e.pkt.Fragment) != nil:
	case p.kind == metadata:
		e.onMetadata(now, p)
	default:
		e.name = p.appendName(e.name[:0])
		if e.data.Name.Equal(e.name) {
			e.onData(now, p)
		}
	}
}

// onNack handles a Nack: the Interest is sent again, later. For congestion that is after one pacing interval, and the
// flow's rate takes it for a full queue (protocol.md §4).
func (e *Engine) onNack(now machine.Time, p *pending) {
	if p.kind == metadata {
		e.onQuestionNack(now, p)
		return
	}
	f, wait := p.t.flow, questionMin
	if e.pkt.NackReason == wire.NackCongestion {
		f.ctrl.OnCongestion(now)
		wait = f.interval()
	}
	f.lose(p, now+wait)
	e.flows.stir(now, f)
}

// onData handles the Data that answers p.
func (e *Engine) onData(now machine.Time, p *pending) {
	t, d := p.t, &e.data
	var fb *wire.Feedback
	if e.pkt.HasFeedback {
		fb = &e.pkt.Feedback
	}
	t.flow.onData(now, p, len(d.Wire), fb)
	e.flows.stir(now, t.flow)
	if d.ContentType == wire.ContentNack {
		e.onRefusal(now, p)
		return
	}
	it, wrong := p.item, len(d.Content) != p.size()
	e.release(p)
	t.heard = now
	switch {
	case it.kind == segment:
		e.onSegment(t, it.index, d.Content)
	case !wrong:
		e.arrive(t, arrival{it.index, append(e.buffer(), d.Content...)})
	case e.bad(t, it):
		t.againChunks = append(t.againChunks, it.index)
		e.rouse(t)
	}
}

// onRefusal handles a Data packet by which the producer says no. Anybody can make one, so it is not believed: the metadata
// must confirm that the version is gone.
func (e *Engine) onRefusal(now machine.Time, p *pending) {
	t, it := p.t, p.item
	if says := string(e.data.Content); says == saysFailed || says == saysBusy {
		t.flow.lose(p, now+questionMin)
		return
	}
	e.release(p)
	switch {
	case t.state == listing: // it vanished before the transfer began: which one is current?
		e.abandon(t)
		t.againLeaves, t.state, t.suspects = nil, resolving, true // by whom the metadata came it was not told
	case it.kind == segment:
		t.againLeaves = append(t.againLeaves, it.index)
	default:
		t.againChunks = append(t.againChunks, it.index)
	}
	t.accused = append(t.accused, it)
	switch t.state {
	case active:
		t.state = checking
	case resolving:
	default:
		return // being checked already
	}
	if t.rechecks++; t.rechecks > maxRechecks {
		e.fail(t, ErrChanged)
		return
	}
	e.question(t)
}

// onSegment takes a manifest segment.
func (e *Engine) onSegment(t *transfer, index int64, content []byte) {
	top := t.layout.TopSegments()
	err := t.tree.Add(index, content)
	switch {
	case err == nil && index >= top:
		e.onLeaf(t, index-top)
	case err == nil:
		if t.tree.TopComplete() {
			e.offer(t)
		}
	case errors.Is(err, wire.ErrManifestHeader): // the manifest is the right one, so the metadata was wrong
		e.fail(t, ErrIntegrity)
	case errors.Is(err, wire.ErrManifestDigest): // which piece is wrong can't be told: all come again
		if e.bad(t, item{segment, -1}) {
			t.topNext = 0
			e.rouse(t)
		}
	case e.bad(t, item{segment, index}):
		t.againLeaves = append(t.againLeaves, index)
		e.rouse(t)
	}
}

// offer tells the application what the name means: the top list is here and checked.
func (e *Engine) offer(t *transfer) {
	t.state, t.bad = offered, nil
	e.events = append(e.events, Event{ID: t.id, Kind: Resolved, Object: Object{
		Name: t.name, Version: t.version, Digest: t.digest, Layout: t.layout, MTime: t.mtime, Author: t.author,
	}})
}

// onLeaf hands out the chunks that waited for a leaf.
func (e *Engine) onLeaf(t *transfer, leaf int64) {
	t.leafState[leaf] = here
	waiting := t.held[leaf]
	delete(t.held, leaf)
	delete(t.bad, item{segment, t.layout.TopSegments() + leaf})
	for _, a := range waiting {
		t.kept--
		e.arrive(t, a)
	}
	e.proceed(t)
}
