package disk

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func newStamp(st *syscall.Stat_t) stamp {
	return stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// onlyMTime are the arguments of utimensat that set the time of the last change, ns since 1970, and leave the other alone.
func onlyMTime(ns int64) []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ns)}
}
