package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
)

// The shape of an object and its manifest.
const (
	ChunkSize      = 8000 // the usual and the largest chunk, bytes; also a piece of the top list
	DigestsPerLeaf = 250  // chunks whose digests make one leaf: 8000 bytes

	manifestFormat = 1
	topHeaderLen   = 1 + 4 + 8 // format, chunk size, size
)

// Digest is a SHA-256.
type Digest = [sha256.Size]byte

// Errors of manifests.
var (
	ErrLayout         = errors.New("wire: object size must be ≥ 0 and chunk size 1…8000")
	ErrSegmentRange   = errors.New("wire: manifest has no such segment")
	ErrSegmentLength  = errors.New("wire: manifest segment of wrong length")
	ErrSegmentDigest  = errors.New("wire: manifest segment contradicts its digest")
	ErrTopIncomplete  = errors.New("wire: manifest leaf before the top list")
	ErrManifestDigest = errors.New("wire: top list contradicts the manifest digest; its segments are dropped")
	ErrManifestHeader = errors.New("wire: top list contradicts the object's size; its segments are dropped")
)

// Layout is how an object is cut into chunks, and its manifest into segments: the top list in pieces of 8000 bytes
// comes first, then the leaves. The methods need a valid Layout.
type Layout struct {
	Size      int64 // bytes
	ChunkSize int   // bytes, 1…8000
}

// Validate returns ErrLayout unless the sizes are in range. Nothing derived from a valid Layout overflows.
func (l Layout) Validate() error {
	if l.Size < 0 || l.ChunkSize < 1 || l.ChunkSize > ChunkSize {
		return ErrLayout
	}
	return nil
}

// Chunks is the number of chunks, ≥ 1: an empty object has one empty chunk.
func (l Layout) Chunks() int64 { return max(1, ceil(l.Size, int64(l.ChunkSize))) }

// ChunkLen is the number of bytes in chunk i; 0 when there is none.
func (l Layout) ChunkLen(i int64) int {
	if i < 0 || i >= l.Chunks() {
		return 0
	}
	return int(min(int64(l.ChunkSize), l.Size-i*int64(l.ChunkSize)))
}

// Leaves is the number of leaves, ≥ 1.
func (l Layout) Leaves() int64 { return ceil(l.Chunks(), DigestsPerLeaf) }

// LeafOf is the leaf that holds the digest of chunk.
func (l Layout) LeafOf(chunk int64) int64 { return chunk / DigestsPerLeaf }

// LeafLen is the number of bytes in leaf i; 0 when there is none.
func (l Layout) LeafLen(i int64) int {
	if i < 0 || i >= l.Leaves() {
		return 0
	}
	return int(min(DigestsPerLeaf, l.Chunks()-i*DigestsPerLeaf)) * sha256.Size
}

// TopLen is the number of bytes in the top list.
func (l Layout) TopLen() int64 { return topHeaderLen + l.Leaves()*sha256.Size }

// TopSegments is the number of segments that carry the top list, ≥ 1.
func (l Layout) TopSegments() int64 { return ceil(l.TopLen(), ChunkSize) }

// Segments is the number of segments of the manifest. Leaf i is segment TopSegments()+i.
func (l Layout) Segments() int64 { return l.TopSegments() + l.Leaves() }

// SegmentLen is the number of bytes in segment i; 0 when there is none.
func (l Layout) SegmentLen(i int64) int {
	top := l.TopSegments()
	switch {
	case i < 0:
		return 0
	case i < top:
		return int(min(ChunkSize, l.TopLen()-i*ChunkSize))
	}
	return l.LeafLen(i - top)
}

// ceil is a/b rounded up, a ≥ 0.
func ceil(a, b int64) int64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}

// appendTopHeader appends what precedes the digests of the leaves.
func (l Layout) appendTopHeader(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, manifestFormat), uint32(l.ChunkSize))
	return binary.BigEndian.AppendUint64(dst, uint64(l.Size))
}

// Manifest is the two-level hash list of an object as its producer holds it: 32 bytes per chunk.
type Manifest struct {
	Layout
	chunks []byte // digests of the chunks: the leaves, one after the other
	top    []byte
	digest Digest
}

// NewManifest makes the manifest of an object from the concatenated digests of its chunks, which it keeps. Errors:
// ErrLayout, or ErrSegmentLength unless there is one digest per chunk.
func NewManifest(l Layout, chunkDigests []byte) (*Manifest, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if len(chunkDigests)%sha256.Size != 0 || int64(len(chunkDigests)/sha256.Size) != l.Chunks() {
		return nil, ErrSegmentLength
	}
	top := l.appendTopHeader(make([]byte, 0, l.TopLen()))
	for at := 0; at < len(chunkDigests); {
		end := min(at+DigestsPerLeaf*sha256.Size, len(chunkDigests))
		leaf := sha256.Sum256(chunkDigests[at:end])
		top, at = append(top, leaf[:]...), end
	}
	return &Manifest{l, chunkDigests, top, sha256.Sum256(top)}, nil
}

// Digest is SHA-256 of the top list: it commits to the whole object.
func (m *Manifest) Digest() Digest { return m.digest }

// Version is the version of the object's name.
func (m *Manifest) Version() uint64 { return VersionOf(m.digest) }

// VersionOf is the version that a manifest digest gives to an object: its first 8 bytes (MARS §2).
func VersionOf(d Digest) uint64 { return binary.BigEndian.Uint64(d[:]) }

// Segment is the content of manifest segment i, not a copy; nil when there is none.
func (m *Manifest) Segment(i int64) []byte {
	n := int64(m.SegmentLen(i))
	if n == 0 {
		return nil
	}
	if top := m.TopSegments(); i >= top {
		at := (i - top) * DigestsPerLeaf * sha256.Size
		return m.chunks[at : at+n : at+n]
	}
	return m.top[i*ChunkSize : i*ChunkSize+n : i*ChunkSize+n]
}

// ChunkDigest is the digest of chunk i; zero when there is none.
func (m *Manifest) ChunkDigest(i int64) Digest {
	if i < 0 || i >= m.Chunks() {
		return Digest{}
	}
	return Digest(m.chunks[i*sha256.Size:])
}

// ManifestBuilder makes a Manifest of bytes that are streamed through it.
type ManifestBuilder struct {
	layout  Layout
	digests []byte
	open    hash.Hash // the chunk begun
	filled  int       // bytes of it
}

// NewManifestBuilder makes a builder for chunks of chunkSize bytes; 0 means ChunkSize. It panics unless chunkSize is
// 0…8000.
func NewManifestBuilder(chunkSize int) *ManifestBuilder {
	if chunkSize == 0 {
		chunkSize = ChunkSize
	}
	l := Layout{ChunkSize: chunkSize}
	if l.Validate() != nil {
		panic("wire: chunk size must be 1…8000")
	}
	return &ManifestBuilder{layout: l, open: sha256.New()}
}

// Write adds the next bytes of the object, split anyhow. It never fails.
func (m *ManifestBuilder) Write(p []byte) (int, error) {
	n := len(p)
	m.layout.Size += int64(n)
	for len(p) > 0 {
		take := min(len(p), m.layout.ChunkSize-m.filled)
		if take == m.layout.ChunkSize { // a whole chunk at once spares the running hash
			d := sha256.Sum256(p[:take])
			m.digests = append(m.digests, d[:]...)
			p = p[take:]
			continue
		}
		m.open.Write(p[:take])
		m.filled, p = m.filled+take, p[take:]
		if m.filled == m.layout.ChunkSize {
			m.closeChunk()
		}
	}
	return n, nil
}

func (m *ManifestBuilder) closeChunk() {
	m.digests = m.open.Sum(m.digests)
	m.open.Reset()
	m.filled = 0
}

// Finish returns the manifest of what was written. The builder is then spent.
func (m *ManifestBuilder) Finish() *Manifest {
	if m.filled > 0 || len(m.digests) == 0 {
		m.closeChunk()
	}
	manifest, err := NewManifest(m.layout, m.digests)
	if err != nil {
		panic(err) // Write counts bytes and digests alike
	}
	return manifest
}

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
