package driver

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"mars/internal/machine"
)

// dialFake gives d a face over a socket under the test's control.
func dialFake(t *testing.T, d *Driver, spec FaceSpec) (machine.FaceID, *fakeConn) {
	t.Helper()
	conn := newFakeConn()
	spec.Remote = fakeRemote
	id, err := d.dial(spec, conn)
	if err != nil {
		t.Fatal(err)
	}
	return id, conn
}

func do(t *testing.T, d *Driver, f func()) {
	t.Helper()
	if err := d.Do(func(machine.Time) { f() }); err != nil {
		t.Fatal(err)
	}
}

// expect reads the numbered datagrams first … last−1 from what the kernel took.
func expect(t *testing.T, c *fakeConn, first, last int) {
	t.Helper()
	for i := first; i < last; i++ {
		select {
		case got := <-c.sent:
			if want := fmt.Sprint("datagram ", i); string(got) != want {
				t.Fatalf("sent %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("datagram %d was not sent", i)
		}
	}
}

func queueNumbers(m *echo, id machine.FaceID, first, last int) {
	for i := first; i < last; i++ {
		m.queue(id, fmt.Append(nil, "datagram ", i))
	}
}

// TestFullSocketHoldsItsFacesOnly lets one socket have no room: its face isn't pulled, the other one goes on, and in the
// end everything was sent once and in order.
func TestFullSocketHoldsItsFacesOnly(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	slow, full := dialFake(t, d, FaceSpec{})
	fast, free := dialFake(t, d, FaceSpec{})
	full.room = 3
	start(t, d)
	do(t, d, func() { queueNumbers(m, slow, 0, 200); queueNumbers(m, fast, 0, 200) })
	expect(t, free, 0, 200)
	expect(t, full, 0, 3)
	<-full.asked
	do(t, d, func() {
		// One train may wait in the driver; the rest stays where the Machine sees it.
		if left := len(m.out[slow]); left != 200-trainDatagrams {
			t.Errorf("%d datagrams are left in the Machine, want %d", left, 200-trainDatagrams)
		}
	})
	full.drain(70)
	expect(t, full, 3, 73)
	<-full.asked
	full.drain(-1)
	expect(t, full, 73, 200)
	for _, f := range d.Faces() {
		if f.DatagramsOut != 200 || f.SendErrors != 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestTurnsAreShared makes two faces with much to send alternate.
func TestTurnsAreShared(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	a, _ := dialFake(t, d, FaceSpec{})
	b, _ := dialFake(t, d, FaceSpec{})
	turns := 0
	d.OnTurn(func(machine.Time) {
		if len(m.faces) < 2 || len(m.out[a]) == 0 && len(m.out[b]) == 0 {
			return
		}
		turns++
		if diff := len(m.out[a]) - len(m.out[b]); diff < -trainDatagrams || diff > trainDatagrams {
			t.Errorf("one face is %d datagrams ahead", diff)
		}
	})
	start(t, d)
	do(t, d, func() { queueNumbers(m, a, 0, 500); queueNumbers(m, b, 0, 500) })
	until(t, d, "draining both", func() bool { return len(m.out[a])+len(m.out[b]) == 0 })
	if turns < 500/trainDatagrams {
		t.Errorf("%d turns for 500 datagrams a face", turns)
	}
}

func TestErrorsNeverEndAFace(t *testing.T) {
	for _, fault := range []error{syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EPERM, syscall.ENOBUFS} {
		t.Run(fault.Error(), func(t *testing.T) {
			m := newEcho()
			d := New(m, Options{})
			id, conn := dialFake(t, d, FaceSpec{})
			conn.fails = func() error { return fault }
			start(t, d)
			failed := func() FaceInfo { return d.Faces()[0] }
			do(t, d, func() { queueNumbers(m, id, 0, 1000) })
			until(t, d, "a failed send", func() bool { return errors.Is(failed().Err, fault) })
			// Muted, the face is pulled again only after a pause: the Machine keeps what it has. In the end all fail.
			until(t, d, "the last failed send", func() bool { return len(m.out[id]) == 0 })
			if n := failed().SendErrors; n < 1000/trainDatagrams || n > 1000 {
				t.Errorf("%d send errors for 1000 datagrams", n)
			}
			conn.mu.Lock()
			conn.fails = nil
			conn.mu.Unlock()
			do(t, d, func() { queueNumbers(m, id, 0, 5) })
			expect(t, conn, 0, 5)
			if len(m.down) != 0 {
				t.Error("the face went down")
			}
		})
	}
}

// TestPausesGrowAndEndWhenThePeerIsHeard drives the face's failure state by hand.
func TestPausesGrowAndEndWhenThePeerIsHeard(t *testing.T) {
	d := New(newEcho(), Options{Scale: 2})
	f := newFace(1, "", machine.Face{}, 1400)
	f.sock = newSocket(d, newFakeConn(), f)
	ms := machine.Millisecond / 2 // a real millisecond in machine time
	now := machine.Second
	for _, want := range []machine.Time{1, 2, 4, 8, 16, 32, 50, 50} {
		d.fail(now, f, syscall.ENETDOWN)
		if f.until != now+want*ms {
			t.Errorf("muted for %v, want %v", f.until-now, want*ms)
		}
		if next := d.unmute(now); next != f.until {
			t.Errorf("the next look is due at %v, not at %v", next, f.until)
		}
		now = f.until
		if next := d.unmute(now); next != machine.Never || f.until != 0 {
			t.Error("the pause doesn't end")
		}
	}
	d.fail(now, f, syscall.ENETDOWN)
	d.succeed(now+2*machine.Second, f)
	if f.err.Load() != nil {
		t.Error("a send that works much later is no recovery")
	}
	d.fail(now+3*machine.Second, f, syscall.ECONNREFUSED)
	if f.until != now+3*machine.Second+ms {
		t.Error("an old failure still makes the pause long")
	}
	d.succeed(now+9*machine.Second, f)
	if f.err.Load() == nil {
		t.Error("a refusing peer counts as back since a datagram could be sent")
	}
	d.hear(now+9*machine.Second, f)
	if f.err.Load() != nil || f.until != 0 || len(d.muted) != 0 {
		t.Error("a datagram from the peer doesn't end the pause")
	}
}

func TestOneRefusalLosesNoDatagram(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	id, conn := dialFake(t, d, FaceSpec{})
	first := true
	conn.fails = func() error {
		if first {
			first = false
			return syscall.ECONNREFUSED
		}
		return nil
	}
	start(t, d)
	do(t, d, func() { queueNumbers(m, id, 0, 3) })
	expect(t, conn, 0, 3)
	if f := d.Faces()[0]; f.SendErrors != 1 || f.DatagramsOut != 3 {
		t.Errorf("%+v", f)
	}
}

func TestReceiveErrorsAreCounted(t *testing.T) {
	d := New(newEcho(), Options{})
	_, conn := dialFake(t, d, FaceSpec{})
	start(t, d)
	conn.faults <- syscall.ECONNREFUSED
	until(t, d, "the refusal", func() bool { return d.Faces()[0].SendErrors == 1 })
}

func TestOversizedDatagrams(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	id, conn := dialFake(t, d, FaceSpec{Face: machine.Face{MTU: 100}})
	tooLong := 2
	conn.fails = func() error {
		if tooLong--; tooLong == 0 {
			return syscall.EMSGSIZE
		}
		return nil
	}
	start(t, d)
	do(t, d, func() { queueNumbers(m, id, 0, 3) })
	expect(t, conn, 0, 1)
	expect(t, conn, 2, 3) // the second one is too long for the path
	do(t, d, func() {
		for range 3 {
			m.queue(id, make([]byte, 30_000)) // more than the MTU, and two fill a train
		}
	})
	for range 3 {
		if got := <-conn.sent; len(got) != 30_000 {
			t.Errorf("sent %d bytes", len(got))
		}
	}
	do(t, d, func() { m.queue(id, make([]byte, 70_000)) })
	until(t, d, "counting a datagram that no buffer holds", func() bool { return d.Faces()[0].Oversized >= 2 })
	if f := d.Faces()[0]; f.SendErrors != 0 || f.DatagramsOut != 5 {
		t.Errorf("%+v", f)
	}
}
