package mars

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mars/internal/fetch"
	"mars/internal/machine"
)

// took counts what became of a job.
func (b *batch) took(ctx context.Context, out outcome) {
	b.running--
	b.wanted -= out.size
	if out.size > smallFile {
		b.large--
	}
	s := &b.sum
	s.Corrupt += out.stats.Corrupt
	s.Resent += out.stats.Resent
	switch {
	case out.Err != nil && ctx.Err() != nil: // it was only interrupted
		return
	case out.Err != nil:
		s.Files.Failed++
		if b.worst == nil || gravity(out.Err) < gravity(b.worst) {
			b.worst = out.Err
		}
	case out.Directory:
		b.open = append(b.open, &opened{out.name, out.File, out.Signer, out.list})
		for l := out.list; ; {
			e, rest, ok, _ := l.Next()
			if !ok {
				break
			}
			if l = rest; !e.Directory {
				s.Files.Known++
				s.Size += e.Size
			}
		}
	default:
		b.room = min(b.room+1, maxRunning)
		s.Size += out.Size - out.size // a listing may be older than the file
		s.Files.Done++
		if !b.o.Look {
			s.Bytes += out.Size
			s.Resumed += out.stats.Resumed
		}
		if out.Present {
			s.Files.Present++
			s.Resumed += out.Size
		} else if !b.o.Look {
			b.written = true
		}
	}
	if b.o.Item != nil {
		b.o.Item(out.Item)
	}
}

// tell reports the progress, with that of what is under way.
func (b *batch) tell() {
	p := b.sum
	b.mu.Lock()
	ids := make([]fetch.ID, 0, len(b.live))
	for t := range b.live {
		ids = append(ids, t.sink.id)
	}
	b.mu.Unlock()
	_ = b.n.driver.Do(func(machine.Time) {
		for _, id := range ids {
			s := b.n.fetch.Stats(id)
			p.Bytes += s.Bytes
			p.Resumed += s.Resumed
			p.RTT = max(p.RTT, time.Duration(s.RTT))
		}
	})
	if faces, err := b.n.Status(); err == nil {
		b.sum.Faces, p.Faces = faces, faces
	}
	p.Size = max(p.Size, p.Bytes)
	p.Elapsed = time.Since(b.start)
	b.sum.Elapsed = p.Elapsed
	if b.o.Progress != nil {
		b.o.Progress(p)
	}
}

// result is the error of the batch.
func (b *batch) result(ctx context.Context) error {
	total := b.sum.Files.Known
	switch {
	case ctx.Err() != nil:
		return fetchError(fmt.Sprintf("%d objects", total), context.Cause(ctx))
	case b.worst != nil && len(b.o.Names) == 1 && total <= 1:
		return b.worst
	case b.sum.Files.Failed > 0:
		return &batchError{b.sum.Files.Failed, total, b.worst}
	}
	return b.worst
}

// batchError is the error of a batch of which something failed.
type batchError struct {
	failed, known int
	worst         error
}

func (e *batchError) Error() string {
	return fmt.Sprintf("%d of %d objects failed; the gravest: %v", e.failed, e.known, e.worst)
}

func (e *batchError) Unwrap() error { return e.worst }

// gravity is the place of an error among the kinds: the gravest first.
func gravity(err error) int {
	for i, k := range kinds {
		if errors.Is(err, k.is) {
			return i
		}
	}
	return len(kinds)
}
