package mars

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	"mars/internal/fetch"
	"mars/internal/machine"
)

const (
	// maxUnsettled bounds the chunks that are asked for beyond the first missing one of a stream: 8 MB of memory.
	maxUnsettled = 1024
	// flushEvery bounds what a kill may lose of the journal.
	flushEvery = 100 * time.Millisecond
)

// sink takes a fetch's chunks from the engine, verifies them and stores them, on a goroutine of its own: neither hashing nor a
// slow disk holds up the node.
type sink struct {
	id     fetch.ID
	store  store
	events *mailbox[fetch.Event]
	post   func(func(now machine.Time, e *fetch.Engine)) // runs on the loop goroutine
	object atomic.Pointer[fetch.Object]                  // once it is resolved
	whole  bool                                          // the store had all of it
}

// settleAtOnce bounds the events that a sink takes between two looks at its context and the clock.
const settleAtOnce = 64

// settled is the fate of one chunk.
type settled struct {
	chunk int64
	data  []byte
	ok    bool
}

func newSink(id fetch.ID, st store, post func(func(machine.Time, *fetch.Engine))) *sink {
	return &sink{id: id, store: st, post: post, events: newMailbox[fetch.Event]()}
}

// run ends with nil when the whole object is stored.
func (s *sink) run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var events []fetch.Event
	for {
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), s.store.close())
		case <-tick.C:
			if err := s.store.flush(); err != nil {
				return errors.Join(err, s.store.close())
			}
		case <-s.events.filled:
			events = s.events.take(events, settleAtOnce)
			done, err := s.handle(ctx, events)
			switch {
			case err != nil:
				return errors.Join(err, s.store.close())
			case s.whole:
				return nil
			case done:
				return s.store.finish()
			}
		}
	}
}

// handle does what the events ask for and answers them together.
func (s *sink) handle(ctx context.Context, events []fetch.Event) (done bool, err error) {
	var batch []settled
	defer func() {
		if len(batch) > 0 {
			s.post(func(now machine.Time, e *fetch.Engine) {
				for _, b := range batch {
					e.Settle(now, s.id, b.chunk, b.data, b.ok)
				}
			})
		}
	}()
	for _, ev := range events {
		switch ev.Kind {
		case fetch.Resolved:
			claimed, whole, err := s.store.open(ctx, ev.Object)
			if err != nil {
				return false, err
			}
			s.whole = whole
			s.object.Store(&ev.Object)
			if whole {
				return true, nil
			}
			s.post(func(now machine.Time, e *fetch.Engine) { e.Accept(now, s.id, claimed) })
		case fetch.Chunk:
			b, err := s.chunk(ev)
			if err != nil {
				return false, err
			}
			batch = append(batch, b)
		case fetch.Done:
			return true, nil
		case fetch.Failed:
			return false, ev.Err
		}
	}
	return false, nil
}

func (s *sink) chunk(ev fetch.Event) (settled, error) {
	if ev.Data == nil {
		ok, err := s.store.check(ev.Chunk, ev.Want)
		return settled{ev.Chunk, nil, ok}, err
	}
	if sha256.Sum256(ev.Data) != ev.Want {
		return settled{ev.Chunk, ev.Data, false}, nil
	}
	return settled{ev.Chunk, ev.Data, true}, s.store.write(ev.Chunk, ev.Data)
}
