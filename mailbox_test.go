package mars

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMailbox compares with a slice: nothing is lost, in order, and the reader is told of all that is there.
func TestMailbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMailbox[int]()
		var model, got []int
		next := 0
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			for range rapid.IntRange(0, 20).Draw(t, "puts") {
				next++
				m.put(next)
				model = append(model, next)
			}
			if rapid.Bool().Draw(t, "pause") {
				continue
			}
			select {
			case <-m.filled:
			default:
				if len(model) > 0 {
					t.Fatalf("nobody is told of %v", model)
				}
			}
			most := rapid.IntRange(1, 15).Draw(t, "most")
			want := model[:min(most, len(model))]
			if got = m.take(got, most); !slices.Equal(got, want) {
				t.Fatalf("got %v instead of %v", got, want)
			}
			model = model[len(want):]
		}
	})
}

// TestMailboxOfTheGone: whoever fills it never waits, though nobody reads.
func TestMailboxOfTheGone(t *testing.T) {
	m := newMailbox[int]()
	for i := range 100_000 {
		m.put(i)
	}
	if got := m.take(nil, 200_000); len(got) != 100_000 {
		t.Errorf("%d values are there", len(got))
	}
}
