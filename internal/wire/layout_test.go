package wire

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		what                          string
		layout                        Layout
		chunks, leaves, top, segments int64
		last                          int
	}{
		{"empty", Layout{0, 8000}, 1, 1, 13 + 32, 2, 0},
		{"one byte", Layout{1, 8000}, 1, 1, 13 + 32, 2, 1},
		{"one chunk", Layout{8000, 8000}, 1, 1, 13 + 32, 2, 8000},
		{"one byte more", Layout{8001, 8000}, 2, 1, 13 + 32, 2, 1},
		{"a full leaf", Layout{2_000_000, 8000}, 250, 1, 13 + 32, 2, 8000},
		{"two leaves", Layout{2_000_001, 8000}, 251, 2, 13 + 64, 3, 1},
		{"a full top segment", Layout{249 * 250, 1}, 62250, 249, 7981, 250, 1},
		{"two top segments", Layout{250 * 250, 1}, 62500, 250, 8013, 252, 1},
		{"small chunks", Layout{1000, 3}, 334, 2, 13 + 64, 3, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := c.layout
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			if l.Chunks() != c.chunks || l.Leaves() != c.leaves || l.TopLen() != c.top || l.Segments() != c.segments {
				t.Errorf("%d chunks, %d leaves, %d bytes of top, %d segments", l.Chunks(), l.Leaves(), l.TopLen(), l.Segments())
			}
			if got := l.ChunkLen(c.chunks - 1); got != c.last {
				t.Errorf("last chunk %d bytes, want %d", got, c.last)
			}
		})
	}
}

func TestLayoutRejects(t *testing.T) {
	for _, l := range []Layout{{-1, 8000}, {math.MinInt64, 1}, {0, 0}, {0, -1}, {0, 8001}, {5, math.MaxInt}} {
		if err := l.Validate(); err != ErrLayout {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func layout(most int64) *rapid.Generator[Layout] {
	return rapid.Custom(func(t *rapid.T) Layout {
		size := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, most - 1, most}), rapid.Int64Range(0, most)).Draw(t, "size")
		return Layout{size, rapid.OneOf(rapid.SampledFrom([]int{1, ChunkSize}), rapid.IntRange(1, ChunkSize)).Draw(t, "chunk size")}
	})
}

// TestLayoutAddsUp: sizes of the parts add up to those of the whole, up to the largest object there is.
func TestLayoutAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layout(math.MaxInt64).Draw(t, "layout")
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		last := l.Chunks() - 1
		if got := last*int64(l.ChunkSize) + int64(l.ChunkLen(last)); got != l.Size {
			t.Fatalf("chunks add up to %d", got)
		}
		if l.Size > 0 && l.ChunkLen(last) == 0 || last > 0 && l.ChunkLen(0) != l.ChunkSize {
			t.Fatalf("first chunk %d bytes, last %d", l.ChunkLen(0), l.ChunkLen(last))
		}
		if l.ChunkLen(-1) != 0 || l.ChunkLen(last+1) != 0 || l.LeafLen(-1) != 0 || l.LeafLen(l.Leaves()) != 0 {
			t.Fatal("parts beyond the ends have bytes")
		}
		if l.LeafOf(last) != l.Leaves()-1 {
			t.Fatalf("last chunk in leaf %d of %d", l.LeafOf(last), l.Leaves())
		}
		first, after := l.ChunksOf(l.Leaves() - 1)
		if after != last+1 || int64(l.LeafLen(l.Leaves()-1)/32) != after-first || l.LeafOf(first) != l.Leaves()-1 {
			t.Fatalf("the last leaf holds the digests of chunks %d to %d", first, after)
		}
		full := (l.Leaves() - 1) * DigestsPerLeaf
		if got := full + int64(l.LeafLen(l.Leaves()-1)/32); got != l.Chunks() {
			t.Fatalf("leaves hold %d digests", got)
		}
		top := l.TopSegments()
		if got := (top-1)*ChunkSize + int64(l.SegmentLen(top-1)); got != l.TopLen() {
			t.Fatalf("top segments add up to %d", got)
		}
		if l.SegmentLen(top) != l.LeafLen(0) || l.SegmentLen(-1) != 0 || l.SegmentLen(l.Segments()) != 0 || l.SegmentLen(l.Segments()-1) == 0 {
			t.Fatal("segments and leaves don't match")
		}
	})
}
