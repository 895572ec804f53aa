package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// bufferWish is what is asked of the kernel for each socket buffer, bytes. The kernel grants less where its limits say
// so (net.core.rmem_max); the inbox makes up for that.
const bufferWish = 4 << 20

// errAgain says that the socket takes no more datagrams for now.
var errAgain = errors.New("socket buffer full")

// A batchConn is one UDP socket that moves datagrams in batches. One goroutine receives and another one sends; close
// may be called from anywhere and ends every wait with net.ErrClosed.
type batchConn interface {
	// recv waits for datagrams and fills slots from the first on. An error tells of no datagram, and the socket can be
	// used on unless it is net.ErrClosed.
	recv(slots []slot) (int, error)
	// send hands the unsent datagrams of t to the kernel without waiting and returns how many of them it took. An error
	// concerns the first one that it didn't take; errAgain asks to call awaitWritable.
	send(t *train, to target) (int, error)
	// awaitWritable waits until send may have room.
	awaitWritable() error
	// reconnect makes a connected socket choose its route and its own address anew. An error says that it can't send yet.
	reconnect() error
	localAddr() netip.AddrPort
	// buffers returns what the kernel grants for receiving and sending, in bytes as one would ask for them; 0: unknown.
	buffers() (recv, send int)
	// drops counts the datagrams that the kernel dropped since the receive buffer was full.
	drops() uint64
	close() error
}

// A slot takes one received datagram, or a train of equal ones that the kernel coalesced.
type slot struct {
	buf       []byte
	n         int            // bytes received
	segment   int            // size of each datagram in a train but the last; 0: there is only one
	remote    netip.AddrPort // where it came from, never an IPv4-mapped IPv6 address
	local     netip.Addr     // the address that it was sent to; zero if the system doesn't tell
	truncated bool           // it didn't fit
}

// A target says where a datagram goes and from which of our addresses. A connected socket needs neither.
type target struct {
	remote netip.AddrPort
	local  netip.Addr
}

// bindConn binds a socket to local, whose port and address may be zero; remote, if valid, says which IP version will be
// needed. Without either the socket takes both versions, where the system has both: IPv4 then comes in mapped form.
func bindConn(local, remote netip.AddrPort, control func(network, address string, c syscall.RawConn) error) (*net.UDPConn, error) {
	bind := local.String()
	if !local.Addr().IsValid() {
		bind = fmt.Sprintf(":%d", local.Port())
	}
	network := "udp"
	switch version := cmp.Or(remote.Addr(), local.Addr()); {
	case version.Unmap().Is4():
		network = "udp4"
	case version.Is6():
		network = "udp6" // of [::] IPv6 only; package net would take IPv4 too
	}
	cfg := net.ListenConfig{Control: control}
	c, err := cfg.ListenPacket(context.Background(), network, bind)
	if err != nil {
		return nil, explain(err, bind)
	}
	return c.(*net.UDPConn), nil
}

// routeless says whether err is what the lack of a route or of an address looks like; both may come back, perhaps in
// another form, and then a new connection finds them.
func routeless(err error) bool {
	for _, e := range [...]error{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENODEV,
		syscall.EADDRNOTAVAIL, syscall.EINVAL, syscall.EDESTADDRREQ,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// deviceAddr is the address of ours to bind to where a socket can't be bound to the interface itself: one of the
// interface's, of the IP version and the scope of remote.
func deviceAddr(device string, remote netip.Addr) (netip.Addr, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Addr{}, noDevice(device, err)
	}
	all, err := dev.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("addresses of interface %s: %w", device, err)
	}
	remote = remote.Unmap()
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		ip := p.Addr()
		if ip.Is4() != remote.Is4() || ip.Is6() && ip.IsLinkLocalUnicast() != remote.IsLinkLocalUnicast() {
			continue
		}
		if ip.Is6() && ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(device)
		}
		return ip, nil
	}
	return netip.Addr{}, fmt.Errorf("interface %s has no address from which %v can be reached: give it one, or choose another interface", device, remote)
}

func noDevice(device string, err error) error {
	return fmt.Errorf("there is no interface %s: choose one that `ip link` lists: %w", device, err)
}

// explain adds the next step to the errors that a person can do something about.
func explain(err error, bind string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("UDP address %s is in use: stop the other program (ss -lunp shows it) or choose another port: %w", bind, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("address %s isn't one of this machine's: choose one that `ip address` lists: %w", bind, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no permission for UDP address %s: choose a port from 1024 on or grant CAP_NET_BIND_SERVICE: %w", bind, err)
	}
	return fmt.Errorf("open UDP socket: %w", err)
}

// plain returns a without IPv4-in-IPv6 mapping, so that one peer has one address.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

func addrPort(a net.Addr) netip.AddrPort {
	if u, ok := a.(*net.UDPAddr); ok && u != nil {
		return plain(u.AddrPort())
	}
	return netip.AddrPort{}
}
