package driver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"mars/internal/wire"
)

// maxFrame bounds one packet of a stream, bytes: a network packet in a link packet with a header of ours.
const maxFrame = wire.MaxPacket + 512

// errEnded says that a stream is over: nothing will come and nothing can be sent. errMalformed is one reason.
var (
	errEnded     = errors.New("the stream has ended")
	errMalformed = errors.New("what came is no NDN packet")
)

// A streamConn carries NDN packets back to back over a Unix stream: each is a TLV, whose length tells where the next one
// begins. To the driver they are datagrams.
type streamConn struct {
	unix *net.UnixConn
	raw  syscall.RawConn

	// What follows belongs to the goroutine that receives: what came and isn't passed on is buf[from:to].
	buf      []byte
	from, to int

	// What follows belongs to the goroutine that sends.
	written int // bytes of the first unsent datagram that the kernel has
}

func newStream(unix *net.UnixConn) (*streamConn, error) {
	raw, err := unix.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, unix.Close())
	}
	return &streamConn{unix: unix, raw: raw, buf: make([]byte, slotSize)}, nil
}

// recv waits for whole packets. Its errors are errEnded, wrapped with the reason.
func (c *streamConn) recv(slots []slot) (int, error) {
	for {
		n, err := c.split(slots)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%w: %w: %w", errEnded, errMalformed, err)
		}
		if c.from > 0 { // there is always room for a whole packet
			c.from, c.to = 0, copy(c.buf, c.buf[c.from:c.to])
		}
		k, err := c.unix.Read(c.buf[c.to:])
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errEnded, err)
		}
		c.to += k
	}
}

// split moves whole packets into slots and returns how many. The error is about what follows them.
func (c *streamConn) split(slots []slot) (int, error) {
	for i := range slots {
		rest := c.buf[c.from:c.to]
		size, err := wire.FrameLen(rest, maxFrame)
		if err != nil || size == 0 || size > len(rest) {
			return i, err
		}
		s := &slots[i]
		s.n, s.segment, s.remote, s.local, s.truncated = copy(s.buf, rest[:size]), 0, netip.AddrPort{}, netip.Addr{}, false
		c.from += size
	}
	return len(slots), nil
}

// send writes what the stream has room for. The rest of a packet that it took in part goes first when t comes again.
func (c *streamConn) send(t *train, _ target) (int, error) {
	n, err := c.write(t.buf[t.start(t.first)+c.written : t.start(t.count())])
	c.written += n
	sent := 0
	for i := t.first; i < t.count() && c.written >= t.ends[i]-t.start(i); i++ {
		c.written -= t.ends[i] - t.start(i)
		sent++
	}
	switch {
	case sent > 0:
		return sent, nil
	case err == nil, errors.Is(err, errAgain):
		return 0, errAgain
	}
	_ = c.unix.Close() // a stream that lost bytes has no packets any more; the reader tells the loop
	return 0, err
}

func (c *streamConn) reconnect() error          { return nil }
func (c *streamConn) localAddr() netip.AddrPort { return netip.AddrPort{} }
func (c *streamConn) buffers() (recv, send int) { return 0, 0 }
func (c *streamConn) drops() uint64             { return 0 }
func (c *streamConn) close() error              { return c.unix.Close() }
