package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// ErrLayout is returned for a Layout out of range.
var ErrLayout = errors.New("wire: object size must be ≥ 0 and chunk size 1…8000")

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

// ChunksOf is the first chunk whose digest leaf holds, and the first after it whose digest it doesn't.
func (l Layout) ChunksOf(leaf int64) (first, after int64) {
	first = leaf * DigestsPerLeaf
	return first, first + min(DigestsPerLeaf, l.Chunks()-first)
}

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
