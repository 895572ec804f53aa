package mars

import (
	"testing"
	"time"
)

// TestStopwatch: what two do at once counts once, and what goes on counts.
func TestStopwatch(t *testing.T) {
	var w stopwatch
	w.start()
	w.start()
	time.Sleep(20 * time.Millisecond)
	w.stop()
	if w.read() < 20*time.Millisecond {
		t.Errorf("%v of what goes on", w.read())
	}
	w.stop()
	whole := w.read()
	time.Sleep(5 * time.Millisecond)
	if w.read() != whole {
		t.Error("it runs on when all have stopped")
	}
	if limit := time.Since(epoch); whole > limit {
		t.Errorf("%v were added up in %v", whole, limit)
	}
}
