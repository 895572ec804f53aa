package driver

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// parseSockaddr reads a struct sockaddr_in or sockaddr_in6 as the kernel writes it; ok is false for anything else. Only
// link-local addresses carry a zone.
func parseSockaddr(b []byte) (a netip.AddrPort, ok bool) {
	if len(b) < unix.SizeofSockaddrInet4 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case unix.AF_INET6:
		if len(b) < unix.SizeofSockaddrInet6 {
			return netip.AddrPort{}, false
		}
		ip := netip.AddrFrom16([16]byte(b[8:24])).Unmap()
		return netip.AddrPortFrom(scoped(ip, binary.NativeEndian.Uint32(b[24:])), port), true
	}
	return netip.AddrPort{}, false
}

// putSockaddr writes a for a socket of the given family into b and returns its length. An IPv6 socket takes IPv4
// addresses in mapped form.
func putSockaddr(b *[unix.SizeofSockaddrInet6]byte, a netip.AddrPort, v6 bool) int {
	*b = [unix.SizeofSockaddrInet6]byte{}
	binary.BigEndian.PutUint16(b[2:], a.Port())
	if !v6 {
		ip := a.Addr().Unmap()
		if !ip.Is4() {
			return 0 // the kernel refuses it
		}
		binary.NativeEndian.PutUint16(b[:], unix.AF_INET)
		four := ip.As4()
		copy(b[4:], four[:])
		return unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(b[:], unix.AF_INET6)
	sixteen := a.Addr().As16()
	copy(b[8:], sixteen[:])
	binary.NativeEndian.PutUint32(b[24:], scopeID(a.Addr()))
	return unix.SizeofSockaddrInet6
}

// scoped returns ip with a zone if it is of the kind that is only unique on one link (RFC 4007 §6).
func scoped(ip netip.Addr, scope uint32) netip.Addr {
	if ip.Is6() && ip.IsLinkLocalUnicast() {
		return ip.WithZone(strconv.FormatUint(uint64(scope), 10))
	}
	return ip
}

// scopeID is the interface index of a zone: in the form that scoped gives, or the name that people write; 0: none.
func scopeID(a netip.Addr) uint32 {
	if a.Zone() == "" {
		return 0
	}
	if id, err := strconv.ParseUint(a.Zone(), 10, 32); err == nil {
		return uint32(id)
	}
	dev, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return 0 // the kernel refuses the address until the interface is there
	}
	return uint32(dev.Index)
}

// control is what we read from the control messages of one datagram.
type control struct {
	local   netip.Addr // zero: not told
	segment int        // 0: one datagram
}

const (
	cmsgHeader = unix.SizeofCmsghdr
	cmsgLenLen = unix.SizeofPtr // cmsg_len is a size_t
)

// cmsgAlign rounds n up to the alignment of control messages.
func cmsgAlign(n int) int { return (n + cmsgLenLen - 1) &^ (cmsgLenLen - 1) }

// parseControl reads the control messages in b (RFC 3542 §20) and ignores what is unknown or damaged.
func parseControl(b []byte) (c control) {
	for len(b) >= cmsgHeader {
		n := nativeLen(b)
		if n < cmsgHeader || n > len(b) {
			break
		}
		level := int32(binary.NativeEndian.Uint32(b[cmsgLenLen:]))
		kind := int32(binary.NativeEndian.Uint32(b[cmsgLenLen+4:]))
		body := b[cmsgHeader:n]
		switch {
		case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && len(body) >= unix.SizeofInet4Pktinfo:
			// ipi_spec_dst, the address that a reply should leave from: ipi_addr may be a broadcast address.
			c.local = netip.AddrFrom4([4]byte(body[4:8]))
		case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_PKTINFO && len(body) >= unix.SizeofInet6Pktinfo:
			c.local = scoped(netip.AddrFrom16([16]byte(body[:16])).Unmap(), binary.NativeEndian.Uint32(body[16:]))
		case level == unix.SOL_UDP && kind == unix.UDP_GRO && len(body) >= 4:
			if size := int32(binary.NativeEndian.Uint32(body)); size > 0 {
				c.segment = int(size)
			}
		}
		b = b[min(cmsgAlign(n), len(b)):]
	}
	return c
}

func nativeLen(b []byte) int {
	n := uint64(binary.NativeEndian.Uint32(b))
	if cmsgLenLen == 8 {
		n = binary.NativeEndian.Uint64(b)
	}
	if n > 1<<20 {
		return 0
	}
	return int(n)
}

// controlSpace holds every control message that we send or read.
const controlSpace = 128

// appendCmsg appends one control message of up to 20 bytes of body.
func appendCmsg(b []byte, level, kind int, body []byte) []byte {
	at := len(b)
	b = b[:at+cmsgAlign(cmsgHeader+len(body))]
	clear(b[at:])
	if cmsgLenLen == 8 {
		binary.NativeEndian.PutUint64(b[at:], uint64(cmsgHeader+len(body)))
	} else {
		binary.NativeEndian.PutUint32(b[at:], uint32(cmsgHeader+len(body)))
	}
	binary.NativeEndian.PutUint32(b[at+cmsgLenLen:], uint32(level))
	binary.NativeEndian.PutUint32(b[at+cmsgLenLen+4:], uint32(kind))
	copy(b[at+cmsgHeader:], body)
	return b
}

// appendSource appends the message that makes a datagram leave from local (RFC 3542 §6.2, ip(7)).
func appendSource(b []byte, local netip.Addr) []byte {
	if local.Is4() {
		var info [unix.SizeofInet4Pktinfo]byte
		four := local.As4()
		copy(info[4:], four[:])
		return appendCmsg(b, unix.IPPROTO_IP, unix.IP_PKTINFO, info[:])
	}
	var info [unix.SizeofInet6Pktinfo]byte
	sixteen := local.As16()
	copy(info[:], sixteen[:])
	binary.NativeEndian.PutUint32(info[16:], scopeID(local))
	return appendCmsg(b, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, info[:])
}

// appendSegment appends the message that makes the kernel cut the payload into datagrams of size bytes.
func appendSegment(b []byte, size int) []byte {
	var body [2]byte
	binary.NativeEndian.PutUint16(body[:], uint16(size))
	return appendCmsg(b, unix.SOL_UDP, unix.UDP_SEGMENT, body[:])
}
