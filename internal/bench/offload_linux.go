package bench

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool's requests (linux/ethtool.h) to switch what a device does with trains of UDP datagrams and TCP segments.
const (
	ethtoolSTSO = 0x1f // segment TCP
	ethtoolSGSO = 0x24 // take what the kernel would cut later
	ethtoolSGRO = 0x2c // join what comes
)

// segmentInSoftware makes a device of a namespace take single datagrams alone: the kernel cuts trains before, in software, as it does
// for a device that can't.
func segmentInSoftware(namespace, device string) error {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends in the other namespace
		ended <- func() error {
			there, err := os.Open("/run/netns/" + namespace)
			if err != nil {
				return err
			}
			defer there.Close()
			if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			for _, request := range []uint32{ethtoolSTSO, ethtoolSGSO, ethtoolSGRO} {
				value := struct{ command, data uint32 }{request, 0}
				ifr := struct {
					name [unix.IFNAMSIZ]byte
					data unsafe.Pointer
					_    [16]byte
				}{data: unsafe.Pointer(&value)}
				copy(ifr.name[:], device)
				if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifr))); errno != 0 {
					return errno
				}
			}
			return nil
		}()
	}()
	return <-ended
}
