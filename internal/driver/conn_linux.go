package driver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linuxConn moves batches with recvmmsg and sendmmsg. Everything that a call needs is laid out once, so that no datagram
// costs an allocation.
type linuxConn struct {
	udp    *net.UDPConn
	raw    syscall.RawConn
	remote netip.AddrPort                 // valid on a connected socket
	device string                         // interface that the socket is bound to
	local  atomic.Pointer[netip.AddrPort] // a new connection may have another one
	linked atomic.Bool                    // the kernel knows remote; else it has no route there yet
	v6     bool                           // an IPv6 socket, perhaps with IPv4 in mapped form
	grants [2]int                         // buffer sizes

	in  recvSide
	out sendSide
}

// mmsghdr is struct mmsghdr: one message of a batch, and the bytes that went through.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

// recvSide belongs to the goroutine that receives.
type recvSide struct {
	msgs    [recvBatch]mmsghdr
	iovs    [recvBatch]unix.Iovec
	names   [recvBatch][unix.SizeofSockaddrInet6]byte
	control [recvBatch][controlSpace]byte
	want    int
	got     int
	err     syscall.Errno
	call    func(fd uintptr) bool
}

// sendSide belongs to the goroutine that sends.
type sendSide struct {
	msgs    [trainDatagrams]mmsghdr
	iovs    [trainDatagrams]unix.Iovec
	counts  [trainDatagrams]int // datagrams in each message
	name    [unix.SizeofSockaddrInet6]byte
	source  [controlSpace]byte                 // without segmentation; all messages share it
	control [trainDatagrams][controlSpace]byte // with segmentation
	able    bool                               // the kernel can cut trains
	segment bool                               // and we let it
	want    int
	got     int
	err     syscall.Errno
	call    func(fd uintptr)
}

// open binds a socket and, if remote is valid, connects it. Having no route to remote is no error: routes come and go,
// and until then sending fails.
func open(local, remote netip.AddrPort) (batchConn, error) { return openOn("", local, remote) }

// openOn is open for a socket that sends and receives by one interface only ("": any), whatever the routes say.
func openOn(device string, local, remote netip.AddrPort) (batchConn, error) {
	udp, err := bindConn(local, remote, setOptions(device))
	switch {
	case err == nil:
	case device != "" && errors.Is(err, unix.ENODEV):
		return nil, noDevice(device, err)
	case device != "" && errors.Is(err, unix.EPERM):
		// Before Linux 5.7 it took CAP_NET_RAW; to bind to an address of the interface is what is left.
		ip, err := deviceAddr(device, remote.Addr())
		if err != nil {
			return nil, err
		}
		return openOn("", netip.AddrPortFrom(ip, local.Port()), remote)
	default:
		return nil, err
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		udp.Close()
		return nil, err
	}
	c := &linuxConn{udp: udp, raw: raw, device: device}
	at := addrPort(udp.LocalAddr())
	c.local.Store(&at)
	c.in.call, c.out.call = c.recvmmsg, c.sendmmsg
	if err := raw.Control(func(fd uintptr) { c.probe(int(fd)) }); err != nil {
		udp.Close()
		return nil, err
	}
	if !remote.IsValid() {
		return c, nil
	}
	c.remote = plain(remote)
	switch err := c.reconnect(); {
	case err == nil, routeless(err):
		return c, nil
	default:
		udp.Close()
		return nil, fmt.Errorf("connect UDP socket: %w", err)
	}
}

// reconnect makes the kernel choose route and source address anew. It belongs to the goroutine that sends.
func (c *linuxConn) reconnect() error {
	var err error
	cerr := c.raw.Control(func(s uintptr) {
		fd := int(s)
		if c.linked.Swap(false) || c.device != "" {
			none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
			_, _, _ = syscall.Syscall(unix.SYS_CONNECT, s, uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none))
		}
		if c.device != "" {
			// Disconnecting has undone it, so that it takes no privilege; and an interface that was away has another index now.
			if err = unix.BindToDevice(fd, c.device); err != nil {
				return
			}
		}
		var name [unix.SizeofSockaddrInet6]byte
		n := putSockaddr(&name, c.remote, c.v6)
		if _, _, errno := syscall.Syscall(unix.SYS_CONNECT, s, uintptr(unsafe.Pointer(&name)), uintptr(n)); errno != 0 {
			err = errno
			return
		}
		c.linked.Store(true)
		c.out.segment = c.out.able // another device, another chance
		if at, ok := sockname(fd); ok {
			c.local.Store(&at)
		}
	})
	return errors.Join(cerr, err)
}

func sockname(fd int) (netip.AddrPort, bool) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, false
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(scoped(netip.AddrFrom16(sa.Addr).Unmap(), sa.ZoneId), uint16(sa.Port)), true
	}
	return netip.AddrPort{}, false
}

// setOptions runs before the socket is bound, so that the first datagram already tells its destination.
func setOptions(device string) func(network, _ string, raw syscall.RawConn) error {
	return func(network, _ string, raw syscall.RawConn) error {
		var err error
		cerr := raw.Control(func(s uintptr) {
			fd := int(s)
			if device != "" {
				if err = unix.BindToDevice(fd, device); err != nil {
					return
				}
			}
			if network == "udp4" {
				err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			} else {
				err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
			}
			// The kernel caps these, and an old one doesn't know the last: all of that only costs speed.
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bufferWish)
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bufferWish)
			_ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
		})
		if cerr != nil {
			return cerr
		}
		return err
	}
}

// probe learns what the socket is and can do.
func (c *linuxConn) probe(fd int) {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	c.v6 = err == nil && family == unix.AF_INET6
	c.learnBuffers(fd)
	_, err = unix.GetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT)
	c.out.able = err == nil
	c.out.segment = c.out.able
}

func (c *linuxConn) learnBuffers(fd int) {
	for i, option := range [2]int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
		if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil {
			c.grants[i] = n / 2 // the kernel doubles what one asks for (socket(7))
		}
	}
}

// defaultBuffers gives back what setOptions has asked for.
func (c *linuxConn) defaultBuffers() error {
	var failed error
	err := c.raw.Control(func(s uintptr) {
		for _, b := range []struct {
			option int
			usual  string
		}{{unix.SO_RCVBUF, "rmem_default"}, {unix.SO_SNDBUF, "wmem_default"}} {
			text, err := os.ReadFile("/proc/sys/net/core/" + b.usual)
			n := 0
			if err == nil {
				_, err = fmt.Sscan(string(text), &n)
			}
			if err == nil {
				err = unix.SetsockoptInt(int(s), unix.SOL_SOCKET, b.option, n/2)
			}
			failed = errors.Join(failed, err)
		}
		c.learnBuffers(int(s))
	})
	return errors.Join(failed, err)
}

func (c *linuxConn) recv(slots []slot) (int, error) {
	in := &c.in
	in.want = min(len(slots), recvBatch)
	for i := range in.want {
		iov, hdr := &in.iovs[i], &in.msgs[i].hdr
		iov.Base = &slots[i].buf[0]
		iov.SetLen(len(slots[i].buf))
		*hdr = unix.Msghdr{Iov: iov, Control: &in.control[i][0]}
		hdr.SetIovlen(1)
		hdr.SetControllen(controlSpace)
		if !c.remote.IsValid() {
			hdr.Name, hdr.Namelen = &in.names[i][0], unix.SizeofSockaddrInet6
		}
	}
	if err := c.raw.Read(in.call); err != nil {
		return 0, err
	}
	if in.err != 0 {
		return 0, in.err
	}
	for i := range in.got {
		m, s := &in.msgs[i], &slots[i]
		ctl := parseControl(in.control[i][:min(int(m.hdr.Controllen), controlSpace)])
		s.n, s.segment, s.local, s.remote = int(m.n), ctl.segment, ctl.local, c.remote
		// Before it is connected the socket takes what strangers send.
		s.truncated = m.hdr.Flags&unix.MSG_TRUNC != 0 || c.remote.IsValid() && !c.linked.Load()
		if !c.remote.IsValid() {
			from, ok := parseSockaddr(in.names[i][:min(int(m.hdr.Namelen), unix.SizeofSockaddrInet6)])
			s.remote, s.truncated = from, s.truncated || !ok
		}
	}
	return in.got, nil
}

// recvmmsg is called by the runtime's poller; false waits for the socket to be readable.
func (c *linuxConn) recvmmsg(fd uintptr) bool {
	in := &c.in
	for {
		n, _, err := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&in.msgs[0])), uintptr(in.want), unix.MSG_DONTWAIT, 0, 0)
		switch err {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		}
		in.got, in.err = int(n), err
		return true
	}
}

func (c *linuxConn) send(t *train, to target) (int, error) {
	n, err := c.sendBatch(t, to)
	if err == nil || n > 0 || !c.out.segment || c.out.counts[0] == 1 {
		return n, err
	}
	switch err {
	case unix.EIO, unix.EINVAL, unix.EMSGSIZE, unix.ENOTSUP:
		// The device or the path doesn't take trains (udp(7)): do without from now on.
		c.out.segment = false
		return c.sendBatch(t, to)
	}
	return n, err
}

// sendBatch makes one sendmmsg of what t has left and returns how many datagrams went.
func (c *linuxConn) sendBatch(t *train, to target) (int, error) {
	out := &c.out
	namelen := 0
	source := out.source[:0]
	if !c.remote.IsValid() {
		if namelen = putSockaddr(&out.name, to.remote, c.v6); namelen == 0 {
			return 0, unix.EAFNOSUPPORT
		}
		if to.local.IsValid() && !to.local.IsUnspecified() {
			source = appendSource(source, to.local)
		}
	}
	out.want = 0
	for i := t.first; i < t.count(); out.want++ {
		m := out.want
		run := 1
		if out.segment {
			run = t.run(i)
		}
		begin, end := t.start(i), t.ends[i+run-1]
		iov, hdr := &out.iovs[m], &out.msgs[m].hdr
		iov.Base = &t.buf[begin]
		iov.SetLen(end - begin)
		*hdr = unix.Msghdr{Iov: iov}
		hdr.SetIovlen(1)
		if namelen > 0 {
			hdr.Name, hdr.Namelen = &out.name[0], uint32(namelen)
		}
		control := source
		if run > 1 {
			control = append(out.control[m][:0], source...)
			control = appendSegment(control, t.ends[i]-begin)
		}
		if len(control) > 0 {
			hdr.Control = &control[0]
			hdr.SetControllen(len(control))
		}
		out.counts[m] = run
		i += run
	}
	// Control and not Write: awaitWritable may hold the latter.
	if err := c.raw.Control(out.call); err != nil {
		return 0, err
	}
	n := 0
	for m := range out.got {
		n += out.counts[m]
	}
	switch out.err {
	case 0:
		return n, nil
	case unix.EAGAIN:
		return 0, errAgain
	}
	return 0, out.err
}

func (c *linuxConn) sendmmsg(fd uintptr) {
	out := &c.out
	for {
		n, _, err := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&out.msgs[0])), uintptr(out.want), unix.MSG_DONTWAIT, 0, 0)
		if err == unix.EINTR {
			continue
		}
		out.got, out.err = int(n), err
		if err != 0 {
			out.got = 0
		}
		return
	}
}

func (c *linuxConn) awaitWritable() error      { return awaitWritable(c.raw) }
func (c *linuxConn) localAddr() netip.AddrPort { return *c.local.Load() }
func (c *linuxConn) buffers() (recv, send int) { return c.grants[0], c.grants[1] }
func (c *linuxConn) close() error              { return c.udp.Close() }

// drops asks the kernel (SO_MEMINFO, the ninth figure).
func (c *linuxConn) drops() uint64 {
	var info [9]uint32
	size := uint32(unsafe.Sizeof(info))
	err := c.raw.Control(func(fd uintptr) {
		_, _, errno := syscall.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			info = [9]uint32{}
		}
	})
	if err != nil {
		return 0
	}
	return uint64(info[8])
}
