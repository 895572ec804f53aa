package disk

import (
	"testing"

	"pgregory.net/rapid"
)

// TestBitmap compares a bitmap with a map.
func TestBitmap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.Int64Range(1, 300).Draw(r, "n")
		b, model := newBitmap(n), map[int64]bool{}
		bit := rapid.Int64Range(0, n-1)
		r.Repeat(map[string]func(*rapid.T){
			"set":   func(r *rapid.T) { i := bit.Draw(r, "i"); b.set(i); model[i] = true },
			"clear": func(r *rapid.T) { i := bit.Draw(r, "i"); b.clear(i); delete(model, i) },
			"range": func(r *rapid.T) {
				first := bit.Draw(r, "first")
				count := rapid.Int64Range(0, n-first).Draw(r, "count")
				b.setRange(first, count)
				for i := range count {
					model[first+i] = true
				}
			},
			"reset": func(*rapid.T) { b.reset(); clear(model) },
			"": func(r *rapid.T) {
				missing := n
				for i := n - 1; i >= 0; i-- {
					if b.has(i) != model[i] {
						r.Fatalf("bit %d is %v", i, b.has(i))
					}
					if !model[i] {
						missing = i
					}
				}
				if b.count != int64(len(model)) || b.missing(n) != missing {
					r.Fatalf("count %d of %d, first missing %d of %d", b.count, len(model), b.missing(n), missing)
				}
			},
		})
	})
}
