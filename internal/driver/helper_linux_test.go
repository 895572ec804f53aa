package driver

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { openers = append(openers, opener{"batches", openWithoutTrains}) }

// openWithoutTrains opens a socket as on a kernel that neither cuts nor coalesces.
func openWithoutTrains(local, remote netip.AddrPort) (batchConn, error) {
	conn, err := open(local, remote)
	if err != nil {
		return nil, err
	}
	c := conn.(*linuxConn)
	c.out.segment = false
	if cerr := c.raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 0) }); cerr != nil {
		return nil, cerr
	}
	return c, err
}

// noChecksum makes the kernel refuse to cut what the socket sends.
func noChecksum(t *testing.T, c *linuxConn) {
	t.Helper()
	var err error
	cerr := c.raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1) })
	if cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
}
