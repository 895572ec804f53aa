package driver

import (
	"net"
	"net/netip"
)

// portableConn moves one datagram at a time through package net: it works everywhere, is slow, doesn't know which of our
// addresses a datagram was sent to, needs a route when it is opened, and its send waits where others return errAgain.
type portableConn struct {
	udp    *net.UDPConn
	remote netip.AddrPort // valid on a connected socket
}

func openPortable(local, remote netip.AddrPort) (batchConn, error) {
	var udp *net.UDPConn
	var err error
	if remote.IsValid() {
		at := &net.UDPAddr{IP: local.Addr().AsSlice(), Zone: local.Addr().Zone(), Port: int(local.Port())}
		if udp, err = net.DialUDP("udp", at, net.UDPAddrFromAddrPort(remote)); err != nil {
			err = explain(err, at.String())
		}
	} else {
		udp, err = bindConn(local, remote, nil)
	}
	if err != nil {
		return nil, err
	}
	// A system that refuses keeps its default, which the inbox makes up for.
	_ = udp.SetReadBuffer(bufferWish)
	_ = udp.SetWriteBuffer(bufferWish)
	return &portableConn{udp: udp, remote: remote}, nil
}

func (c *portableConn) recv(slots []slot) (int, error) {
	s := &slots[0]
	n, _, _, remote, err := c.udp.ReadMsgUDPAddrPort(s.buf, nil)
	if err != nil {
		return 0, err
	}
	s.n, s.segment, s.remote, s.local, s.truncated = n, 0, plain(remote), netip.Addr{}, n == len(s.buf)
	return 1, nil
}

func (c *portableConn) send(t *train, to target) (int, error) {
	for i := t.first; i < t.count(); i++ {
		var err error
		if c.remote.IsValid() {
			_, err = c.udp.Write(t.datagram(i))
		} else {
			_, err = c.udp.WriteToUDPAddrPort(t.datagram(i), to.remote)
		}
		if err != nil {
			return i - t.first, err
		}
	}
	return t.count() - t.first, nil
}

func (c *portableConn) reconnect() error          { return nil }
func (c *portableConn) awaitWritable() error      { return nil }
func (c *portableConn) localAddr() netip.AddrPort { return addrPort(c.udp.LocalAddr()) }
func (c *portableConn) buffers() (recv, send int) { return 0, 0 }
func (c *portableConn) drops() uint64             { return 0 }
func (c *portableConn) close() error              { return c.udp.Close() }
