package endpoint

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRanges compares with a map of bytes.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranges
		var have [64]bool
		for range rapid.IntRange(1, 30).Draw(t, "adds") {
			from := rapid.Int64Range(0, 63).Draw(t, "from")
			to := rapid.Int64Range(from, 64).Draw(t, "to")
			r.add(from, to)
			for i := from; i < to; i++ {
				have[i] = true
			}
			next := int64(0)
			for next < 64 && have[next] {
				next++
			}
			if r.next != next {
				t.Fatalf("all before %d is there, not %d", next, r.next)
			}
			var later [64]bool
			last := r.next
			for _, g := range r.later {
				if g.from <= last || g.to <= g.from {
					t.Fatalf("ranges %v after %d aren't in order, or touch", r.later, r.next)
				}
				for i := g.from; i < g.to; i++ {
					later[i] = true
				}
				last = g.to
			}
			for i := next; i < 64; i++ {
				if later[i] != have[i] {
					t.Fatalf("byte %d: %v, want %v", i, later[i], have[i])
				}
			}
		}
	})
}
