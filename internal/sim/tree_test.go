package sim

import (
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
)

// TestTree: the winner is always the earliest leaf, the lowest of those due at the same moment.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "leaves")
		tr := newTree(n)
		times := make([]machine.Time, n)
		for i := range times {
			times[i] = machine.Never
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "leaf")
			times[i] = machine.Time(rapid.Int64Range(0, 50).Draw(t, "time"))
			if rapid.IntRange(0, 3).Draw(t, "idle") == 0 {
				times[i] = machine.Never
			}
			tr.set(i, times[i])
			best, leaf := machine.Never, 0
			for k, at := range times {
				if at < best {
					best, leaf = at, k
				}
			}
			if at, got := tr.next(); at != best || at != machine.Never && got != leaf {
				t.Fatalf("%v at leaf %d, want %v at %d", at, got, best, leaf)
			}
		}
	})
}
