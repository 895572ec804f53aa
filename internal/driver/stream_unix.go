//go:build unix

package driver

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// write hands b to the kernel without waiting and returns how much of it it took; errAgain if it has no room.
func (c *streamConn) write(b []byte) (n int, err error) {
	// Control and not Write: awaitWritable may hold the latter.
	cerr := c.raw.Control(func(fd uintptr) {
		for {
			if n, err = unix.Write(int(fd), b); err != unix.EINTR {
				return
			}
		}
	})
	switch {
	case cerr != nil:
		return 0, cerr
	case err == unix.EAGAIN || err == unix.ENOBUFS:
		return 0, errAgain
	}
	return max(n, 0), err
}

func (c *streamConn) awaitWritable() error { return awaitWritable(c.raw) }

// awaitWritable waits until a socket takes something.
func awaitWritable(raw syscall.RawConn) error {
	return raw.Write(func(fd uintptr) bool {
		// The poller reports changes only, and this one may have happened before it was asked.
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
}

// maxSocketPath is the longest path of a Unix socket, bytes.
var maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// restrict keeps strangers out from the moment that the socket has a name: the kernel takes the permissions of the file
// from the socket, where it knows such a thing.
func restrict(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) { _ = unix.Fchmod(int(fd), socketMode) })
}

// bindLock keeps nodes that start at the same time from taking each other's socket files for remains; it returns what
// ends it.
func bindLock(dir string) func() {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {} // binding will fail and say why
	}
	_ = unix.Flock(fd, unix.LOCK_EX) // where a file system has no locks, two nodes may still be unlucky
	return func() { _ = unix.Close(fd) }
}
