package fetch

import (
	"fmt"

	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// questionMin and questionMax bound the wait between two metadata Interests: a producer may have to hash first.
	questionMin = 250 * machine.Millisecond
	questionMax = 2 * machine.Second
	// busyStalls is how many times the time without progress a producer may say that it is busy: half an hour usually, in which
	// terabytes are hashed.
	busyStalls = 60
	// maxRefusals is how many Nacks with "no route" in a row mean that there is none.
	maxRefusals = 4
	// maxOpen bounds the questions on their way: no rate paces them, for no flow is known yet.
	maxOpen = 128
	// maxTop bounds the top list of a manifest, bytes. Metadata is claimed by whoever answers, and what is claimed must
	// be stored before it is checked.
	maxTop = 32 << 20
	// maxName bounds names, bytes: with what a chunk's Interest adds to them they must fit into a packet.
	maxName = wire.MaxPacket - 512
)

// What a producer says in Data of ContentType Nack.
const (
	saysNotFound = "not found"
	saysFailed   = "read failed"
	saysBusy     = "busy" // hashing the object
)

// questions are the transfers that want metadata: which version is current, and by whom.
type questions struct {
	line ring[*transfer] // those that may ask, in turn
	open int             // asked, and neither answered nor due to be asked again
}

func (q *questions) ready() bool { return q.line.len() > 0 && q.open < maxOpen }

// asks tells whether t has something to find out.
func (t *transfer) asks() bool { return t.state == resolving || t.state == checking }

// question has t ask when it is its turn.
func (e *Engine) question(t *transfer) {
	e.answered(t)
	t.askAt = machine.Never
	if !t.inLine {
		t.inLine = true
		e.questions.line.push(t)
	}
}

// answered ends the wait for an answer.
func (e *Engine) answered(t *transfer) {
	if t.open {
		t.open = false
		e.questions.open--
	}
}

// askAgain has t ask at a later time.
func (e *Engine) askAgain(t *transfer, at machine.Time) {
	e.answered(t)
	t.askAt = at
	e.arm(t)
}

// nextQuestion takes the next transfer that asks now; nil: none.
func (e *Engine) nextQuestion() *transfer {
	for e.questions.ready() {
		t := e.questions.line.pop()
		t.inLine = false
		if t.asks() && t.askAt == machine.Never { // else it was answered meanwhile
			return t
		}
	}
	return nil
}

// ask sends a metadata Interest. A later one replaces an earlier one that wasn't answered.
func (e *Engine) ask(now machine.Time, t *transfer, buf []byte) int {
	if t.question == nil {
		t.question = e.pendings.take(t, item{kind: metadata})
	}
	t.open = true
	e.questions.open++
	t.askAt = now + backoff(t.asked)
	t.asked++
	e.arm(t)
	e.name = append(e.name[:0], t.name...).AppendString(wire.TypeKeyword, wire.KeywordMetadata)
	return e.encode(t.question, wire.Interest{Name: e.name, CanBePrefix: true, MustBeFresh: true}, 0, buf)
}

func backoff(asked int) machine.Time { return min(questionMin<<min(asked, 8), questionMax) }

// answers tells whether a Data packet answers t's question: a refusal by the question's own name, metadata by one that goes on
// with a version and the segment 0 (MARS §2, "metadata, answered"; RDR).
func (t *transfer) answers(d *wire.Data) bool {
	if !d.Name.HasPrefix(t.name) {
		return false
	}
	c, rest, ok := d.Name[len(t.name):].Next()
	if !ok || c.Type != wire.TypeKeyword || string(c.Value) != wire.KeywordMetadata {
		return false
	}
	if d.ContentType == wire.ContentNack {
		return len(rest) == 0
	}
	if c, rest, ok = rest.Next(); !ok || c.Type != wire.TypeVersion {
		return false
	}
	c, rest, ok = rest.Next()
	n, number := c.Number()
	return ok && len(rest) == 0 && c.Type == wire.TypeSegment && number && n == 0
}

// onMetadata takes the answer to a question.
func (e *Engine) onMetadata(now machine.Time, p *pending) {
	t, d := p.t, &e.data
	if !t.answers(d) {
		t.suspects = true
		return
	}
	var m wire.Metadata
	refuses := d.ContentType == wire.ContentNack
	decoded := !refuses && m.Decode(d.Content) == nil
	by, ok := signer(d)
	if !ok {
		// Corrupted on the way, or forged: the question is asked again. Unless a stranger signed it, with a key that we don't know.
		t.suspects = true
		if decoded && !m.HasMARS && d.SignatureType != wire.SignatureSHA256 {
			e.fail(t, ErrForeign)
		}
		t.why = ErrForged
		return
	}
	e.release(p)
	e.answered(t)
	t.refusals = 0
	if !t.asks() {
		return
	}
	doubt := e.trusts(t, by)
	t.suspects = doubt != nil
	switch says := string(d.Content); {
	case doubt != nil && (m.HasMARS || refuses && says == saysNotFound):
		e.doubt(t, doubt)
	case refuses:
		if says == saysNotFound {
			e.fail(t, ErrNotFound)
			return
		}
		if says == saysBusy && doubt == nil {
			t.heard = now // somebody works on it
			if t.busy++; t.busy == 1 {
				t.busyFrom = now
			}
			if now-t.busyFrom >= busyStalls*t.stall { // or only says so
				e.fail(t, ErrBusy)
				return
			}
		}
		t.asked = max(t.asked, 1)
		e.askAgain(t, now+backoff(t.asked-1))
	case !decoded || !m.HasMARS:
		e.fail(t, ErrForeign)
	default:
		t.heard, t.busy, t.doubts, t.why = now, 0, 0, nil
		t.author = cloneAuthor(by)
		e.onVersion(now, t, &m)
	}
}

// onVersion learns which version is current.
func (e *Engine) onVersion(now machine.Time, t *transfer, m *wire.Metadata) {
	v := wire.VersionOf(m.Digest)
	t.askAt, t.asked = machine.Never, 0
	if t.state == checking {
		if m.Digest != t.digest {
			e.fail(t, ErrChanged)
			return
		}
		t.state = active // a false alarm
		t.cleared()
		e.proceed(t)
		return
	}
	layout := m.Layout()
	switch {
	case layout.Validate() != nil || !m.Name.HasPrefix(t.name) || m.Name.Len() != t.name.Len()+1:
		e.fail(t, fmt.Errorf("%w: metadata of another object", ErrIntegrity))
		return
	case layout.TopLen() > maxTop:
		e.fail(t, ErrTooLarge)
		return
	}
	t.bad = nil
	if m.Digest == t.digest { // it hadn't gone
		t.cleared()
	}
	t.version, t.digest, t.layout = v, m.Digest, layout
	t.tree, t.topNext = wire.NewManifestReader(layout, m.Digest), 0
	rest := t.name[len(m.Dest):]
	t.chunks = wire.AppendTransmission(nil, m.Dest, e.cfg.Src, rest).AppendNumber(wire.TypeVersion, v)
	t.segments = wire.AppendTransmission(nil, m.Dest, e.cfg.Src, rest).
		AppendString(wire.TypeKeyword, wire.KeywordManifest).AppendNumber(wire.TypeVersion, v)
	t.state, t.mtime, t.accused = listing, m.MTime, nil
	t.flow = e.flows.join(now, m.Dest)
	if m.Leaf != nil && !t.manifest && t.tree.AddOnly(m.Leaf) == nil { // else the manifest is fetched as any other
		e.offer(t)
		return
	}
	e.rouse(t)
}

// onQuestionNack handles a Nack for a metadata Interest.
func (e *Engine) onQuestionNack(now machine.Time, p *pending) {
	t := p.t
	e.release(p)
	if e.pkt.NackReason == wire.NackNoRoute && t.state == resolving {
		if t.refusals++; t.refusals >= maxRefusals {
			e.fail(t, ErrNoRoute)
			return
		}
	}
	e.askAgain(t, max(t.askAt, now+questionMin))
}
