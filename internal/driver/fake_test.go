package driver

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

var fakeRemote = netip.MustParseAddrPort("192.0.2.1:6363")

// fakeConn is a socket under a test's control. It takes as many datagrams as it has room for.
type fakeConn struct {
	sent   chan []byte // what the kernel took
	closed chan struct{}
	once   sync.Once
	faults chan error // what recv returns

	mu    sync.Mutex
	room  int          // datagrams; −1: no limit
	fails func() error // asked before each datagram; nil: none fails
	more  chan struct{}
	asked chan struct{} // one token for each awaitWritable
}

func newFakeConn() *fakeConn {
	return &fakeConn{
		sent: make(chan []byte, 1024), closed: make(chan struct{}), room: -1,
		faults: make(chan error, 16), more: make(chan struct{}, 1), asked: make(chan struct{}, 16),
	}
}

func (c *fakeConn) recv([]slot) (int, error) {
	select {
	case err := <-c.faults:
		return 0, err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *fakeConn) send(t *train, _ target) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for i := t.first; i < t.count(); i++ {
		if c.fails != nil {
			if err := c.fails(); err != nil {
				return n, err
			}
		}
		if c.room == 0 {
			if n > 0 {
				return n, nil
			}
			return 0, errAgain
		}
		c.room = max(c.room-1, -1)
		c.sent <- slices.Clone(t.datagram(i))
		n++
	}
	return n, nil
}

// drain makes room for n datagrams.
func (c *fakeConn) drain(n int) {
	c.mu.Lock()
	c.room = n
	c.mu.Unlock()
	c.more <- struct{}{}
}

func (c *fakeConn) awaitWritable() error {
	c.asked <- struct{}{}
	select {
	case <-c.more:
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

func (c *fakeConn) reconnect() error          { return nil }
func (c *fakeConn) localAddr() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.2:6363") }
func (c *fakeConn) buffers() (recv, send int) { return 0, 0 }
func (c *fakeConn) drops() uint64             { return 0 }

func (c *fakeConn) close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}
