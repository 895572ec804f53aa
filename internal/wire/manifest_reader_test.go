package wire

import (
	"crypto/sha256"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// big is a manifest with two top segments: 62,501 chunks of one byte, 251 leaves.
func big() *Manifest { return build(1, object(250*DigestsPerLeaf+1)) }

func mustAdd(t *testing.T, r *ManifestReader, segment int64, content []byte) {
	t.Helper()
	if err := r.Add(segment, content); err != nil {
		t.Fatalf("segment %d: %v", segment, err)
	}
}

func TestReaderTakesTopInAnyOrder(t *testing.T) {
	m := big()
	for _, order := range [][]int64{{0, 1}, {1, 0}, {1, 1, 0}, {0, 0, 1, 1, 0}} {
		r := NewManifestReader(m.Layout, m.Digest())
		for _, i := range order {
			mustAdd(t, r, i, m.Segment(i))
		}
		if !r.TopComplete() {
			t.Fatalf("order %v: not complete", order)
		}
		for leaf := range m.Leaves() {
			mustAdd(t, r, m.TopSegments()+leaf, m.Segment(m.TopSegments()+leaf))
		}
		for i := range m.Chunks() {
			if d, ok := r.ChunkDigest(i); !ok || d != m.ChunkDigest(i) {
				t.Fatalf("chunk %d: %x, %v", i, d, ok)
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	m := big()
	leaf := m.TopSegments()
	last := m.Segments() - 1
	flipped := func(i int64, at int) []byte {
		b := append([]byte(nil), m.Segment(i)...)
		b[at] ^= 1
		return b
	}
	r := NewManifestReader(m.Layout, m.Digest())
	for _, c := range []struct {
		what    string
		segment int64
		content []byte
		want    error
	}{
		{"negative", -1, m.Segment(0), ErrSegmentRange},
		{"past the end", m.Segments(), m.Segment(0), ErrSegmentRange},
		{"far past the end", math.MaxInt64, nil, ErrSegmentRange},
		{"short top", 0, m.Segment(0)[1:], ErrSegmentLength},
		{"pieces swapped", 1, m.Segment(0), ErrSegmentLength},
		{"leaf before top", leaf, m.Segment(leaf), ErrTopIncomplete},
		{"first piece", 0, m.Segment(0), nil},
		{"leaf before the rest of top", leaf, m.Segment(leaf), ErrTopIncomplete},
		{"forged second piece", 1, flipped(1, 0), ErrManifestDigest},
		{"second piece alone", 1, m.Segment(1), nil}, // the first went with the forged one
		{"leaf still before top", leaf, m.Segment(leaf), ErrTopIncomplete},
		{"first piece again", 0, m.Segment(0), nil},
		{"a held piece, forged", 0, flipped(0, 100), ErrSegmentDigest},
		{"forged leaf", leaf, flipped(leaf, 31), ErrSegmentDigest},
		{"another leaf", leaf, m.Segment(leaf + 1), ErrSegmentDigest},
		{"long leaf", last, append(m.Segment(last), make([]byte, 32)...), ErrSegmentLength},
		{"empty leaf", leaf, nil, ErrSegmentLength},
		{"leaf", leaf, m.Segment(leaf), nil},
		{"a held leaf, forged", leaf, flipped(leaf, 0), ErrSegmentDigest},
		{"last leaf", last, m.Segment(last), nil},
	} {
		if err := r.Add(c.segment, c.content); err != c.want {
			t.Fatalf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	for i, want := range map[int64]bool{-1: false, 0: true, 249: true, 250: false, 62_499: false, 62_500: true, 62_501: false, math.MaxInt64: false} {
		if d, ok := r.ChunkDigest(i); ok != want || ok && d != m.ChunkDigest(i) {
			t.Errorf("chunk %d: %x, %v", i, d, ok)
		}
	}
}

func TestReaderKeepsCopies(t *testing.T) { // the caller reuses its buffer while the top list is incomplete
	m := big()
	r := NewManifestReader(m.Layout, m.Digest())
	buf := make([]byte, ChunkSize)
	for i := range m.TopSegments() {
		n := copy(buf, m.Segment(i))
		mustAdd(t, r, i, buf[:n])
	}
	if !r.TopComplete() {
		t.Error("not complete")
	}
}

func TestReaderDropsForgedPiece(t *testing.T) { // a forged first piece, replaced before the list is complete
	m := big()
	r := NewManifestReader(m.Layout, m.Digest())
	mustAdd(t, r, 0, make([]byte, ChunkSize))
	mustAdd(t, r, 0, m.Segment(0))
	mustAdd(t, r, 1, m.Segment(1))
	if !r.TopComplete() {
		t.Error("not complete")
	}
}

// TestReaderOnlyLeaf: the only leaf speaks for the top list too; anything else is refused and leaves the reader as it was.
func TestReaderOnlyLeaf(t *testing.T) {
	for _, size := range []int64{0, 100, 100_000, DigestsPerLeaf * 8000} {
		m, other := build(8000, object(size)), build(7999, object(size+1))
		r := NewManifestReader(m.Layout, m.Digest())
		leaf := m.Segment(1)
		for want, bad := range map[error][]byte{ErrManifestDigest: make([]byte, len(leaf)), ErrSegmentLength: leaf[1:]} {
			if err := r.AddOnly(bad); err != want || r.TopComplete() {
				t.Errorf("%d bytes: %v, want %v", size, err, want)
			}
		}
		if err := NewManifestReader(other.Layout, other.Digest()).AddOnly(leaf); err == nil {
			t.Errorf("%d bytes: it passes for another object's", size)
		}
		if err := r.AddOnly(leaf); err != nil || !r.TopComplete() {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if d, ok := r.ChunkDigest(m.Chunks() - 1); !ok || d != m.ChunkDigest(m.Chunks()-1) {
			t.Errorf("%d bytes: no digest", size)
		}
		mustAdd(t, r, 0, m.Segment(0)) // and they still come, for all we know
		mustAdd(t, r, 1, leaf)
	}
	m := build(1, object(DigestsPerLeaf+1))
	if err := NewManifestReader(m.Layout, m.Digest()).AddOnly(m.Segment(1)); err != ErrSegmentRange {
		t.Errorf("two leaves: %v", err)
	}
}

// TestReaderHeader: the digest is right, but the size told elsewhere (metadata) is not.
func TestReaderHeader(t *testing.T) {
	m := build(8000, object(100))
	for _, l := range []Layout{{99, 8000}, {100, 7999}} {
		r := NewManifestReader(l, m.Digest())
		if err := r.Add(0, m.Segment(0)); err != ErrManifestHeader || r.TopComplete() {
			t.Errorf("%+v: %v", l, err)
		}
	}
	other := append([]byte{2}, m.Segment(0)[1:]...) // another format
	r := NewManifestReader(m.Layout, sha256.Sum256(other))
	if err := r.Add(0, other); err != ErrManifestHeader {
		t.Errorf("format 2: %v", err)
	}
}

func TestReaderOfBadLayout(t *testing.T) {
	r := NewManifestReader(Layout{-1, 0}, Digest{})
	if err := r.Add(0, nil); err != ErrLayout {
		t.Errorf("error %v", err)
	}
	if _, ok := r.ChunkDigest(0); ok || r.TopComplete() {
		t.Error("has something")
	}
}

func TestReaderMemory(t *testing.T) {
	// The largest object there is costs nothing before its segments come.
	r := NewManifestReader(Layout{math.MaxInt64, 1}, Digest{})
	mustAdd(t, r, 5, make([]byte, ChunkSize))
	if len(r.pieces) != 1 || cap(r.top) != 0 {
		t.Errorf("%d pieces, room for %d bytes", len(r.pieces), cap(r.top))
	}

	m := build(1, object(600))
	r = NewManifestReader(m.Layout, m.Digest())
	content := append([]byte(nil), m.Segment(0)...)
	mustAdd(t, r, 0, content)
	clear(content) // the caller's buffer is not kept
	leaf := append([]byte(nil), m.Segment(1)...)
	mustAdd(t, r, 1, leaf)
	mustAdd(t, r, 2, m.Segment(2))
	clear(leaf)
	if d, ok := r.ChunkDigest(3); !ok || d != m.ChunkDigest(3) {
		t.Errorf("chunk 3: %x, %v", d, ok)
	}
	if len(r.pieces) != 0 {
		t.Errorf("%d pieces of a complete list", len(r.pieces))
	}
	r.DropLeaf(0)
	r.DropLeaf(99)
	if _, ok := r.ChunkDigest(3); ok || len(r.leaves) != 1 {
		t.Errorf("dropped, yet there; %d leaves", len(r.leaves))
	}
	if _, ok := r.ChunkDigest(250); !ok {
		t.Error("the other leaf went as well")
	}
	mustAdd(t, r, 1, m.Segment(1))
	if _, ok := r.ChunkDigest(3); !ok {
		t.Error("not there after it was added again")
	}
}

// FuzzManifestReader feeds a reader with segments of which some are forged: it never believes a wrong digest, and takes
// every true one once the top list is there. Each two bytes of script are a segment and what to do with it.
func FuzzManifestReader(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 2, 0, 3, 0}, int64(600), 1)
	f.Add([]byte{0, 1, 0, 0, 1, 1, 1, 0, 2, 2}, int64(600), 1)
	f.Add([]byte{0, 0}, int64(math.MaxInt64), 1)
	f.Add([]byte{0, 0}, int64(-1), 0)
	m := build(1, object(600))
	f.Fuzz(func(t *testing.T, script []byte, size int64, chunkSize int) {
		r := NewManifestReader(Layout{size, chunkSize}, m.Digest())
		honest := size == m.Size && chunkSize == m.ChunkSize
		for ; len(script) >= 2; script = script[2:] {
			segment := int64(script[0])
			content := append([]byte(nil), m.Segment(segment)...)
			switch how := script[1]; {
			case how == 0:
			case len(content) > 0 && how < 128:
				content[int(how)%len(content)] ^= how
			default:
				content = make([]byte, how)
			}
			forged := string(content) != string(m.Segment(segment))
			before := r.TopComplete()
			err := r.Add(segment, content)
			if err == nil && forged && (before || r.TopComplete()) {
				t.Fatalf("forged segment %d taken", segment)
			}
			if err != nil && !forged && honest && before && m.Segment(segment) != nil {
				t.Fatalf("true segment %d: %v", segment, err)
			}
		}
		for i := range int64(700) {
			if d, ok := r.ChunkDigest(i); ok && d != m.ChunkDigest(i) {
				t.Fatalf("chunk %d: %x", i, d)
			}
		}
		if r.TopComplete() && !honest {
			t.Fatalf("a top list for %d bytes by %d", size, chunkSize)
		}
	})
}

func TestReaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layout(3000).Draw(t, "layout")
		m := build(l.ChunkSize, object(l.Size))
		r := NewManifestReader(l, m.Digest())
		for i := range m.Segments() {
			if err := r.Add(i, m.Segment(i)); err != nil {
				t.Fatalf("segment %d: %v", i, err)
			}
		}
		for i := range m.Chunks() {
			if d, ok := r.ChunkDigest(i); !ok || d != m.ChunkDigest(i) {
				t.Fatalf("chunk %d: %x, %v", i, d, ok)
			}
		}
	})
}

// TestReaderFork: a fork knows the top list and the leaves of the moment, and goes its own way from there.
func TestReaderFork(t *testing.T) {
	m := big()
	r := NewManifestReader(m.Layout, m.Digest())
	mustAdd(t, r, 0, m.Segment(0))
	if f := r.Fork(); f.TopComplete() || f.Add(1, m.Segment(1)) == nil && f.TopComplete() {
		t.Fatal("a fork has pieces of a top list that wasn't checked")
	}
	mustAdd(t, r, 1, m.Segment(1))
	mustAdd(t, r, m.TopSegments(), m.Segment(m.TopSegments()))
	f := r.Fork()
	if d, ok := f.ChunkDigest(3); !ok || d != m.ChunkDigest(3) {
		t.Fatal("the fork lost a leaf")
	}
	f.DropLeaf(0)
	mustAdd(t, f, m.TopSegments()+1, m.Segment(m.TopSegments()+1))
	if _, ok := r.ChunkDigest(3); !ok {
		t.Fatal("the fork dropped a leaf of its origin")
	}
	if _, ok := r.ChunkDigest(250); ok {
		t.Fatal("the fork's leaf is in its origin")
	}
}
