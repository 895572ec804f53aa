package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// What can go wrong with a file, apart from what the system itself reports (fs.ErrPermission and so on). Errors of this
// package wrap one of these, or the system's error, and say what the person can do.
var (
	// ErrNotFound: no such file in the tree; fs.ErrNotExist is wrapped too.
	ErrNotFound = fmt.Errorf("no such file: %w", fs.ErrNotExist)
	// ErrIsDirectory: the path names a directory.
	ErrIsDirectory = errors.New("is a directory")
	// ErrNotRegular: the path names a device, pipe or socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrBusy: the file kept changing while it was read.
	ErrBusy = errors.New("file keeps changing")
	// ErrGone: the bytes of that version no longer exist.
	ErrGone = errors.New("this version of the file is gone")
	// ErrLocked: another fetch writes the same destination.
	ErrLocked = errors.New("another fetch is writing this file")
	// ErrDiskFull: no space, or no quota, is left at the destination.
	ErrDiskFull = errors.New("disk full")
	// ErrIncomplete: chunks are missing.
	ErrIncomplete = errors.New("file is incomplete")
)

// explain wraps ErrDiskFull around the system's ways to say so; other errors pass unchanged.
func explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}
