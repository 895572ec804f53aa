// Package impair is a UDP proxy that behaves like a bad network, for tests of what runs over real sockets.
package impair

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what happens to each datagram, in both directions. The decisions come from Seed and from the order in
// which datagrams of one client and direction arrive.
type Config struct {
	Drop      float64 // probability in [0, 1] that a datagram is lost
	Duplicate float64 // that it arrives twice
	Reorder   float64 // that it lets the next one of its client and direction, or HoldTime, pass first
	Corrupt   float64 // that one of its bits flips
	Delay     time.Duration
	Seed      uint64
}

// HoldTime bounds how long a datagram waits to be overtaken.
const HoldTime = 20 * time.Millisecond

// delayed bounds the datagrams that are on their way in one direction of one client; more are lost, as in a queue.
const delayed = 8192

// Counts says what has happened so far, in both directions together.
type Counts struct {
	Received, Sent                            uint64
	Dropped, Duplicated, Reordered, Corrupted uint64
	Overflowed                                uint64 // lost since too many were on their way
	Blocked                                   uint64 // lost since the proxy was told to
}

// A Proxy stands between clients that send to its address and one server.
type Proxy struct {
	cfg     Config
	hold    time.Duration
	to      netip.AddrPort
	front   *net.UDPConn
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
	blocked atomic.Bool

	received, sent, dropped, duplicated, reordered, corrupted, overflowed, blockedCount atomic.Uint64

	mu      sync.Mutex
	clients map[netip.AddrPort]*client
	closed  bool
}

// client is one address that has sent to the proxy: a socket toward the server, so that replies find their way back.
type client struct {
	back     *net.UDPConn
	up, down *direction
}

// New starts a proxy at listen, whose port may be 0, in front of to. Close ends it.
func New(listen, to netip.AddrPort, cfg Config) (*Proxy, error) {
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen))
	if err != nil {
		return nil, err
	}
	widen(front)
	p := &Proxy{cfg: cfg, hold: HoldTime, to: to, front: front, clients: map[netip.AddrPort]*client{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.workers.Add(1)
	go p.serve()
	return p, nil
}

// widen asks for buffers that lose nothing which the configuration doesn't lose; the kernel may grant less.
func widen(c *net.UDPConn) {
	_ = c.SetReadBuffer(4 << 20)
	_ = c.SetWriteBuffer(4 << 20)
}

// Addr is where clients send to.
func (p *Proxy) Addr() netip.AddrPort {
	a := p.front.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Block makes the proxy swallow everything silently, or ends that.
func (p *Proxy) Block(on bool) { p.blocked.Store(on) }

// Counts returns what has happened so far.
func (p *Proxy) Counts() Counts {
	return Counts{
		Received: p.received.Load(), Sent: p.sent.Load(), Dropped: p.dropped.Load(), Duplicated: p.duplicated.Load(),
		Reordered: p.reordered.Load(), Corrupted: p.corrupted.Load(), Overflowed: p.overflowed.Load(),
		Blocked: p.blockedCount.Load(),
	}
}

// Close ends the proxy and waits for its goroutines; what is on its way is lost.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.cancel()
	err := p.front.Close()
	for _, c := range p.clients {
		err = errors.Join(err, c.back.Close())
	}
	p.mu.Unlock()
	p.workers.Wait()
	return err
}

// serve takes what the clients send.
func (p *Proxy) serve() {
	defer p.workers.Done()
	buf := make([]byte, 1<<16)
	for {
		n, from, err := p.front.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if c := p.client(from); c != nil {
			c.up.push(buf[:n])
		}
	}
}

// client returns the state of the client at from and makes it if need be; nil: it can't be made.
func (p *Proxy) client(from netip.AddrPort) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[from]; c != nil {
		return c
	}
	if p.closed {
		return nil
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.to))
	if err != nil {
		return nil
	}
	widen(back)
	n := uint64(len(p.clients))
	c := &client{back: back}
	c.up = p.direction(2*n, func(d []byte) error { _, err := back.Write(d); return err })
	c.down = p.direction(2*n+1, func(d []byte) error { _, err := p.front.WriteToUDPAddrPort(d, from); return err })
	p.clients[from] = c
	p.workers.Add(1)
	go p.answer(c)
	return c
}

// answer takes what the server sends to one client. A refusal is no end: the server may come later.
func (p *Proxy) answer(c *client) {
	defer p.workers.Done()
	buf := make([]byte, 1<<16)
	for {
		n, err := c.back.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.down.push(buf[:n])
		}
	}
}

func (p *Proxy) direction(stream uint64, write func([]byte) error) *direction {
	d := &direction{
		p: p, rng: rand.New(rand.NewPCG(p.cfg.Seed, stream)), write: write, queue: make(chan parcel, delayed),
	}
	p.workers.Add(1)
	go d.run()
	return d
}
