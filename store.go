package mars

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"mars/internal/disk"
	"mars/internal/fetch"
	"mars/internal/wire"
)

// store is where verified chunks go.
type store interface {
	// open prepares for an object. claimed says which chunks may be there already (nil: none); whole: all of it is there and
	// right, and nothing more is to be done.
	open(ctx context.Context, o fetch.Object) (claimed func(int64) bool, whole bool, err error)
	// check tells whether a claimed chunk is there and right.
	check(chunk int64, want wire.Digest) (bool, error)
	// write stores a verified chunk, of which it keeps nothing.
	write(chunk int64, data []byte) error
	flush() error
	// finish makes the object complete; close leaves a state that can be resumed.
	finish() error
	close() error
}

// fileStore writes to a file by way of a partial file and its journal.
type fileStore struct {
	dest      string
	fresh     bool         // what is there already doesn't count
	sum       *wire.Digest // SHA-256 that the file must have; nil: any
	partial   *disk.Partial
	discarded func(error) // told when the remains of other content were thrown away
}

func (f *fileStore) open(ctx context.Context, o fetch.Object) (func(int64) bool, bool, error) {
	if !f.fresh && f.sum == nil && disk.Unchanged(f.dest, o.Layout.Size, o.MTime) {
		return nil, true, disk.Tidy(f.dest)
	}
	if !f.fresh && disk.Holds(ctx, f.dest, o.Layout, o.Digest) {
		if f.sum != nil {
			sum, err := disk.Sum256(f.dest)
			if err = errors.Join(err, checkSum(sum, f.sum)); err != nil {
				return nil, false, err
			}
		}
		return nil, true, disk.Tidy(f.dest)
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	p, err := disk.OpenPartial(f.dest, identityOf(o))
	if err != nil {
		return nil, false, err
	}
	f.partial = p
	p.SetTime(o.MTime)
	if f.fresh {
		return nil, false, p.Reset()
	}
	if _, discarded := p.Resumed(); discarded != nil && f.discarded != nil {
		f.discarded(discarded)
	}
	return p.Claimed, false, nil
}

func identityOf(o fetch.Object) disk.Identity {
	return disk.Identity{Name: o.Name, Version: o.Version, Digest: o.Digest, Layout: o.Layout}
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

func (f *fileStore) finish() error {
	if f.sum != nil {
		sum, err := f.partial.Sum256()
		if err != nil {
			return errors.Join(err, f.partial.Close())
		}
		if err := checkSum(sum, f.sum); err != nil { // every chunk is as its producer says: there is nothing to resume
			return errors.Join(err, f.partial.Discard())
		}
	}
	if err := f.partial.Finish(); err != nil {
		return errors.Join(err, f.partial.Close())
	}
	return nil
}

func (f *fileStore) close() error {
	if f.partial == nil {
		return nil
	}
	return f.partial.Close()
}

// errChecksum is the error of an object that is what its producer says, and not what the caller wants.
var errChecksum = errors.New("not the checksum that you gave")

func checkSum(got wire.Digest, want *wire.Digest) error {
	if want == nil || got == *want {
		return nil
	}
	return fmt.Errorf("%w: SHA-256 is %x", errChecksum, got)
}

// pipeStore writes to a stream, in order. Chunks that come early wait in memory; the engine bounds them by MaxAhead.
type pipeStore struct {
	w     io.Writer
	sum   *wire.Digest // SHA-256 that the stream must have; nil: any
	hash  hash.Hash
	next  int64
	early map[int64][]byte
	free  [][]byte
}

func (p *pipeStore) open(context.Context, fetch.Object) (func(int64) bool, bool, error) {
	p.early = make(map[int64][]byte)
	if p.sum != nil {
		p.hash = sha256.New()
		p.w = io.MultiWriter(p.w, p.hash)
	}
	return nil, false, nil
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

func (p *pipeStore) flush() error { return nil }
func (p *pipeStore) close() error { return nil }

func (p *pipeStore) finish() error {
	if p.hash == nil {
		return nil
	}
	return checkSum(wire.Digest(p.hash.Sum(nil)), p.sum)
}

// memoryStore keeps a small object in memory.
type memoryStore struct {
	most    int64 // bytes
	chunk   int64 // bytes
	content []byte
}

var errTooLarge = errors.New("too large to be kept in memory")

func (m *memoryStore) open(_ context.Context, o fetch.Object) (func(int64) bool, bool, error) {
	if o.Layout.Size > m.most {
		return nil, false, fmt.Errorf("%d bytes: %w", o.Layout.Size, errTooLarge)
	}
	m.chunk, m.content = int64(o.Layout.ChunkSize), slices.Grow(m.content[:0], int(o.Layout.Size))[:o.Layout.Size]
	return nil, false, nil
}

func (m *memoryStore) check(int64, wire.Digest) (bool, error) { return false, nil }

func (m *memoryStore) write(chunk int64, data []byte) error {
	copy(m.content[chunk*m.chunk:], data)
	return nil
}

func (m *memoryStore) flush() error  { return nil }
func (m *memoryStore) finish() error { return nil }
func (m *memoryStore) close() error  { return nil }

// destStore writes to a file below a directory: a small one at once when it is complete, others by way of a partial file.
type destStore struct {
	fileStore // of large files
	memoryStore
	dir   *disk.Dest
	file  string
	mtime int64
	spare *sync.Pool // *[]byte: contents of small files that are on disk
}

// smallFile is the largest file that needs no journal, bytes: what a kill loses of it is fetched again in no time.
const smallFile = 32 * wire.ChunkSize

func (d *destStore) open(ctx context.Context, o fetch.Object) (func(int64) bool, bool, error) {
	if !d.fresh && d.dir.Holds(ctx, d.file, o.Layout, o.Digest) {
		_ = d.dir.SetTime(d.file, o.MTime) // so that it needn't be read next time; not everybody may
		return nil, true, nil
	}
	d.mtime = o.MTime
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if d.most = smallFile; o.Layout.Size <= d.most {
		if spare, ok := d.spare.Get().(*[]byte); ok {
			d.content = *spare
		}
		return d.memoryStore.open(ctx, o)
	}
	p, err := d.dir.Partial(d.file, identityOf(o))
	if err != nil {
		return nil, false, err
	}
	d.partial = p
	p.SetTime(o.MTime)
	if d.fresh {
		return nil, false, p.Reset()
	}
	return p.Claimed, false, nil
}

func (d *destStore) check(chunk int64, want wire.Digest) (bool, error) {
	return d.fileStore.check(chunk, want)
}

func (d *destStore) write(chunk int64, data []byte) error {
	if d.partial != nil {
		return d.fileStore.write(chunk, data)
	}
	return d.memoryStore.write(chunk, data)
}

func (d *destStore) flush() error { return d.fileStore.flush() }

func (d *destStore) finish() error {
	if d.partial != nil {
		return d.fileStore.finish()
	}
	err := d.dir.Put(d.file, d.content, d.mtime)
	d.spare.Put(&d.content)
	return err
}

func (d *destStore) close() error { return d.fileStore.close() }

// lookStore wants to know what an object is, and nothing of it.
type lookStore struct{ memoryStore }

func (lookStore) open(context.Context, fetch.Object) (func(int64) bool, bool, error) {
	return nil, true, nil
}
