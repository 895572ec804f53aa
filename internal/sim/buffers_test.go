package sim

import "testing"

// TestNothingLeaks: when a run is over, every packet's slot is free again or its packet is still under way.
func TestNothingLeaks(t *testing.T) {
	s, err := findSystem("MARS-everywhere-paper")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.build(emulation(0.01, 300_000), 3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.run(60e9)
	under := 0
	for i := range w.net.links {
		under += int(w.net.links[i].n)
	}
	if got := w.net.bufs.used(); got != under {
		t.Errorf("%d slots are taken, and %d packets are under way", got, under)
	}
}

// used is the number of slots taken.
func (b *buffers) used() int { return len(b.slabs)*slabSlots - len(b.free) }
