package foreign

import (
	"testing"

	"mars/internal/machine"
)

// TestLimit: a transfer takes as long as the limit says, whatever the segments' size, and no longer by much.
func TestLimit(t *testing.T) {
	for _, size := range []int{100, 8000} {
		const rate = 200_000.0
		w := newWorld(t, newProducer("/f", 1000, size))
		w.e.Limit(0, rate)
		s := w.fetch(w.p.name)
		least := float64(1000*size) / rate
		if got := w.now.Seconds(); got < 0.95*least || got > 1.1*least+1 {
			t.Errorf("segments of %d bytes: %.2f s, the limit makes it %.2f s; %+v", size, got, least, s)
		}
	}
}

// TestLimitIsLifted: who waits for a limit that is no more needn't wait.
func TestLimitIsLifted(t *testing.T) {
	w := newWorld(t, newProducer("/f", 1000, 100))
	w.e.Limit(0, 1)
	w.e.Limit(0, 0)
	if w.fetch(w.p.name); w.now > 100*machine.Second {
		t.Errorf("%.2f s", w.now.Seconds())
	}
}
