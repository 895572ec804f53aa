package disk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"mars/internal/wire"
)

// Dest is a directory into which many objects are fetched. Paths are relative to it, with slashes, and none leads out of
// it: not by "..", and not by a symbolic link that is there. A link in the place of a file is replaced, not followed.
//
// Methods may be called from several goroutines.
type Dest struct {
	root  *os.Root
	slots chan struct{} // one token a call that holds descriptors for a moment
}

// OpenDest opens dir, and creates it if only its last element is missing.
func OpenDest(dir string) (*Dest, error) {
	if err := checkDestDir(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, explain(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Dest{root, make(chan struct{}, Share(64, 8))}, nil
}

// Share is how many of something may be open at once: want, but no more than one in so many of the file descriptors that the
// process may have, and no less than 1.
func Share(want, oneIn int) int { return max(1, min(want, int(min(descriptors(), 1<<20))/oneIn)) }

// enter waits for a slot, and returns what gives it back.
func (d *Dest) enter() (leave func()) {
	d.slots <- struct{}{}
	return func() { <-d.slots }
}

// CheckDest tells whether OpenDest will find or make a directory that files can be written into, without creating
// anything.
func CheckDest(dir string) error { return checkDestDir(dir) }

func checkDestDir(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return checkDir(filepath.Dir(filepath.Clean(dir)))
	}
	return checkDir(dir)
}

// Close gives the directory back.
func (d *Dest) Close() error { return d.root.Close() }

// CheckElement tells whether a name from elsewhere may become one element of a path.
func CheckElement(name []byte) error {
	switch {
	case len(name) == 0, string(name) == ".", string(name) == "..":
		return fmt.Errorf("%q can't be the name of a file or directory", name)
	case bytes.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%q can't be a file name: it holds a slash or a NUL", name)
	}
	return nil
}

// Mkdir makes a directory and those above it, as far as they are missing.
func (d *Dest) Mkdir(dir string) error {
	if dir == "" || dir == "." {
		return nil
	}
	return explain(d.root.MkdirAll(dir, 0o777))
}

// find is findTarget for a file of the directory. The caller closes the target.
func (d *Dest) find(file string) (target, error) {
	if err := Reserved(file); err != nil { // else it could take the place of another file's while that is written
		return target{}, err
	}
	dir, err := d.root.OpenFile(path.Dir(file), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return target{}, err
	}
	t := target{folder: folder{dir}, path: filepath.Join(d.root.Name(), file), name: path.Base(file)}
	if err := t.look(); err != nil {
		dir.Close()
		return target{}, err
	}
	return t, nil
}

// look tells whether what has the target's name may be replaced.
func (t *target) look() error {
	st, err := t.stat(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fmt.Errorf("destination %q: %w; remove it or choose another destination", t.path, ErrIsDirectory)
	case unix.S_IFLNK:
		return nil
	case unix.S_IFREG:
		t.exists, t.mode = true, fs.FileMode(st.Mode).Perm()
		return t.do("write to", t.name, func(dir int) error { return unix.Faccessat(dir, t.name, unix.W_OK, unix.AT_EACCESS) })
	}
	return fmt.Errorf("destination %q: %w; remove it or choose another destination", t.path, ErrNotRegular)
}

// Partial is OpenPartial for a file of the directory.
func (d *Dest) Partial(file string, id Identity) (*Partial, error) {
	t, err := d.find(file)
	if err != nil {
		return nil, err
	}
	return openPartial(t, id)
}

// Put writes a whole file, last changed at mtime (ns since 1970; 0: now): it appears at once, or not at all. It is durable
// after Sync.
func (d *Dest) Put(file string, content []byte, mtime int64) error {
	defer d.enter()()
	t, err := d.find(file)
	if err != nil {
		return err
	}
	defer t.close()
	f, err := t.openLocked(t.part(), 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > 0 { // of a fetch of another version, whose journal is of no use any more
		err = f.Truncate(0)
		if gone := t.remove(t.journal()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err == nil && t.exists {
		err = f.Chmod(t.mode)
	}
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err == nil {
		err = t.setTime(t.part(), mtime)
	}
	if err == nil {
		err = t.rename(t.part(), t.name)
	}
	if err != nil {
		return errors.Join(explain(err), t.remove(t.part()))
	}
	return nil
}

// Unchanged tells whether a regular file of the directory has this size and was changed last at mtime, ns since 1970, as a file
// that came from its producer and that nobody has changed since does. The bytes are not looked at.
func (d *Dest) Unchanged(file string, size, mtime int64) bool {
	info, err := d.root.Lstat(file)
	return unchanged(info, err, size, mtime)
}

// Unchanged is Dest.Unchanged for any file; links are followed.
func Unchanged(file string, size, mtime int64) bool {
	info, err := os.Stat(file)
	return unchanged(info, err, size, mtime)
}

func unchanged(info fs.FileInfo, err error, size, mtime int64) bool {
	return err == nil && mtime > 0 && info.Mode().IsRegular() && info.Size() == size && info.ModTime().UnixNano() == mtime
}

// SetTime gives a file of the directory a time of its last change, ns since 1970; 0: it keeps the one that it has.
func (d *Dest) SetTime(file string, mtime int64) error {
	t, err := d.find(file)
	if err != nil {
		return err
	}
	defer t.close()
	return t.setTime(t.name, mtime)
}

// Holds tells whether a file of the directory has the content that a manifest with this digest describes. It gives up,
// with false, when ctx ends.
func (d *Dest) Holds(ctx context.Context, file string, l wire.Layout, digest wire.Digest) bool {
	if info, err := d.root.Lstat(file); err != nil || info.Size() != l.Size {
		return false // as nearly always
	}
	defer d.enter()()
	t, err := d.find(file)
	if err != nil {
		return false
	}
	defer t.close()
	f, err := t.open(t.name, os.O_RDONLY, 0)
	return err == nil && holds(ctx, f, l, digest)
}

// Holds is Dest.Holds for any file.
func Holds(ctx context.Context, file string, l wire.Layout, digest wire.Digest) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	return err == nil && holds(ctx, f, l, digest)
}

// holds closes f.
func holds(ctx context.Context, f *os.File, l wire.Layout, digest wire.Digest) bool {
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != l.Size {
		return false
	}
	b := wire.NewManifestBuilder(l.ChunkSize)
	buf := make([]byte, min(l.Size+1, hashBuffer))
	for {
		n, err := f.Read(buf)
		_, _ = b.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return b.Finish().Digest() == digest
		}
		if err != nil || ctx.Err() != nil {
			return false
		}
	}
}

// Sum256 is the SHA-256 of a file.
func Sum256(file string) (sum wire.Digest, err error) {
	f, err := os.Open(file)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return wire.Digest(h.Sum(nil)), err
}

// Tidy removes what a fetch that was killed at its very end left beside dest, unless somebody uses it.
func Tidy(dest string) error {
	t, err := findTarget(dest)
	if err != nil {
		return nil // a complete file that can't be replaced has no remains that could be removed
	}
	if t.folder, err = openFolder(filepath.Dir(t.path)); err != nil {
		return err
	}
	defer t.close()
	if _, err := t.stat(t.journal()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := t.openLocked(t.journal(), 0o600)
	if errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.remove(t.part()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.remove(t.journal())
}

// Sync makes all that was written durable.
func (d *Dest) Sync() error {
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := syncAll(dir); err != nil && !errors.Is(err, syscall.ENOSYS) {
		return explain(&fs.PathError{Op: "sync", Path: d.root.Name(), Err: err})
	}
	return nil
}
