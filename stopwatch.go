package mars

import (
	"sync/atomic"
	"time"
)

// stopwatch adds up for how long something was done, by any number of goroutines: the time in which at least one was at it.
type stopwatch struct {
	running atomic.Int64
	since   atomic.Int64 // ns since the epoch of start
	total   atomic.Int64 // ns
}

// epoch is what stopwatches count from.
var epoch = time.Now()

// start begins.
func (w *stopwatch) start() {
	at := int64(time.Since(epoch))
	if w.running.Add(1) == 1 {
		w.since.Store(at)
	}
}

func (w *stopwatch) stop() {
	at, from := int64(time.Since(epoch)), w.since.Load()
	if w.running.Add(-1) == 0 {
		w.total.Add(max(at-from, 0))
	}
}

// read is the sum so far, also of what isn't over.
func (w *stopwatch) read() time.Duration {
	sum := w.total.Load()
	if w.running.Load() > 0 {
		sum += max(int64(time.Since(epoch))-w.since.Load(), 0)
	}
	return time.Duration(sum)
}
