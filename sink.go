package mars

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"mars/internal/disk"
	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	// maxUnsettled bounds the chunks that are asked for beyond the first missing one of a stream: 8 MB of memory.
	maxUnsettled = 1024
	// flushEvery bounds what a kill may lose of the journal.
	flushEvery = 100 * time.Millisecond
)

// store is where verified chunks go.
type store interface {
	// open prepares for an object; claimed says which chunks may be there already (nil: none).
	open(o fetch.Object) (claimed func(int64) bool, err error)
	// check tells whether a claimed chunk is there and right.
	check(chunk int64, want wire.Digest) (bool, error)
	// write stores a verified chunk. It may keep data and settle it later through done.
	write(chunk int64, data []byte) error
	flush() error
	// finish makes the object complete; close leaves a state that can be resumed.
	finish() error
	close() error
}

// sink takes a fetch's chunks from the engine, verifies them and stores them, on a goroutine of its own: neither hashing nor a
// slow disk holds up the node.
type sink struct {
	id     fetch.ID
	store  store
	events *mailbox[fetch.Event]
	post   func(func(now machine.Time, e *fetch.Engine)) // runs on the loop goroutine
	object chan<- fetch.Object
}

// settleAtOnce bounds the events that a sink takes between two looks at its context and the clock.
const settleAtOnce = 64

// settled is the fate of one chunk.
type settled struct {
	chunk int64
	data  []byte
	ok    bool
}

func newSink(id fetch.ID, st store, post func(func(machine.Time, *fetch.Engine)), object chan<- fetch.Object) *sink {
	return &sink{id: id, store: st, post: post, object: object, events: newMailbox[fetch.Event]()}
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
			done, err := s.handle(events)
			if err != nil {
				return errors.Join(err, s.store.close())
			}
			if done {
				return s.store.finish()
			}
		}
	}
}

// handle does what the events ask for and answers them together.
func (s *sink) handle(events []fetch.Event) (done bool, err error) {
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
			claimed, err := s.store.open(ev.Object)
			if err != nil {
				return false, err
			}
			select {
			case s.object <- ev.Object:
			default:
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

// fileStore writes to a file by way of a partial file and its journal.
type fileStore struct {
	dest      string
	fresh     bool // what an earlier fetch left doesn't count
	partial   *disk.Partial
	discarded func(error) // told when the remains of other content were thrown away
}

func (f *fileStore) open(o fetch.Object) (func(int64) bool, error) {
	p, err := disk.OpenPartial(f.dest, disk.Identity{Name: o.Name, Version: o.Version, Digest: o.Digest, Layout: o.Layout})
	if err != nil {
		return nil, err
	}
	f.partial = p
	if f.fresh {
		return nil, p.Reset()
	}
	if _, discarded := p.Resumed(); discarded != nil && f.discarded != nil {
		f.discarded(discarded)
	}
	return p.Claimed, nil
}

func (f *fileStore) check(chunk int64, want wire.Digest) (bool, error) {
	return f.partial.Verify(chunk, want)
}

func (f *fileStore) write(chunk int64, data []byte) error { return f.partial.WriteChunk(chunk, data) }

func (f *fileStore) flush() error {
	if f.partial == nil {
		return nil
	}
	return f.partial.Flush()
}

func (f *fileStore) finish() error { return f.partial.Finish() }

func (f *fileStore) close() error {
	if f.partial == nil {
		return nil
	}
	return f.partial.Close()
}

// pipeStore writes to a stream, in order. Chunks that come early wait in memory; the engine bounds them by MaxAhead.
type pipeStore struct {
	w     io.Writer
	next  int64
	early map[int64][]byte
	free  [][]byte
}

func (p *pipeStore) open(fetch.Object) (func(int64) bool, error) {
	p.early = make(map[int64][]byte)
	return nil, nil
}

func (p *pipeStore) check(int64, wire.Digest) (bool, error) { return false, nil }

func (p *pipeStore) write(chunk int64, data []byte) error {
	if chunk != p.next {
		var buf []byte
		if n := len(p.free); n > 0 {
			buf, p.free = p.free[n-1], p.free[:n-1]
		}
		p.early[chunk] = append(buf[:0], data...)
		return nil
	}
	if _, err := p.w.Write(data); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	p.next++
	for buf, ok := p.early[p.next]; ok; buf, ok = p.early[p.next] {
		if _, err := p.w.Write(buf); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		delete(p.early, p.next)
		p.free = append(p.free, buf)
		p.next++
	}
	return nil
}

func (p *pipeStore) flush() error  { return nil }
func (p *pipeStore) finish() error { return nil }
func (p *pipeStore) close() error  { return nil }
