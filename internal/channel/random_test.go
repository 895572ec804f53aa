package channel

import "testing"

// TestStreamsAreIndependent: losses depend on the link's name and the seed, and not on what happens on other links.
func TestStreamsAreIndependent(t *testing.T) {
	draw := func(seed uint64, name string) uint64 { return Stream(seed, name).Uint64() }
	a := draw(1, "a")
	if again := draw(1, "a"); a != again || a == draw(1, "b") || a == draw(2, "a") {
		t.Error("streams")
	}
}
