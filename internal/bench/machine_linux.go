package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is what this thread has worked so far: on a busy machine less than what went by.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has it
	return time.Duration(t.Nano())
}

// scratch is where files of so many bytes go: into memory where there is room for twice as much, since a disk isn't what is measured; "":
// where temporary files usually go.
func scratch(bytes int64) string {
	const memory = "/dev/shm"
	var s unix.Statfs_t
	if unix.Statfs(memory, &s) == nil && int64(s.Bavail)*s.Bsize >= 2*bytes {
		return memory
	}
	return ""
}
