package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"mars/internal/wire"
)

// TreeOptions adjusts a Tree; the zero value is the default.
type TreeOptions struct {
	ChunkSize int // bytes, 1…8000; 0: 8000
	MaxOpen   int // file descriptors kept open; 0: 256, and not more than a quarter of what the process may have
	Hashers   int // large files hashed at once, and as many of up to 4 MiB; 0: 2
	// Progress, if set, is told how far the hashing of a file has come: at its start, about every MiB, and at its end. It
	// is called from several goroutines.
	Progress func(path string, done, size int64)
}

// Tree serves the regular files below one directory as versioned objects. No name reaches outside of the directory:
// not by "..", not by an absolute path, and not by a symbolic link (links that stay inside are followed).
//
// Methods may be called from several goroutines.
type Tree struct {
	root    *os.Root
	opts    TreeOptions
	hashers chan struct{} // one token a running hash of a large file
	quick   chan struct{} // and of others, which don't wait for large ones
	stop    chan struct{} // closed by Close
	uses    atomic.Int64  // counts ReadChunk calls: the clock of eviction
	buffers sync.Pool     // *[]byte, for hashing: with many small files fresh memory would cost as much as the hash

	mu      sync.Mutex
	current map[string]*Version // by path: the last hashed state of each file
	hashing map[string]*hashing
	files   map[*Version]struct{} // versions with an open descriptor
}

// hashing is one Lookup in progress that others of the same file wait for.
type hashing struct {
	done    chan struct{}
	version *Version
	err     error
}

// OpenTree opens the directory dir.
func OpenTree(dir string, opts TreeOptions) (*Tree, error) {
	if opts.ChunkSize == 0 {
		opts.ChunkSize = wire.ChunkSize
	}
	if opts.MaxOpen == 0 {
		opts.MaxOpen = Share(256, 4)
	}
	if opts.Hashers == 0 {
		opts.Hashers = 2
	}
	if err := (wire.Layout{ChunkSize: opts.ChunkSize}).Validate(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{
		root: root, opts: opts,
		hashers: make(chan struct{}, opts.Hashers),
		quick:   make(chan struct{}, opts.Hashers),
		stop:    make(chan struct{}),
		current: map[string]*Version{},
		hashing: map[string]*hashing{},
		files:   map[*Version]struct{}{},
	}, nil
}

// descriptors is how many file descriptors the process may have.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return uint64(limit.Cur)
}

// Close ends all hashing and closes all files. Lookups and reads fail with fs.ErrClosed from then on.
func (t *Tree) Close() error {
	t.mu.Lock()
	if t.isClosed() {
		t.mu.Unlock()
		return nil
	}
	close(t.stop)
	open := make([]*Version, 0, len(t.files))
	for v := range t.files {
		open = append(open, v)
	}
	t.mu.Unlock()
	var errs []error
	for _, v := range open {
		errs = append(errs, v.Close())
	}
	return errors.Join(append(errs, t.root.Close())...)
}

func (t *Tree) isClosed() bool {
	select {
	case <-t.stop:
		return true
	default:
		return false
	}
}

// Lookup returns the current version of the file that suffix, a name below the tree's prefix, names. It hashes the file
// unless it is unchanged since that was done, and returns the same *Version as before while the content is the same.
//
// Errors: ErrNotFound (also for names that no file can have), ErrIsDirectory, ErrNotRegular, ErrBusy if the file kept
// changing, or a system error such as fs.ErrPermission.
func (t *Tree) Lookup(suffix wire.Name) (*Version, error) {
	path, err := filePath(suffix)
	if err != nil {
		return nil, err
	}
	if v := t.unchanged(path); v != nil {
		return v, nil
	}
	tokens, err := t.tokens(path)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.isClosed() {
		t.mu.Unlock()
		return nil, fs.ErrClosed
	}
	if h := t.hashing[path]; h != nil {
		t.mu.Unlock()
		<-h.done
		return h.version, h.err
	}
	h := &hashing{done: make(chan struct{})}
	t.hashing[path] = h
	t.mu.Unlock()

	h.version, h.err = t.refresh(path, tokens)

	t.mu.Lock()
	delete(t.hashing, path)
	if errors.Is(h.err, ErrNotFound) {
		delete(t.current, path)
	}
	t.mu.Unlock()
	close(h.done)
	return h.version, h.err
}

// unchanged returns the cached version of path if the file is as it was hashed.
func (t *Tree) unchanged(path string) *Version {
	info, err := t.root.Stat(path)
	if err != nil {
		return nil
	}
	return t.known(path, infoStamp(info))
}

// refresh hashes path as it is now, in its turn, and makes the result its current version.
func (t *Tree) refresh(path string, tokens chan struct{}) (*Version, error) {
	select {
	case tokens <- struct{}{}:
		defer func() { <-tokens }()
	case <-t.stop:
		return nil, fs.ErrClosed
	}
	if v := t.unchanged(path); v != nil { // hashed between our look and our turn
		return v, nil
	}
	m, f, state, err := t.hash(path)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	v := t.current[path]
	if v == nil || v.Manifest.Digest() != m.Digest() {
		v = &Version{tree: t, path: path, Manifest: m}
		t.current[path] = v
	}
	t.mu.Unlock()
	v.adopt(f, state)
	return v, nil
}

// open opens a regular file. O_NONBLOCK: the open of a pipe that nobody writes to must not hang.
func (t *Tree) open(path string) (*os.File, stamp, error) {
	f, err := t.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP),
		refused(err):
		return nil, stamp{}, fmt.Errorf("%q: %w", path, ErrNotFound)
	case errors.Is(err, syscall.ENXIO): // a socket
		return nil, stamp{}, fmt.Errorf("%q: %w", path, ErrNotRegular)
	case err != nil:
		return nil, stamp{}, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%q: %w", path, ErrIsDirectory)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%q: %w", path, ErrNotRegular)
	default:
		return f, infoStamp(info), nil
	}
	f.Close()
	return nil, stamp{}, err
}

// refused reports whether err is os.Root's own: a link leads outside. The root has no name for that error, but it is the
// one that the system didn't give.
func refused(err error) bool {
	return err != nil && !errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrClosed)
}

// opened notes that v has a descriptor, and closes the least recently used ones beyond the limit.
func (t *Tree) opened(v *Version) {
	v.used.Store(t.uses.Add(1))
	t.mu.Lock()
	t.files[v] = struct{}{}
	var victims []*Version
	for len(t.files)-len(victims) > t.opts.MaxOpen {
		var oldest *Version
		for o := range t.files {
			if o != v && (oldest == nil || o.used.Load() < oldest.used.Load()) {
				oldest = o
			}
		}
		if oldest == nil {
			break
		}
		delete(t.files, oldest)
		victims = append(victims, oldest)
	}
	late := t.isClosed()
	t.mu.Unlock()
	for _, o := range victims {
		o.Close()
	}
	if late {
		v.Close()
	}
}

// closed notes that v has no descriptor.
func (t *Tree) closed(v *Version) {
	t.mu.Lock()
	delete(t.files, v)
	t.mu.Unlock()
}
