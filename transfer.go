package mars

import (
	"context"
	"time"

	"mars/internal/driver"
	"mars/internal/fetch"
	"mars/internal/machine"
)

// transfer is one object on its way from the fetch engine to a store.
type transfer struct {
	n    *Node
	sink *sink
}

// begin starts a transfer; the caller runs it and then ends it.
func (n *Node) begin(req fetch.Request, st store) (*transfer, error) {
	n.settle()
	return n.launch(st, func(now machine.Time) fetch.ID { return n.fetch.Start(now, req) })
}

// launch makes the transfer that start starts, on the loop goroutine.
func (n *Node) launch(st store, start func(now machine.Time) fetch.ID) (*transfer, error) {
	t := &transfer{n: n}
	post := func(f func(machine.Time, *fetch.Engine)) {
		n.driver.Post(func(now machine.Time) {
			f(now, n.fetch)
			n.node.Touch(now)
		})
	}
	err := n.driver.Do(func(now machine.Time) {
		t.sink = newSink(start(now), st, post)
		n.sinks[t.sink.id] = t.sink
		n.node.Touch(now)
	})
	return t, err
}

// run ends with nil when the object is where the store puts it.
func (t *transfer) run(ctx context.Context) error { return t.n.strangers(t.sink.run(ctx)) }

// object is what the name resolved to; nil: not known yet.
func (t *transfer) object() *fetch.Object { return t.sink.object.Load() }

// end forgets the transfer and returns its last figures; false: the node has ended.
func (t *transfer) end() (s fetch.Stats, ok bool) {
	err := t.n.driver.Do(func(now machine.Time) {
		s = t.n.fetch.Stats(t.sink.id)
		t.n.fetch.Cancel(now, t.sink.id)
		delete(t.n.sinks, t.sink.id)
		t.n.node.Touch(now)
	})
	return s, err == nil
}

// fetchTo runs one transfer from start to end.
func (n *Node) fetchTo(ctx context.Context, req fetch.Request, st store) (*fetch.Object, fetch.Stats, error) {
	t, err := n.begin(req, st)
	if err != nil {
		return nil, fetch.Stats{}, err
	}
	err = t.run(ctx)
	stats, alive := t.end()
	if err == nil && !alive {
		err = driver.ErrClosed
	}
	return t.object(), stats, err
}

// LimitRate caps what all fetches of the node ask for together, and all plain ones, in bits per second of content; 0: no limit. What the paths
// carry is a little more, for headers. It fails when the node doesn't run.
func (n *Node) LimitRate(r Rate) error {
	return n.driver.Do(func(now machine.Time) {
		n.fetch.Limit(now, r.BytesPerSecond())
		n.foreign.Limit(now, r.BytesPerSecond())
		n.node.Touch(now)
	})
}

const (
	// firstPause is how long to wait before a fetch that failed for a while is tried again; the pause doubles each time up to
	// longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// persist calls f again, at most retries times, while it fails with what may go away by itself.
func (n *Node) persist(ctx context.Context, what string, retries int, f func() error) error {
	pause := firstPause
	for {
		err := f()
		if err == nil || retries <= 0 || ExitCode(err) != exitTemporary || ctx.Err() != nil {
			return err
		}
		n.log.Warn("trying again", "object", what, "after", pause, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		retries, pause = retries-1, min(2*pause, longestPause)
	}
}
