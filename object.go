package mars

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mars/internal/driver"
	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/wire"
)

// OpenOptions says what to open.
type OpenOptions struct {
	// Name is the object's NDN URI, "/site/data/file.iso".
	Name string
	// Signers says who may sign the object; else opening fails with ErrUntrusted.
	Signers Signers
	// Stall is how long to wait without progress before ErrTimeout, at opening and at reading; 0: 30 s.
	Stall time.Duration
}

// Object is one version of an object that is fetched as it is read: only what is asked for, every piece verified before it
// is handed out. Its methods may be called from every goroutine.
type Object struct {
	t     *transfer
	name  string
	stall time.Duration
	end   func()
}

// Open finds out what the name stands for now, and fetches nothing of it yet. Errors are those of Fetch. The node must run
// until the object is closed.
func (n *Node) Open(ctx context.Context, o OpenOptions) (*Object, error) {
	name, err := objectName(o.Name)
	if err != nil {
		return nil, err
	}
	t, err := n.begin(fetch.Request{Name: name, Stall: machine.Time(o.Stall), Trust: n.trusting(o.Signers)}, &lookStore{})
	if err != nil {
		return nil, fetchError(o.Name, err)
	}
	if err := t.run(ctx); err != nil {
		t.end()
		return nil, fetchError(o.Name, err)
	}
	return &Object{t: t, name: o.Name, stall: o.Stall, end: sync.OnceFunc(func() { t.end() })}, nil
}

// Close forgets the object. Reads that are under way end as they would have.
func (o *Object) Close() error {
	o.end()
	return nil
}

// Name is the object's NDN URI, as it was opened.
func (o *Object) Name() string { return o.name }

// Size is in bytes.
func (o *Object) Size() int64 { return o.t.object().Layout.Size }

// Version is the first 8 bytes of Digest.
func (o *Object) Version() uint64 { return o.t.object().Version }

// Digest is that of the manifest: it stands for every byte of the object.
func (o *Object) Digest() wire.Digest { return o.t.object().Digest }

// Signer is the key of who signed the object; the zero key: nobody.
func (o *Object) Signer() PublicKey { return signer(o.t.object()) }

// Modified is when the file was last changed, as its producer says: nothing verifies it. Zero: not known.
func (o *Object) Modified() time.Time {
	if t := o.t.object().MTime; t > 0 {
		return time.Unix(0, t)
	}
	return time.Time{}
}

// ErrRange: a part of an object that it doesn't have.
var ErrRange = UsageError(errors.New("the object has no such bytes"))

// WriteRange writes the n bytes from offset on to w, in order, as they come. It asks for what lies ahead of them, 8 MB at most, to fill
// every path, and holds no more than that when w is slow. Errors are those of Fetch, ErrRange, and those of w;
// ErrChanged means that the version is gone: open it again.
func (o *Object) WriteRange(ctx context.Context, w io.Writer, offset, n int64) error {
	if offset < 0 || n < 0 || offset > o.Size()-n {
		return fmt.Errorf("%w: %d bytes from %d on, of %d", ErrRange, n, offset, o.Size())
	}
	if n == 0 {
		return nil
	}
	size := int64(o.t.object().Layout.ChunkSize)
	span := fetch.Span{First: offset / size, End: (offset+n-1)/size + 1, MaxAhead: maxUnsettled, Stall: machine.Time(o.stall)}
	t, err := o.t.n.beginSpan(o.t, span, newSpanStore(w, span.First, offset%size, n))
	if err == nil {
		err = t.run(ctx)
		if _, alive := t.end(); err == nil && !alive {
			err = driver.ErrClosed
		}
	}
	if err != nil {
		return fetchError(o.name, err)
	}
	return nil
}

// errClosed is the error of reading an object that was closed.
var errClosed = errors.New("the object is closed")

// beginSpan starts a transfer of a part of what t has resolved; the caller runs it and then ends it.
func (n *Node) beginSpan(t *transfer, s fetch.Span, st store) (*transfer, error) {
	ok := false
	span, err := n.launch(st, func(now machine.Time) (id fetch.ID) {
		id, ok = n.fetch.StartSpan(now, t.sink.id, s)
		return id
	})
	if err == nil && !ok {
		err = errClosed
	}
	return span, err
}

// spanStore writes a part of an object to a stream, in order, in larger pieces than chunks.
type spanStore struct {
	pipeStore
	out *bufio.Writer
}

// spanBuffer is how much is written at once, bytes: a system call for each chunk would cost more than to copy it.
const spanBuffer = 64 << 10

// newSpanStore begins with the chunk first, of which it skips some bytes, and passes on n bytes.
func newSpanStore(w io.Writer, first, skip, n int64) *spanStore {
	out := bufio.NewWriterSize(w, int(min(n, spanBuffer)))
	return &spanStore{pipeStore{w: &cutWriter{w: out, skip: skip, left: n}, next: first, early: make(map[int64][]byte)}, out}
}

// flush is called ten times a second: nobody waits longer for what is here.
func (s *spanStore) flush() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func (s *spanStore) finish() error { return s.flush() }

// cutWriter passes on left bytes, those after the first skip ones, and swallows the rest.
type cutWriter struct {
	w          io.Writer
	skip, left int64
}

func (c *cutWriter) Write(p []byte) (int, error) {
	part := p[min(c.skip, int64(len(p))):]
	c.skip -= int64(len(p) - len(part))
	part = part[:min(c.left, int64(len(part)))]
	c.left -= int64(len(part))
	if len(part) > 0 {
		if _, err := c.w.Write(part); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// ReadAt reads as io.ReaderAt has it, and fetches no more than p asks for. It waits no longer than OpenOptions.Stall without
// progress.
func (o *Object) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, fmt.Errorf("%w: offset %d", ErrRange, offset)
	}
	n := max(0, min(int64(len(p)), o.Size()-offset))
	into := sliceWriter(p[:0:n])
	if err := o.WriteRange(context.Background(), &into, min(offset, o.Size()), n); err != nil {
		return len(into), err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// sliceWriter appends to a slice that has the room.
type sliceWriter []byte

func (s *sliceWriter) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}
