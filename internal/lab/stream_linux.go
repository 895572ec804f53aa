package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What byte streams carry: a request of 16 bytes, from where and how much, answered by the content. Content is the same everywhere
// and depends on its place, so that what comes can be checked.

// pattern repeats with a length that is prime, so that no shift by packets goes unseen.
var pattern = func() []byte {
	b := make([]byte, 65_521)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}()

// ServeStream does the job of a host of byte streams.
func ServeStream(j Job, c *Console) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := j.Stream
	if s.Protocol == "mpquic" {
		return serveMachine(ctx, &j, c)
	}
	if len(j.Objects) > 0 {
		serve := s.serveTCP
		if s.Protocol == "quic" {
			serve = s.serveQUIC
		}
		if err := serve(ctx, c); err != nil {
			return err
		}
	}
	begin, err := c.Begin()
	if err != nil {
		return err
	}
	var flows sync.WaitGroup
	for _, f := range j.Fetches {
		flows.Go(func() {
			e, err := s.fetch(ctx, j, f, begin)
			if err != nil {
				e = Event{Event: "failed", Flow: f.Flow, Why: fmt.Sprintf("%s: %v", f.Name, err)}
			}
			c.Tell(e)
		})
	}
	err = c.End(nil)
	stop()
	return err
}

// serveTCP answers one request per connection.
func (s *Stream) serveTCP(ctx context.Context, _ *Console) error {
	l := net.ListenConfig{Control: s.prepare}
	l.SetMultipathTCP(s.Protocol == "mptcp")
	// To one address alone, other subflows couldn't be joined.
	at, err := l.Listen(ctx, "tcp4", fmt.Sprintf("0.0.0.0:%d", s.Port))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { at.Close() })
	go func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return // closed
			}
			go answer(conn)
		}
	}()
	return nil
}

// dial makes a connection.
func (s *Stream) dial(ctx context.Context, addr string) (net.Conn, error) {
	if s.Protocol == "quic" {
		return dialQUIC(ctx, addr)
	}
	d := net.Dialer{Control: s.prepare, Timeout: time.Minute}
	d.SetMultipathTCP(s.Protocol == "mptcp")
	return d.DialContext(ctx, "tcp4", addr)
}

// prepare chooses the congestion control of a socket before it has a peer: subflows take it over.
func (s *Stream) prepare(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, s.Control)
	})
	if failed != nil {
		failed = fmt.Errorf("congestion control %s: %w", s.Control, failed)
	}
	return errors.Join(err, failed)
}

// answer sends what a peer asks for.
func answer(conn io.ReadWriteCloser) {
	defer conn.Close()
	var request [16]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return
	}
	from, left := binary.BigEndian.Uint64(request[:]), binary.BigEndian.Uint64(request[8:])
	for left > 0 {
		b := pattern[from%uint64(len(pattern)):]
		b = b[:min(uint64(len(b)), left)]
		n, err := conn.Write(b)
		from, left = from+uint64(n), left-uint64(n)
		if err != nil {
			return // the peer has seen it too
		}
	}
	_, _ = io.Copy(io.Discard, conn) // until the peer has all and closes: else subflows would end before it asks for them
}

// fetch fetches one flow over one connection or several.
func (s *Stream) fetch(ctx context.Context, j Job, f Fetch, begin time.Time) (Event, error) {
	start := begin.Add(time.Duration(float64(f.Start) * j.Dilation))
	time.Sleep(time.Until(start))
	m := NewMeter(f.Flow, start, f.Bytes, SeriesStep(j.Dilation))
	var mu sync.Mutex
	got, paths := int64(0), 0
	var failed error
	var streams sync.WaitGroup
	for i := range int64(s.Count) {
		from, to := f.Bytes*i/int64(s.Count), f.Bytes*(i+1)/int64(s.Count)
		streams.Go(func() {
			k, err := s.part(ctx, f.From, from, to, func(n int) {
				mu.Lock()
				defer mu.Unlock()
				if got += int64(n); got < f.Bytes {
					m.At(time.Now(), got)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			paths, failed = max(paths, k), errors.Join(failed, err)
		})
	}
	streams.Wait()
	if failed != nil {
		return Event{}, failed
	}
	e := m.Done(time.Now())
	e.Paths = paths
	return e, nil
}

// part fetches the bytes from…to over one connection and checks them. It returns the number of subflows.
func (s *Stream) part(ctx context.Context, addr string, from, to int64, came func(int)) (subflows int, err error) {
	conn, err := s.dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var request [16]byte
	binary.BigEndian.PutUint64(request[:], uint64(from))
	binary.BigEndian.PutUint64(request[8:], uint64(to-from))
	if _, err := conn.Write(request[:]); err != nil {
		return 0, err
	}
	buf := make([]byte, 256<<10)
	for from < to {
		n, err := conn.Read(buf[:min(int64(len(buf)), to-from)])
		for b := buf[:n]; len(b) > 0; {
			want := pattern[from%int64(len(pattern)):]
			want = want[:min(len(want), len(b))]
			if string(want) != string(b[:len(want)]) {
				return 0, fmt.Errorf("wrong bytes at %d", from)
			}
			from, b = from+int64(len(want)), b[len(want):]
		}
		came(n)
		if err != nil && from < to {
			return 0, fmt.Errorf("%d bytes are missing: %w", to-from, err)
		}
	}
	return subflowsOf(conn), nil
}

// subflowsOf is the number of subflows of a connection: of MPTCP; others, and MPTCP that has fallen back to TCP, have one.
func subflowsOf(conn net.Conn) int {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 1
	}
	if multipath, err := tcp.MultipathTCP(); err != nil || !multipath {
		return 1
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	const solMPTCP, mptcpInfo = 284, 1 // linux/mptcp.h
	count := 0
	_ = raw.Control(func(fd uintptr) {
		var info [256]byte
		size := uint32(len(info))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, solMPTCP, mptcpInfo, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if errno == 0 && size > 0 {
			count = 1 + int(info[0]) // the first field counts further subflows
		}
	})
	return count
}
