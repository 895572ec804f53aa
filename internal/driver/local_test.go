//go:build unix

package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

func listenLocal(t *testing.T, d *Driver) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mars.sock")
	if err := d.ListenLocal(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// visit is an application's bare connection.
func visit(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// collect is a Machine that keeps what it gets.
type collect struct {
	queues
	got map[machine.FaceID][][]byte
}

func newCollect() *collect { return &collect{newQueues(), map[machine.FaceID][][]byte{}} }

func (c *collect) Receive(_ machine.Time, id machine.FaceID, _ machine.ECN, d []byte) {
	c.got[id] = append(c.got[id], bytes.Clone(d))
}

// TestApplications: several applications, each a driver of its own, exchange packets of every size with a node.
func TestApplications(t *testing.T) {
	const apps, count = 3, 2000
	e := newEcho()
	node := New(e, Options{})
	path := listenLocal(t, node)
	start(t, node)
	for i := range apps {
		m := newCollect()
		app := New(m, Options{})
		id, err := app.DialLocal(path)
		if err != nil {
			t.Fatal(err)
		}
		if id != 1 {
			t.Errorf("the face of application %d is %d, want 1", i, id)
		}
		start(t, app)
		size := func(n int) int { return n * 37 % maxFrame }
		do(t, app, func() {
			for n := range count {
				m.queue(id, frame(n, size(n)))
			}
		})
		until(t, app, "the last echo", func() bool { return len(m.got[id]) == count })
		do(t, app, func() {
			if f := m.desc[id]; !f.Local || f.OnDemand || f.MTU != 0 {
				t.Errorf("the application was told %+v", f)
			}
			for n, got := range m.got[id] {
				if !bytes.Equal(got, frame(n, size(n))) {
					t.Fatalf("packet %d came back as %d bytes", n, len(got))
				}
			}
		})
	}
	faces := node.Faces()
	if len(faces) != apps || node.LocalStats() != (LocalStats{Accepted: apps}) {
		t.Fatalf("%d faces, %+v", len(faces), node.LocalStats())
	}
	for _, f := range faces {
		if !f.Stream || !f.OnDemand || f.Name != path || f.MTU != 0 || f.DatagramsIn != count || f.DatagramsOut != count {
			t.Errorf("%+v", f)
		}
	}
	do(t, node, func() {
		for id, f := range e.desc {
			if !f.Local || !f.OnDemand || f.MTU != 0 {
				t.Errorf("of face %d the node was told %+v", id, f)
			}
		}
	})
}

// TestApplicationThatLeaves: what it sent before is delivered, then its face ends, on both sides of the connection.
func TestApplicationThatLeaves(t *testing.T) {
	m := newCollect()
	d := New(m, Options{})
	path := listenLocal(t, d)
	app := visit(t, path)
	for i := range 50 { // what a stream holds when nobody reads
		if _, err := app.Write(frame(i, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	app.Close()
	start(t, d)
	until(t, d, "the end of the face", func() bool { return len(m.down) == 1 })
	do(t, d, func() {
		if n := len(m.got[1]); n != 50 {
			t.Errorf("%d packets came, want 50", n)
		}
		d.mu.Lock()
		opened := len(d.opened)
		d.mu.Unlock()
		if len(d.sockets) != 0 || opened != 0 || len(d.byID) != 0 {
			t.Errorf("%d sockets and %d faces are left", len(d.sockets), len(d.byID))
		}
	})
	again := visit(t, path)
	if _, err := again.Write(frame(1, 10)); err != nil {
		t.Fatal(err)
	}
	until(t, d, "a packet by another face", func() bool { return len(m.got[2]) == 1 })
	d.Drop(2)
	if _, err := again.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a dropped application reads %v", err)
	}
}

// TestNodeThatLeaves: an application is told by FaceDown.
func TestNodeThatLeaves(t *testing.T) {
	node := New(newEcho(), Options{})
	path := listenLocal(t, node)
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	m := newCollect()
	app := New(m, Options{})
	id, err := app.DialLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	start(t, app)
	do(t, app, func() { m.queue(id, frame(1, 100)) })
	until(t, app, "an echo", func() bool { return len(m.got[id]) == 1 })
	end()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	until(t, app, "the end of the face", func() bool { return len(m.down) == 1 && m.down[0] == id })
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket's file: %v", err)
	}
	if _, err := app.DialLocal(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start the node") {
		t.Errorf("dialling where no node is: %v", err)
	}
}

// TestApplicationThatDoesNotRead: what it doesn't read stays in the Machine, but for one train and what the kernel takes.
func TestApplicationThatDoesNotRead(t *testing.T) {
	const count, size = 500, 8000
	m := newEcho()
	d := New(m, Options{})
	app := visit(t, listenLocal(t, d))
	if err := app.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	start(t, d)
	until(t, d, "the face", func() bool { return len(m.faces) == 1 })
	do(t, d, func() {
		for i := range count {
			m.queue(1, frame(i, size))
		}
	})
	until(t, d, "a full socket", func() bool { return d.byID[1].held != nil })
	do(t, d, func() {}) // more turns change nothing
	const kernel = 2 * 212_992
	if f := d.Faces()[0]; f.BytesOut > kernel {
		t.Errorf("%d bytes have left", f.BytesOut)
	}
	do(t, d, func() {
		if left := len(m.out[1]); left < count-(kernel+trainBytes)/size {
			t.Errorf("only %d packets are left in the Machine", left)
		}
	})
	var want []byte
	for i := range count {
		want = append(want, frame(i, size)...)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(app, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("what comes when the application reads at last is wrong (%v)", err)
	}
}

// TestApplicationThatTalksNonsense is disconnected, and counted.
func TestApplicationThatTalksNonsense(t *testing.T) {
	m := newCollect()
	d := New(m, Options{})
	path := listenLocal(t, d)
	start(t, d)
	good, bad := visit(t, path), visit(t, path)
	if _, err := bad.Write([]byte("\x00\x00nonsense")); err != nil {
		t.Fatal(err)
	}
	if n, err := bad.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the answer was %d bytes, %v", n, err)
	}
	if _, err := good.Write(frame(1, 100)); err != nil {
		t.Fatal(err)
	}
	until(t, d, "a packet and an end", func() bool { return len(m.got) >= 1 && len(m.down) == 1 })
	if s := d.LocalStats(); s.Malformed != 1 || s.Accepted != 2 || len(d.Faces()) != 1 {
		t.Errorf("%+v, %d faces", s, len(d.Faces()))
	}
}

func TestTooManyApplications(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	path := listenLocal(t, d)
	start(t, d)
	for range maxLocals {
		visit(t, path)
	}
	until(t, d, "every face", func() bool { return len(m.faces) == maxLocals })
	if n, err := visit(t, path).Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one more read %d bytes, %v", n, err)
	}
	until(t, d, "a refusal", func() bool { return d.LocalStats() == LocalStats{Accepted: maxLocals, Refused: 1} })
}

// TestSocketFile: who may connect, and what becomes of what lies at the path already.
func TestSocketFile(t *testing.T) {
	old := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(old) })
	d := New(newEcho(), Options{})
	path := listenLocal(t, d)
	start(t, d)
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode(); got != fs.ModeSocket|0o660 {
		t.Errorf("the socket's file has mode %v", got)
	}
	dir := t.TempDir()
	stale, file := filepath.Join(dir, "stale"), filepath.Join(dir, "file")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as a node that is killed
	l.Close()
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		path:                            "a node answers at",
		file:                            "is no socket: move it away",
		filepath.Join(dir, "none", "x"): "make the directory",
		"":                              "path of the socket is missing",
		"/" + strings.Repeat("x", 107):  fmt.Sprintf("has 108 bytes, the system allows %d", maxSocketPath),
	} {
		if err := d.ListenLocal(at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen at %q: %v, want %q", at, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file in the way holds %q, %v", text, err)
	}
	if _, err := d.DialLocal(stale); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "start it again") {
		t.Errorf("dialling remains: %v", err)
	}
	if err := d.ListenLocal(stale); err != nil {
		t.Errorf("remains of a node: %v", err)
	}
	c := visit(t, stale)
	if _, err := c.Write(frame(1, 50)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(frame(1, 50)))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame(1, 50)) {
		t.Errorf("the echo is %x, %v", got, err)
	}
}

// TestMaxFrame: the longest packet that there may be fits everywhere.
func TestMaxFrame(t *testing.T) {
	if maxFrame > slotSize || maxFrame > trainBytes || maxFrame < wire.MaxPacket {
		t.Error("maxFrame is wrong")
	}
}
