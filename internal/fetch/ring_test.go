package fetch

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRingProperty compares a ring with a slice.
func TestRingProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring[int]
		var want []int
		for i := range rapid.IntRange(0, 300).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				if first, got := r.first(), r.pop(); got != want[0] || first != got {
					t.Fatalf("popped %d, first %d, want %d", got, first, want[0])
				}
				want = want[1:]
			} else {
				r.push(i)
				want = append(want, i)
			}
			if r.len() != len(want) {
				t.Fatalf("%d in it, want %d", r.len(), len(want))
			}
		}
	})
}

// TestRingReusesItsArray: a queue that is used for ever doesn't grow for ever, and holds on to nothing that left.
func TestRingReusesItsArray(t *testing.T) {
	var r ring[*int]
	for range 3 {
		r.push(new(int))
	}
	for range 1000 {
		r.push(r.pop())
	}
	if len(r.buf) != 4 {
		t.Errorf("an array of %d for 3", len(r.buf))
	}
	for r.len() > 0 {
		r.pop()
	}
	for i, p := range r.buf {
		if p != nil {
			t.Errorf("slot %d still holds something", i)
		}
	}
}
