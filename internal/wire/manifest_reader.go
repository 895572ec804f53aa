package wire

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
)

// Errors of ManifestReader.Add.
var (
	ErrSegmentRange   = errors.New("wire: manifest has no such segment")
	ErrSegmentDigest  = errors.New("wire: manifest segment contradicts its digest")
	ErrTopIncomplete  = errors.New("wire: manifest leaf before the top list")
	ErrManifestDigest = errors.New("wire: top list contradicts the manifest digest; its segments are dropped")
	ErrManifestHeader = errors.New("wire: top list contradicts the object's size; its segments are dropped")
)

// ManifestReader checks the segments of a manifest as a consumer receives them, against the digest it trusts. It holds the
// top list (32 bytes per 250 chunks) and the leaves that aren't dropped. Memory grows with what arrives, not with what
// the Layout claims.
type ManifestReader struct {
	layout Layout
	digest Digest
	pieces map[int64][]byte // of the top list, until it is complete
	top    []byte           // nil until complete and checked
	leaves map[int64][]byte
}

// NewManifestReader makes a reader of the manifest with this digest. When l is invalid, Add always fails.
func NewManifestReader(l Layout, digest Digest) *ManifestReader {
	return &ManifestReader{layout: l, digest: digest, pieces: map[int64][]byte{}, leaves: map[int64][]byte{}}
}

// Add takes one segment, of which it keeps a copy. A segment of the top list is believed only when the whole list
// matches the digest; until then a leaf is refused. A segment held already is checked again and changes nothing.
// Errors: ErrLayout, ErrSegmentRange, ErrSegmentLength, ErrSegmentDigest, ErrTopIncomplete; ErrManifestDigest and
// ErrManifestHeader, after which the top list is to be fetched again.
func (r *ManifestReader) Add(segment int64, content []byte) error {
	if err := r.layout.Validate(); err != nil {
		return err
	}
	if segment < 0 || segment >= r.layout.Segments() {
		return ErrSegmentRange
	}
	if len(content) != r.layout.SegmentLen(segment) {
		return ErrSegmentLength
	}
	if segment < r.layout.TopSegments() {
		return r.addTop(segment, content)
	}
	if r.top == nil {
		return ErrTopIncomplete
	}
	leaf := segment - r.layout.TopSegments()
	if sha256.Sum256(content) != Digest(r.top[topHeaderLen+leaf*sha256.Size:]) {
		return ErrSegmentDigest
	}
	if r.leaves[leaf] == nil {
		r.leaves[leaf] = bytes.Clone(content)
	}
	return nil
}

func (r *ManifestReader) addTop(piece int64, content []byte) error {
	if r.top != nil {
		if at := piece * ChunkSize; !bytes.Equal(content, r.top[at:at+int64(len(content))]) {
			return ErrSegmentDigest
		}
		return nil
	}
	r.pieces[piece] = bytes.Clone(content) // the newest wins: an earlier one may have been forged
	if int64(len(r.pieces)) < r.layout.TopSegments() {
		return nil
	}
	top := make([]byte, 0, r.layout.TopLen())
	for i := range r.layout.TopSegments() {
		top = append(top, r.pieces[i]...)
	}
	clear(r.pieces)
	if sha256.Sum256(top) != r.digest {
		return ErrManifestDigest
	}
	var header [topHeaderLen]byte
	if !bytes.Equal(top[:topHeaderLen], r.layout.appendTopHeader(header[:0])) {
		return ErrManifestHeader
	}
	r.top = top
	return nil
}

// AddOnly takes the only leaf of a small object before anything else: with the header it makes the top list, so that the digest
// speaks for both. Errors: ErrLayout, ErrSegmentRange if there are more leaves, ErrSegmentLength, ErrManifestDigest.
func (r *ManifestReader) AddOnly(leaf []byte) error {
	if err := r.layout.Validate(); err != nil {
		return err
	}
	if r.layout.Leaves() != 1 {
		return ErrSegmentRange
	}
	if len(leaf) != r.layout.SegmentLen(r.layout.TopSegments()) {
		return ErrSegmentLength
	}
	sum := sha256.Sum256(leaf)
	if err := r.addTop(0, append(r.layout.appendTopHeader(nil), sum[:]...)); err != nil {
		return err
	}
	return r.Add(r.layout.TopSegments(), leaf)
}

// TopComplete tells whether the top list is there and checked, so that leaves can be added.
func (r *ManifestReader) TopComplete() bool { return r.top != nil }

// ChunkDigest is the digest of chunk i; false when its leaf isn't held or there is no such chunk.
func (r *ManifestReader) ChunkDigest(i int64) (Digest, bool) {
	if i < 0 {
		return Digest{}, false
	}
	leaf := r.leaves[i/DigestsPerLeaf]
	at := int(i%DigestsPerLeaf) * sha256.Size
	if at >= len(leaf) {
		return Digest{}, false
	}
	return Digest(leaf[at:]), true
}

// DropLeaf frees leaf i, which can be added again.
func (r *ManifestReader) DropLeaf(i int64) { delete(r.leaves, i) }

// Fork is another reader of the same manifest: it shares the top list, if that is complete, and begins with the leaves that are
// held now.
func (r *ManifestReader) Fork() *ManifestReader {
	f := NewManifestReader(r.layout, r.digest)
	f.top = r.top
	maps.Copy(f.leaves, r.leaves)
	return f
}
