package fetch

import (
	"bytes"
	"crypto/ed25519"
	"fmt"

	"mars/internal/wire"
)

// Trust tells whether an author may answer for an object, or say that there is none. The zero Author stands for nobody, of an answer
// that isn't signed. That the author did sign was verified; when is for the Trust to judge, which alone knows the time of day.
type Trust func(name wire.Name, by wire.Author) error

const (
	// maxDoubts is how many answers by whom nobody trusts end a transfer: until then the question is put to others.
	maxDoubts = 6
	// maxKnown bounds the objects of which the newest signature is remembered.
	maxKnown = 4096
)

// signer reads who signed an answer to a question; false: it isn't as it was sent, or as it was signed.
func signer(d *wire.Data) (by wire.Author, ok bool) {
	if by, ok = d.Author(); ok {
		return by, len(d.SignatureValue) == ed25519.SignatureSize && ed25519.Verify(by.Key, d.Signed, d.SignatureValue)
	}
	return by, d.Whole()
}

// trusts judges the author of an answer to t's question.
func (e *Engine) trusts(t *transfer, by wire.Author) error {
	if t.trust == nil {
		return nil
	}
	if err := t.trust(t.name, by); err != nil {
		return fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	if by.Key == nil {
		return nil
	}
	key := string(by.Key) + string(t.name)
	if by.Time < e.known[key] {
		return ErrStale
	}
	if len(e.known) >= maxKnown {
		clear(e.known)
	}
	e.known[key] = by.Time
	return nil
}

// doubt has t ask somebody else, after an answer that isn't believed.
func (e *Engine) doubt(t *transfer, why error) {
	t.suspects, t.why = true, why
	if t.doubts++; t.doubts >= maxDoubts {
		if e.data.ContentType == wire.ContentNack { // all say so, though none can prove it
			why = ErrNotFound
		}
		e.fail(t, why)
		return
	}
	e.question(t)
}

// suspects tells whether what came last for p was false.
func (p *pending) suspects() bool {
	switch {
	case p.kind == metadata:
		return p.t.suspects
	case p.kind == segment && p.index < p.t.layout.TopSegments() && p.t.bad[item{segment, -1}] > 0:
		return true
	}
	return p.t.bad[p.item] > 0
}

// cleared notes that the version is still there, whoever said that it had gone.
func (t *transfer) cleared() {
	if t.bad == nil && len(t.accused) > 0 {
		t.bad = make(map[item]int)
	}
	for _, it := range t.accused {
		t.bad[it]++
	}
	t.accused = t.accused[:0]
}

// cloneAuthor copies what aliases a packet.
func cloneAuthor(a wire.Author) wire.Author {
	a.Key, a.Certificate = bytes.Clone(a.Key), bytes.Clone(a.Certificate)
	return a
}
