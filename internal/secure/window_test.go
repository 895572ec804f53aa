package secure

import (
	"testing"

	"pgregory.net/rapid"
)

// TestWindow compares the window with a set that forgets nothing.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &window{}
		seen := map[uint64]bool{}
		newest := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "datagrams") {
			var c uint64
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				c = newest + uint64(rapid.IntRange(0, 3).Draw(t, "ahead"))
			case 1:
				c = newest + uint64(rapid.IntRange(0, 3*windowBits).Draw(t, "far ahead"))
			default:
				c = newest - min(newest, uint64(rapid.IntRange(0, 2*windowBits).Draw(t, "behind")))
			}
			if w.widen(uint32(c)) != c {
				t.Fatalf("widen(%d) = %d", c, w.widen(uint32(c)))
			}
			fresh := w.fresh(c)
			switch {
			case seen[c] && fresh:
				t.Fatalf("%d counts twice", c)
			case !seen[c] && !fresh && c+windowBits > newest+1:
				t.Fatalf("%d of the newest %d is refused; the newest is %d", c, windowBits, newest)
			}
			if fresh {
				if w.mark(c) != (len(seen) == 0 || c > newest) {
					t.Fatalf("%d: wrong about the newest, %d", c, newest)
				}
				seen[c] = true
				newest = max(newest, c)
			}
		}
	})
}

func TestWiden(t *testing.T) {
	for _, c := range []struct {
		newest uint64
		want   uint64
	}{
		{0, 0},
		{0, 1 << 20},
		{1<<32 - 5, 1<<32 + 7},
		{1<<32 + 5, 1<<32 - 7},
		{5 << 32, 5<<32 - 1},
		{5<<32 - 1, 5 << 32},
	} {
		w := &window{next: c.newest + 1}
		if got := w.widen(uint32(c.want)); got != c.want {
			t.Errorf("newest %#x: widen(%#x) = %#x, want %#x", c.newest, uint32(c.want), got, c.want)
		}
	}
}
