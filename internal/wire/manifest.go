package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
)

// ErrSegmentLength is returned for a manifest segment, or a list of digests, of another length than the Layout has.
var ErrSegmentLength = errors.New("wire: manifest segment of wrong length")

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
