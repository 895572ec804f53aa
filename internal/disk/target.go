package disk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"mars/internal/wire"
)

const (
	partSuffix    = ".mars-part"
	journalSuffix = ".mars-journal"
	// PlainSuffix ends the name of what comes without a manifest, until all of it is here.
	PlainSuffix = ".mars-plain"
	maxFileName = 255     // bytes, NAME_MAX on Linux
	maxChunks   = 1 << 36 // 550 TB at the default chunk size; the bitmaps take 16 GB of address space then
)

// target is a destination that was found fit to receive a file.
type target struct {
	folder
	path   string      // symbolic links resolved, since rename would replace the link
	name   string      // its last element
	exists bool        // a regular file is there now
	mode   fs.FileMode // its permission bits
}

// part and journal are the names of the partial file and its journal, in the folder of the destination.
func (t target) part() string    { return shorten(t.name) + partSuffix }
func (t target) journal() string { return shorten(t.name) + journalSuffix }

// CheckDestination tells whether a file can be written at dest, without creating anything: a question to ask before the
// network is. The errors are those of OpenPartial, except for ErrLocked.
func CheckDestination(dest string) error {
	_, err := findTarget(dest)
	return err
}

// findTarget checks what can be checked before a transfer begins. It doesn't open the folder yet.
func findTarget(dest string) (target, error) {
	if dest == "" || strings.HasSuffix(dest, string(filepath.Separator)) {
		return target{}, fmt.Errorf("destination %q: %w; add a file name", dest, ErrIsDirectory)
	}
	t := target{path: filepath.Clean(dest)}
	if info, err := os.Lstat(t.path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if t.path, err = filepath.EvalSymlinks(t.path); err != nil {
			return target{}, fmt.Errorf("destination %q is a symbolic link that leads nowhere; remove it: %w", dest, err)
		}
	}
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return target{}, err
	case info.IsDir():
		return target{}, fmt.Errorf("destination %q: %w; add a file name", dest, ErrIsDirectory)
	case !info.Mode().IsRegular():
		return target{}, fmt.Errorf("destination %q: %w; write to standard output instead", dest, ErrNotRegular)
	default: // rename would replace a read-only file, but whoever made it read-only hardly wants that
		if err := unix.Faccessat(unix.AT_FDCWD, t.path, unix.W_OK, unix.AT_EACCESS); err != nil {
			return target{}, &fs.PathError{Op: "write to", Path: t.path, Err: err}
		}
		t.exists, t.mode = true, info.Mode().Perm()
	}
	if err := checkDir(filepath.Dir(t.path)); err != nil {
		return target{}, err
	}
	t.name = filepath.Base(t.path)
	return t, nil
}

// checkSize refuses what could never fit. The size comes from the network, so it comes before any allocation by size. How
// much is free now is no reason to refuse: it changes, and file systems compress.
func (t target) checkSize(l wire.Layout) error {
	if l.Chunks() > maxChunks {
		return fmt.Errorf("an object of %d bytes in chunks of %d is too large", l.Size, l.ChunkSize)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(t.dir.Fd()), &fs); err != nil || fs.Blocks == 0 {
		return nil // no figure, no refusal
	}
	if total := float64(fs.Blocks) * float64(fs.Bsize); float64(l.Size) > total {
		return fmt.Errorf("%w: an object of %d bytes is larger than the whole file system of %q", ErrDiskFull, l.Size, t.path)
	}
	return nil
}

// checkDir says why no file can be made in dir.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %q does not exist; create it first: %w", dir, err)
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "write into", Path: dir, Err: syscall.ENOTDIR}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "write into", Path: dir, Err: err}
	}
	return nil
}

// shorten makes room for our suffixes in a file name of nearly the longest length.
func shorten(base string) string {
	if len(base)+len(journalSuffix) <= maxFileName {
		return base
	}
	cut := maxFileName - len(journalSuffix) - 17
	for cut > 0 && !utf8.RuneStart(base[cut]) {
		cut--
	}
	sum := sha256.Sum256([]byte(base))
	return fmt.Sprintf("%s-%x", base[:cut], sum[:8])
}

// lock takes the lock of f until it is closed.
func lock(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w (lock: %s)", ErrLocked, f.Name())
	case err != nil:
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}
