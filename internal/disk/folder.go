package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// folder is an open directory whose entries are used by name: one path element, never followed if it is a link. What
// happens to the path of the directory meanwhile doesn't matter.
type folder struct{ dir *os.File }

func openFolder(path string) (folder, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	return folder{f}, err
}

func (d folder) close() error { return d.dir.Close() }

// path is for messages.
func (d folder) path(name string) string { return d.dir.Name() + "/" + name }

// do runs a system call again for as long as signals interrupt it.
func (d folder) do(op, name string, call func(dir int) error) error {
	for {
		err := call(int(d.dir.Fd()))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: op, Path: d.path(name), Err: err}
		}
		return nil
	}
}

// open opens an entry that is no link.
func (d folder) open(name string, flags int, perm uint32) (*os.File, error) {
	fd := -1
	err := d.do("open", name, func(dir int) (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, perm)
		return err
	})
	if err != nil {
		return nil, explain(err)
	}
	return os.NewFile(uintptr(fd), d.path(name)), nil
}

// stat describes an entry, not what a link leads to.
func (d folder) stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := d.do("stat", name, func(dir int) error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// holds tells whether the entry is still the open file f.
func (d folder) holds(name string, f *os.File) bool {
	there, err := d.stat(name)
	mine, mineErr := fileStamp(f)
	return err == nil && mineErr == nil && uint64(there.Dev) == mine.dev && there.Ino == mine.ino
}

func (d folder) rename(from, to string) error {
	return explain(d.do("rename to", to, func(dir int) error { return unix.Renameat(dir, from, dir, to) }))
}

func (d folder) remove(name string) error {
	return d.do("remove", name, func(dir int) error { return unix.Unlinkat(dir, name, 0) })
}

// sync makes renames last through a power cut.
func (d folder) sync() error {
	err := d.dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that can't
	}
	return explain(err)
}

// openLocked opens a regular file, creates it if need be, and takes its lock until it is closed. Of a pipe nothing would ever
// be read, and a device is not ours to cut short.
func (d folder) openLocked(name string, perm uint32) (*os.File, error) {
	for {
		f, err := d.open(name, os.O_RDWR|os.O_CREATE, perm)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(regular(f), lock(f)); err != nil {
			f.Close()
			return nil, err
		}
		if d.holds(name, f) {
			return f, nil
		}
		f.Close() // whoever held it before us has finished and removed it between our open and our lock
	}
}

// regular fails unless f is a regular file.
func regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q: %w; remove it", f.Name(), ErrNotRegular)
	}
	return err
}
