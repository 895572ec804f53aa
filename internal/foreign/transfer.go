package foreign

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"

	"mars/internal/machine"
	"mars/internal/wire"
)

type state uint8

const (
	metadata state = iota // asks for metadata
	prefix                // asks for whatever begins with the name
	fetching
	ended
)

const (
	// askWait is how long a question waits for an answer before the other one is asked; a later answer counts, too.
	askWait = machine.Second
	// askAgain is the pause before a question that was refused is asked again.
	askAgain = 250 * machine.Millisecond
	// maxRefusals is how many Nacks in a row mean that there is no such object.
	maxRefusals = 4
	// maxCorrupt is how often one segment may come broken.
	maxCorrupt = 8
	// refusedBusy is what a producer of ours says in Data of ContentType Nack while it hashes a file.
	refusedBusy = "busy"
)

// transfer is one object being fetched.
type transfer struct {
	id    ID
	name  wire.Name
	stall machine.Time
	state state
	heard machine.Time // last sign of progress
	stats Stats

	askAt    machine.Time
	asked    bool   // in this state
	nonce    uint32 // of the question
	refusals int    // Nacks in a row

	base wire.Name // of segments, up to their number
	last uint64    // the last segment; MaxUint64: not known yet
	window
}

func newTransfer(now machine.Time, id ID, r Request, size int, c Control) *transfer {
	return &transfer{
		id: id, name: r.Name.Clone(), stall: cmp.Or(r.Stall, 30*machine.Second), heard: now, askAt: now,
		last: math.MaxUint64, window: newWindow(now, size, c, &r),
	}
}

// sends tells whether t has an Interest to send now.
func (t *transfer) sends(now machine.Time) bool {
	if t.state == fetching {
		return t.room(now, t.last)
	}
	return now >= t.askAt
}

func (t *transfer) stalled(now machine.Time) bool { return now >= t.stallsAt() }

// stallsAt is when t fails if nothing comes. While the application stores segments it doesn't.
func (t *transfer) stallsAt() machine.Time {
	if t.settled < t.lowest {
		return machine.Never
	}
	return t.heard + t.stall
}

func (t *transfer) deadline(now machine.Time) machine.Time {
	at := t.stallsAt()
	switch {
	case t.sends(now):
		return now
	case t.state != fetching:
		return min(at, t.askAt)
	case t.paused > now:
		at = min(at, t.paused)
	}
	return min(at, t.window.deadline(now))
}

// ask records that a question is sent.
func (t *transfer) ask(now machine.Time, nonce uint32) {
	if t.asked {
		t.turn()
	}
	t.asked = true
	t.nonce, t.askAt = nonce, now+askWait
}

// turn goes on with the other question.
func (t *transfer) turn() {
	t.asked = false
	if t.state == metadata {
		t.state = prefix
	} else {
		t.state = metadata
	}
}

// refused has a question that was refused asked again, or the other one; it tells whether there is no hope.
func (t *transfer) refused(now machine.Time) (hopeless bool) {
	if t.state == prefix {
		t.refusals++
	}
	t.turn()
	t.askAt = now + askAgain
	return t.refusals >= maxRefusals
}

// onNack handles a Nack for one of t's Interests.
func (e *Engine) onNack(now machine.Time, t *transfer, i *wire.Interest, reason wire.NackReason) {
	if t.state != fetching {
		if i.Nonce == t.nonce && t.refused(now) {
			e.fail(t, ErrNoRoute)
		}
		return
	}
	n, ok := t.number(i.Name)
	if !ok || !t.wanted(n) || t.slot(n).state != inFlight || t.pcon {
		return
	}
	s := t.slot(n)
	switch reason {
	case wire.NackDuplicate: // sent again at once, with another nonce
	case wire.NackNoRoute:
		if n == t.lowest { // others may be past the end, which isn't known yet
			t.refusals++
		}
		if t.refusals >= maxRefusals*len(t.lanes) {
			e.fail(t, ErrNoRoute)
			return
		}
		s.by.opens = now + askAgain
	default:
		t.congested(s, func() { s.by.onLoss(now, s.sent) })
		s.by.opens = now + s.by.rtt.smoothed
	}
	t.lose(s)
}

// onAnswer handles Data for a question.
func (e *Engine) onAnswer(now machine.Time, t *transfer, d *wire.Data) {
	c, _, more := d.Name[len(t.name):].Next()
	about := more && c.Type == wire.TypeKeyword && string(c.Value) == wire.KeywordMetadata
	switch {
	case !intact(d): // asked again when it is due
		t.stats.Corrupt++
	case d.ContentType == wire.ContentNack && string(d.Content) == refusedBusy:
		t.heard, t.asked, t.askAt = now, false, now+askAgain
	case d.ContentType == wire.ContentNack:
		e.fail(t, ErrNotFound)
	case about:
		e.onMetadata(now, t, d)
	default:
		e.onFirst(now, t, d)
	}
}

// onMetadata takes the versioned name that metadata begin with (RDR).
func (e *Engine) onMetadata(now machine.Time, t *transfer, d *wire.Data) {
	typ, value, _, err := wire.ReadTLV(d.Content)
	base, bad := wire.DecodeName(value)
	last, ok := base.At(base.Len() - 1)
	if err != nil || bad != nil || typ != wire.TypeName || !ok || last.Type != wire.TypeVersion || !base.HasPrefix(t.name) {
		t.turn()
		t.askAt = now
		return
	}
	var m wire.Metadata
	size := int64(-1)
	if m.Decode(d.Content) == nil {
		if m.HasSize {
			size = m.Size
		}
		if m.HasFinal { // segments may say otherwise
			t.last = m.FinalChunk
		}
	}
	t.heard = now
	e.found(t, base, size)
}

// onFirst takes a packet whose name begins with t's: a segment of some version, or all of an object that fits into one.
func (e *Engine) onFirst(now machine.Time, t *transfer, d *wire.Data) {
	k := d.Name.Len() - 1
	last, _ := d.Name.At(k)
	base := d.Name
	if last.Type == wire.TypeSegment {
		base = d.Name.Prefix(k)
	}
	if !names(base, t.name) {
		e.fail(t, fmt.Errorf("%w: below that name is %v", ErrNotFound, d.Name))
		return
	}
	t.heard = now
	e.found(t, base, -1)
	if last.Type == wire.TypeSegment {
		e.onSegment(now, t, d, false)
		return
	}
	t.count(d)
	t.stats.Bytes, t.stats.Segments, t.lowest = int64(len(d.Content)), 1, 1
	t.stats.Received = t.stats.Bytes
	e.events = append(
		e.events, Event{ID: t.id, Kind: Segment, Data: e.buffer(d.Content)}, Event{ID: t.id, Kind: Done},
	)
	e.end(t)
}

// names tells whether base is the object called name, or a version of it.
func names(base, name wire.Name) bool {
	if !base.HasPrefix(name) {
		return false
	}
	c, rest, more := base[len(name):].Next()
	return !more || len(rest) == 0 && c.Type == wire.TypeVersion
}

// found begins to fetch segments.
func (e *Engine) found(t *transfer, base wire.Name, size int64) {
	t.base, t.state, t.refusals = base.Clone(), fetching, 0
	e.events = append(e.events, Event{ID: t.id, Kind: Found, Name: t.base, Size: size})
}

// number is the segment number in a name; false: it is no segment of t's.
func (t *transfer) number(name wire.Name) (uint64, bool) {
	if !name.HasPrefix(t.base) {
		return 0, false
	}
	c, rest, ok := name[len(t.base):].Next()
	if !ok || c.Type != wire.TypeSegment || len(rest) > 0 {
		return 0, false
	}
	return c.Number()
}

// intact checks the digest of a packet that is signed by one. Of other signatures nothing is known.
func intact(d *wire.Data) bool {
	if d.SignatureType != wire.SignatureSHA256 {
		return true
	}
	sum := sha256.Sum256(d.Signed)
	return string(sum[:]) == string(d.SignatureValue)
}

// count notes how a segment is signed.
func (t *transfer) count(d *wire.Data) {
	if d.SignatureType != wire.SignatureSHA256 {
		t.stats.Unsigned++
	}
}

// onSegment handles Data of a segment.
func (e *Engine) onSegment(now machine.Time, t *transfer, d *wire.Data, marked bool) {
	n, ok := t.number(d.Name)
	if ok && n == 0 && t.highest == 0 { // it came as the answer to a question
		t.highest, *t.slot(0) = 1, slot{}
	}
	if ok && n < t.lowest {
		t.answered(now, n)
	}
	if !ok || !t.wanted(n) || t.slot(n).state == here {
		return
	}
	s := t.slot(n)
	switch {
	case !intact(d):
		t.stats.Corrupt++
		if s.corrupt++; s.corrupt >= maxCorrupt {
			e.fail(t, ErrIntegrity)
			return
		}
		t.lose(s)
		return
	case d.ContentType == wire.ContentNack && string(d.Content) == refusedBusy:
		t.heard, t.paused = now, now+askAgain
		t.lose(s)
		return
	case d.ContentType == wire.ContentNack && n > t.lowest: // past the end, it seems: an earlier one will tell
		t.paused = now + askAgain
		t.lose(s)
		return
	case d.ContentType == wire.ContentNack:
		e.fail(t, fmt.Errorf("%w: segment %d: %q", ErrNotFound, n, d.Content))
		return
	}
	if last, ok := d.FinalSegment(); ok {
		if last < n || last+1 < t.lowest {
			e.fail(t, fmt.Errorf("%w: segment %d says that the last one is %d", ErrIntegrity, n, last))
			return
		}
		t.last = last
		t.cut(last)
	}
	t.heard, t.refusals = now, 0
	t.stats.Received += int64(len(d.Content))
	if marked {
		t.stats.Marked++
	}
	t.count(d)
	if s.tries == 0 {
		s.state = here
	} else {
		e.limit.arrived(len(d.Content))
		t.arrived(now, s, marked)
	}
	s.data = e.buffer(d.Content)
	e.handOut(t)
	t.detect(now)
}

// handOut passes on what came in order.
func (e *Engine) handOut(t *transfer) {
	for t.lowest < t.highest && t.slot(t.lowest).state == here {
		s := t.slot(t.lowest)
		t.stats.Bytes += int64(len(s.data))
		t.stats.Segments++
		e.events = append(e.events, Event{ID: t.id, Kind: Segment, Data: s.data})
		*s = slot{}
		t.lowest++
	}
	if t.lowest > t.last {
		e.events = append(e.events, Event{ID: t.id, Kind: Done})
		e.end(t)
	}
}
