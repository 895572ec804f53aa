package driver

import (
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mars/internal/machine"
)

// hands is a clock that stands still until a test moves it.
type hands struct{ at atomic.Int64 }

func (h *hands) now() time.Duration { return time.Duration(h.at.Load()) }

// pass lets time pass for d. When it returns the loop has taken a turn at the new time.
func (h *hands) pass(t *testing.T, d *Driver, by time.Duration) {
	t.Helper()
	h.at.Add(int64(by))
	do(t, d, func() {}) // the turn begins with this call …
	do(t, d, func() {}) // … and has ended before this one
}

// TestSilentGuestsEnd: an on-demand face ends when nothing has come by it for Options.Idle, whatever was sent to it.
func TestSilentGuestsEnd(t *testing.T) {
	var h hands
	m := newEcho()
	d := New(m, Options{Clock: h.now, Idle: time.Minute})
	at := listen(t, d, loopback).String()
	start(t, d)
	c := client(t, "127.0.0.1:0", at)
	a, b := client(t, "127.0.0.1:0", at), client(t, "127.0.0.1:0", at)
	ask(t, a, "a")
	h.pass(t, d, 40*time.Second)
	ask(t, b, "b")
	gone := func(want ...machine.FaceID) {
		t.Helper()
		do(t, d, func() {
			if !slices.Equal(m.down, want) {
				t.Errorf("down went %v, want %v", m.down, want)
			}
			m.queue(1, []byte("for nobody"))
		})
	}
	h.pass(t, d, 19*time.Second)
	gone()
	h.pass(t, d, time.Second)
	gone(1)
	ask(t, b, "still here")
	h.pass(t, d, 59*time.Second)
	gone(1)
	ask(t, c, "another")
	h.pass(t, d, time.Second)
	gone(1, 2)
	if faces := d.Faces(); len(faces) != 1 || faces[0].ID != 3 {
		t.Errorf("%+v", faces)
	}
}

// TestGuestsMayStay: Idle < 0 keeps them.
func TestGuestsMayStay(t *testing.T) {
	var h hands
	m := newEcho()
	d := New(m, Options{Clock: h.now, Idle: -1})
	at := listen(t, d, loopback).String()
	start(t, d)
	ask(t, client(t, "127.0.0.1:0", at), "a")
	h.pass(t, d, 24*time.Hour)
	do(t, d, func() {
		if len(m.down) != 0 || d.idleAt != machine.Never {
			t.Errorf("down went %v; the next look is at %v", m.down, d.idleAt)
		}
	})
}

// TestKeepAlive: only silence of our own counts.
func TestKeepAlive(t *testing.T) {
	var h hands
	m := newEcho()
	d := New(m, Options{Clock: h.now, Scale: 2})
	id, conn := dialFake(t, d, FaceSpec{KeepAlive: KeepAlive{20 * time.Second, []byte("alive")}})
	_, other := dialFake(t, d, FaceSpec{})
	start(t, d)
	do(t, d, func() {}) // the faces are up
	next := func(want string) {
		t.Helper()
		select {
		case got := <-conn.sent:
			if string(got) != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		default:
			t.Errorf("%q was not sent", want)
		}
	}
	nothing := func() {
		t.Helper()
		if len(conn.sent)+len(other.sent) != 0 {
			t.Errorf("sent %d and %d datagrams, want none", len(conn.sent), len(other.sent))
		}
	}
	h.pass(t, d, 19*time.Second)
	nothing()
	h.pass(t, d, time.Second)
	next("alive")
	h.pass(t, d, 10*time.Second)
	do(t, d, func() { m.queue(id, []byte("a packet")) })
	do(t, d, func() {})
	next("a packet")
	h.pass(t, d, 19*time.Second)
	nothing()
	h.pass(t, d, time.Second)
	next("alive")
	conn.mu.Lock()
	conn.fails = func() error { return syscall.EPERM }
	conn.mu.Unlock()
	h.pass(t, d, 20*time.Second)
	nothing()
	conn.mu.Lock()
	conn.fails = nil
	conn.mu.Unlock()
	h.pass(t, d, 20*time.Second)
	next("alive")
	nothing()
	d.Drop(id)
	do(t, d, func() {}) // the loop has come to it: a keep-alive that was due before may leave
	do(t, d, func() {})
	h.pass(t, d, time.Hour)
	nothing()
}

// TestKeepAliveWaitsForRoom: a socket that is full has something to send anyway.
func TestKeepAliveWaitsForRoom(t *testing.T) {
	var h hands
	m := newEcho()
	d := New(m, Options{Clock: h.now})
	id, conn := dialFake(t, d, FaceSpec{KeepAlive: KeepAlive{20 * time.Second, []byte("alive")}})
	conn.room = 1
	start(t, d)
	do(t, d, func() { queueNumbers(m, id, 0, 3) })
	<-conn.asked
	h.pass(t, d, time.Minute)
	conn.drain(-1)
	expect(t, conn, 0, 3)
	h.pass(t, d, 20*time.Second)
	if got := <-conn.sent; string(got) != "alive" {
		t.Errorf("sent %q", got)
	}
}
