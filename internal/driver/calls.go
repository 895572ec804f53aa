package driver

import (
	"sync"

	"mars/internal/machine"
)

// calls are functions on their way to the loop.
type calls struct {
	wake chan struct{} // holds a token when the loop has something to look at
	end  chan struct{} // closed when the loop has ended

	mu    sync.Mutex
	queue []func(now machine.Time)
	spare []func(now machine.Time)
	over  bool
}

func (c *calls) init() {
	c.wake = make(chan struct{}, 1)
	c.end = make(chan struct{})
}

// wakeup makes the loop take another turn.
func (d *Driver) wakeup() {
	select {
	case d.calls.wake <- struct{}{}:
	default:
	}
}

// Post runs f on the loop goroutine, between two calls of the Machine, and doesn't wait for it. Functions run in the
// order in which they were posted; before Run runs they queue. After the driver's end f never runs.
func (d *Driver) Post(f func(now machine.Time)) { d.post(f) }

func (d *Driver) post(f func(now machine.Time)) bool {
	c := &d.calls
	c.mu.Lock()
	over := c.over
	if !over {
		c.queue = append(c.queue, f)
	}
	c.mu.Unlock()
	if !over {
		d.wakeup()
	}
	return !over
}

// Do is Post and waits until f has run. It blocks until Run runs, and must not be called on the loop goroutine (from
// the Machine, OnTurn, Accept, Do or Post): that would wait for itself. ErrClosed: the driver has ended and f never runs.
func (d *Driver) Do(f func(now machine.Time)) error {
	done := make(chan struct{})
	if !d.post(func(now machine.Time) { f(now); close(done) }) {
		return ErrClosed
	}
	select {
	case <-done:
		return nil
	case <-d.calls.end:
	}
	select {
	case <-done: // the end came right after f
		return nil
	default:
		return ErrClosed
	}
}

// runCalls runs what has been posted so far and reports whether there was any.
func (d *Driver) runCalls() bool {
	c := &d.calls
	c.mu.Lock()
	queue := c.queue
	c.queue, c.spare = c.spare[:0], nil
	c.mu.Unlock()
	for i, f := range queue {
		f(d.clock.now())
		queue[i] = nil
	}
	c.mu.Lock()
	c.spare = queue[:0]
	c.mu.Unlock()
	return len(queue) > 0
}

// finish refuses all further calls and lets those who wait for one go.
func (c *calls) finish() {
	c.mu.Lock()
	c.over, c.queue, c.spare = true, nil, nil
	c.mu.Unlock()
	close(c.end)
}
