package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// object is size bytes that differ from chunk to chunk.
func object(size int64) []byte {
	b := make([]byte, 0, size+8)
	for i := uint64(1); int64(len(b)) < size; i++ {
		b = binary.LittleEndian.AppendUint64(b, i*0x9e3779b97f4a7c15)
	}
	return b[:size]
}

func build(chunkSize int, object []byte) *Manifest {
	b := NewManifestBuilder(chunkSize)
	_, _ = b.Write(object)
	return b.Finish()
}

// TestManifestGolden: "abcde" in chunks of 2 bytes. The digests are from another implementation of SHA-256.
func TestManifestGolden(t *testing.T) {
	m := build(2, []byte("abcde"))
	leaf := unhex(t, `
		fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603  # ab
		21e721c35a5823fdb452fa2f9f0a612c74fb952e06927489c6b27a43b817bed4  # cd
		3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea  # e`)
	top := unhex(t, "01 00000002 0000000000000005 c6ce55e202f02d2d03bd32fe9ac405b665f5dddf0f27c494af1b94a2e46b2bd1")
	same(t, "layout", m.Layout, Layout{5, 2})
	same(t, "top", m.Segment(0), top)
	same(t, "leaf", m.Segment(1), leaf)
	digest := m.Digest()
	same(t, "digest", digest[:], unhex(t, "f223c47da02e0bc0ab94c962aaed158e72240b15ba0d72c31d954d089ca53b77"))
	if m.Version() != binary.BigEndian.Uint64(digest[:8]) {
		t.Errorf("version %#x", m.Version())
	}
	if m.Segment(-1) != nil || m.Segment(2) != nil {
		t.Error("segments beyond the ends")
	}
	if m.ChunkDigest(2) != sha256.Sum256([]byte("e")) || m.ChunkDigest(-1) != (Digest{}) || m.ChunkDigest(3) != (Digest{}) {
		t.Error("wrong chunk digest")
	}
}

func TestManifestEmpty(t *testing.T) {
	m := build(0, nil)
	same(t, "layout", m.Layout, Layout{0, ChunkSize})
	nothing := sha256.Sum256(nil)
	same(t, "leaf", m.Segment(1), nothing[:])
	if m.Chunks() != 1 || m.ChunkDigest(0) != nothing {
		t.Errorf("%d chunks, the first %x", m.Chunks(), m.ChunkDigest(0))
	}
}

// TestManifestDefinition holds the builder to the definition, for any split of the stream.
func TestManifestDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layout(30_000).Draw(t, "layout")
		content := object(l.Size)
		b := NewManifestBuilder(l.ChunkSize)
		for rest := content; len(rest) > 0; {
			n := rapid.OneOf(rapid.IntRange(1, len(rest)), rapid.Just(min(len(rest), l.ChunkSize))).Draw(t, "piece")
			if got, err := b.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("%d written, %v", got, err)
			}
			rest = rest[n:]
		}
		m := b.Finish()
		same(t, "layout", m.Layout, l)

		var digests []byte
		for i := range l.Chunks() {
			at := i * int64(l.ChunkSize)
			d := sha256.Sum256(content[at : at+int64(l.ChunkLen(i))])
			if m.ChunkDigest(i) != d {
				t.Fatalf("chunk %d: %x, want %x", i, m.ChunkDigest(i), d)
			}
			digests = append(digests, d[:]...)
		}
		var top, leaves []byte
		for i := range l.Segments() {
			s := m.Segment(i)
			if len(s) != l.SegmentLen(i) {
				t.Fatalf("segment %d has %d bytes", i, len(s))
			}
			if i < l.TopSegments() {
				top = append(top, s...)
			} else {
				leaves = append(leaves, s...)
			}
		}
		if !bytes.Equal(leaves, digests) {
			t.Fatal("leaves aren't the digests of the chunks")
		}
		want := append([]byte{1}, binary.BigEndian.AppendUint32(nil, uint32(l.ChunkSize))...)
		want = binary.BigEndian.AppendUint64(want, uint64(l.Size))
		for i := range l.Leaves() {
			d := sha256.Sum256(m.Segment(l.TopSegments() + i))
			want = append(want, d[:]...)
		}
		if !bytes.Equal(top, want) || m.Digest() != sha256.Sum256(want) {
			t.Fatal("top list or digest wrong")
		}

		again, err := NewManifest(l, digests)
		if err != nil || again.Digest() != m.Digest() {
			t.Fatalf("from digests: %v", err)
		}
		if _, err := NewManifest(l, digests[:len(digests)-1]); err != ErrSegmentLength {
			t.Fatalf("with a byte missing: %v", err)
		}
		if _, err := NewManifest(l, append(digests, make([]byte, 32)...)); err != ErrSegmentLength {
			t.Fatalf("with a digest too many: %v", err)
		}
	})
}

func TestManifestOfBadLayout(t *testing.T) {
	if _, err := NewManifest(Layout{1, 0}, make([]byte, 32)); err != ErrLayout {
		t.Errorf("error %v", err)
	}
	for _, size := range []int{-1, 8001} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("chunk size %d: no panic", size)
				}
			}()
			NewManifestBuilder(size)
		}()
	}
}

func BenchmarkManifestBuilder(b *testing.B) {
	content := object(1 << 20)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		build(0, content)
	}
}
