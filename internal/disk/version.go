package disk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"mars/internal/wire"
)

// stamp tells one state of a file from another without reading it.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // ns since 1970
}

func infoStamp(info fs.FileInfo) stamp { return newStamp(info.Sys().(*syscall.Stat_t)) }

// fileStamp returns the state of an open file. It runs once a chunk, so it doesn't allocate as File.Stat does.
func fileStamp(f *os.File) (stamp, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Fstat(int(f.Fd()), &st)
		if !errors.Is(err, syscall.EINTR) {
			return newStamp(&st), err
		}
	}
}

// touched is s as if nothing but the inode had changed since o: a rename, a new link or new permissions move ctime alone,
// but so does whoever writes and then sets mtime back, so the bytes need another look.
func (s stamp) touched(o stamp) bool {
	s.ctime = o.ctime
	return s == o
}

// Version is one state of one file: its manifest, and its bytes for as long as they exist.
type Version struct {
	tree     *Tree
	path     string
	Manifest *wire.Manifest
	listing  []byte // of a directory, whose bytes are here; else nil

	used atomic.Int64 // the tree's clock of uses, for eviction

	mu    sync.RWMutex // reading holds it shared, opening and closing the file exclusively
	file  *os.File     // nil: closed to save descriptors
	state stamp        // of the file when it was hashed
}

// ReadChunk appends chunk i to dst. It never returns bytes other than those that were hashed into the manifest, short
// of a change that leaves no trace in the file's times: if the file was modified in place, or replaced while its
// descriptor was closed, it fails with ErrGone. A file replaced by rename stays readable through its descriptor.
func (v *Version) ReadChunk(dst []byte, i int64) ([]byte, error) {
	if i < 0 || i >= v.Manifest.Chunks() {
		return dst, fmt.Errorf("chunk %d is outside of 0…%d", i, v.Manifest.Chunks()-1)
	}
	if v.listing != nil {
		at := i * int64(v.Manifest.ChunkSize)
		return append(dst, v.listing[at:at+int64(v.Manifest.ChunkLen(i))]...), nil
	}
	if err := v.acquire(); err != nil {
		return dst, err
	}
	defer v.mu.RUnlock()
	v.used.Store(v.tree.uses.Add(1))
	return v.read(dst, i)
}

// acquire opens the file if need be and returns with v.mu read-locked, so that nobody closes it.
func (v *Version) acquire() error {
	for {
		v.mu.RLock()
		if v.file != nil {
			return nil
		}
		v.mu.RUnlock()
		if err := v.reopen(); err != nil {
			return err
		}
	}
}

// read compares the file's state after reading: a write changes mtime before it changes bytes, so an unchanged state
// then means unchanged bytes.
func (v *Version) read(dst []byte, i int64) ([]byte, error) {
	out, err := readChunk(dst, v.file, v.Manifest.Layout, i)
	if err != nil && !errors.Is(err, io.EOF) {
		return dst, err
	}
	now, statErr := fileStamp(v.file)
	switch {
	case statErr != nil:
		return dst, statErr
	case err != nil || !now.touched(v.state):
		return dst, fmt.Errorf("%q: %w", v.path, ErrGone)
	case now != v.state && sha256.Sum256(out[len(dst):]) != v.Manifest.ChunkDigest(i):
		return dst, fmt.Errorf("%q: %w", v.path, ErrGone)
	}
	return out, nil
}

// reopen opens the file again after its descriptor was closed.
func (v *Version) reopen() error {
	f, state, err := v.tree.open(v.path)
	if errors.Is(err, ErrNotFound) || err == nil && !state.touched(v.stateNow()) {
		err = fmt.Errorf("%q: %w", v.path, ErrGone)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return err
	}
	v.mu.Lock()
	if v.file != nil { // another reader was faster
		v.mu.Unlock()
		return f.Close()
	}
	v.file = f
	v.mu.Unlock()
	v.tree.opened(v)
	return nil
}

// MTime is when the file changed last before it was hashed, ns since 1970; 0 for a directory.
func (v *Version) MTime() int64 {
	if v.listing != nil {
		return 0
	}
	return v.stateNow().mtime
}

func (v *Version) stateNow() stamp {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state
}

// adopt makes f, which was hashed to the same digest in state, the file that v reads.
func (v *Version) adopt(f *os.File, state stamp) {
	v.mu.Lock()
	old := v.file
	v.file, v.state = f, state
	v.mu.Unlock()
	if old != nil {
		old.Close()
	}
	v.tree.opened(v)
}

// Close gives the descriptor back. A version that is still the file's current one opens again at the next ReadChunk; one
// that was replaced is gone for good, and so is the disk space that it held.
func (v *Version) Close() error {
	v.tree.closed(v)
	v.mu.Lock()
	f := v.file
	v.file = nil
	v.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Close()
}
