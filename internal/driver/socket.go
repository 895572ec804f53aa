package driver

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mars/internal/machine"
)

// A socket is a batchConn with the goroutines that wait for it.
type socket struct {
	d       *Driver
	conn    batchConn
	local   netip.AddrPort
	face    *face // of a connected socket; nil: datagrams come from anywhere
	guarded bool  // what comes is for the Guard first
	plain   bool  // what isn't for it is welcome too
	in      *inbox

	rejected atomic.Uint64
	fault    atomic.Pointer[error] // the reader's last error, for the loop
	ended    atomic.Bool           // the reader has met the end of a stream, and all that came is in the inbox

	once sync.Once
	quit chan struct{}

	// What follows belongs to the loop.
	faulty  bool    // receiving failed, and nothing has come in since
	full    bool    // a goroutine waits until it takes datagrams again
	waiting []*face // those with a held train, in the order in which they go on
}

func newSocket(d *Driver, conn batchConn, f *face) *socket {
	return &socket{d: d, conn: conn, local: conn.localAddr(), face: f, in: newInbox(), quit: make(chan struct{})}
}

// close ends the socket's goroutines.
func (s *socket) close() {
	s.once.Do(func() {
		close(s.quit)
		s.in.close()
		if err := s.conn.close(); err != nil {
			s.d.log.Debug("close socket", "local", s.local, "error", err)
		}
	})
}

// read moves datagrams from the kernel to the inbox until the socket is closed.
func (s *socket) read() {
	defer s.d.readers.Done()
	slots := make([]slot, recvBatch)
	pause := time.Duration(0)
	for {
		room := s.in.reserve(slots)
		if room == 0 {
			return
		}
		n, err := s.conn.recv(slots[:room])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if errors.Is(err, errEnded) {
			s.end(err)
			return
		}
		if err != nil {
			s.fault.Store(&err)
			s.d.wakeup()
			// A refusal answers one of our own datagrams and can't repeat by itself; other errors might.
			if !errors.Is(err, syscall.ECONNREFUSED) {
				pause = min(max(2*pause, firstPause), longestPause)
				select {
				case <-time.After(pause):
				case <-s.quit:
					return
				}
			}
			continue
		}
		pause = 0
		for _, t := range slots[:n] {
			if t.truncated {
				s.rejected.Add(1)
			}
		}
		s.in.publish(slots[:n])
		s.d.wakeup()
	}
}

// end tells the loop that nothing more will come.
func (s *socket) end(err error) {
	if errors.Is(err, errMalformed) {
		s.d.local.malformed.Add(1)
		s.d.log.Warn("closing the connection of an application", "face", s.face.id, "name", s.face.name, "error", err)
	}
	s.ended.Store(true)
	s.d.wakeup()
}

// awaitRoom keeps the faces of s from being pulled until it takes datagrams again. Called by the loop.
func (s *socket) awaitRoom() {
	if s.full {
		return
	}
	s.full = true
	s.d.readers.Add(1)
	go func() {
		defer s.d.readers.Done()
		if err := s.conn.awaitWritable(); errors.Is(err, net.ErrClosed) {
			return
		}
		s.d.Post(func(machine.Time) { s.full = false })
	}()
}
