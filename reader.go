package mars

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// Reader reads an object from a place on. It asks for what lies ahead, so that reading on keeps every path busy. One goroutine
// at a time may use it.
type Reader struct {
	// Until, if set, says where reading that begins at an offset will end: nothing is fetched beyond. A reader who goes on all the
	// same is served.
	Until func(offset int64) int64

	o      *Object
	ctx    context.Context
	at     int64
	source *io.PipeReader // what is being fetched, from at on; nil: nothing
	stop   func()         // ends it
	err    error          // the first one
	closed bool
}

// NewReader returns a reader at the start of o, which must be closed; closing it doesn't close o. When ctx ends, reads fail.
func (o *Object) NewReader(ctx context.Context) *Reader { return &Reader{o: o, ctx: ctx} }

// Err is the first error of reading; nil: all bytes came so far. The end of the object is none.
func (r *Reader) Err() error { return r.err }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		switch {
		case r.closed:
			return 0, fs.ErrClosed
		case r.err != nil:
			return 0, r.err
		case r.at >= r.o.Size():
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		case r.source == nil:
			r.start()
		}
		n, err := r.source.Read(p)
		r.at += int64(n)
		if err != nil {
			r.halt()
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		}
		if n > 0 {
			return n, nil
		}
	}
}

// CopyN writes the next n bytes to w, fewer if the object ends, and returns how many it wrote. It is io.CopyN without a copy
// between, and asks for nothing beyond. Err is nil if it was w that failed.
func (r *Reader) CopyN(w io.Writer, n int64) (int64, error) {
	switch {
	case r.closed:
		return 0, fs.ErrClosed
	case r.err != nil:
		return 0, r.err
	}
	r.halt()
	n = max(0, min(n, r.o.Size()-r.at))
	count := &countWriter{w: w}
	err := r.o.WriteRange(r.ctx, count, min(r.at, r.o.Size()), n)
	r.at += count.n
	if count.err == nil {
		r.err = err
	}
	return count.n, err
}

// countWriter counts what it passes on, and keeps the error.
type countWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// start has what comes next fetched, up to where the reading is going to end.
func (r *Reader) start() {
	end := r.o.Size()
	if r.Until != nil {
		if until := r.Until(r.at); until > r.at {
			end = min(end, until)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	from, to := io.Pipe()
	done := make(chan struct{})
	at := r.at
	go func() {
		defer close(done)
		to.CloseWithError(r.o.WriteRange(ctx, to, at, end-at)) // nil: io.EOF
	}()
	r.source = from
	r.stop = func() {
		cancel()
		from.Close()
		<-done
	}
}

// halt ends what is being fetched.
func (r *Reader) halt() {
	if r.source != nil {
		r.stop()
		r.source, r.stop = nil, nil
	}
}

// Seek implements io.Seeker. What was being fetched for another place is given up.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.o.Size()
	default:
		return 0, UsageError(errors.New("seek: no such whence"))
	}
	if offset < 0 {
		return 0, UsageError(errors.New("seek: before the start"))
	}
	if offset != r.at {
		r.halt()
		r.at = offset
	}
	return offset, nil
}

// Close ends what is being fetched.
func (r *Reader) Close() error {
	r.halt()
	r.closed = true
	return nil
}
