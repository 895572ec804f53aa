package driver

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// xor is a Protector that puts a mark before each datagram and inverts it.
type xor struct{}

const mark = "sealed"

func (xor) Overhead() int { return len(mark) }

func (xor) Seal(dst, plain []byte) []byte {
	dst = append(dst, mark...)
	for _, b := range plain {
		dst = append(dst, ^b)
	}
	return dst
}

func (xor) Open(dst, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(mark))
	if !ok {
		return dst, errors.New("not sealed")
	}
	for _, b := range rest {
		dst = append(dst, ^b)
	}
	return dst, nil
}

// TestProtectedFace has a Protector on one side only and looks at what comes out of the other.
func TestProtectedFace(t *testing.T) {
	peer, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	m := newEcho()
	d := New(m, Options{})
	id := dial(t, d, FaceSpec{Remote: peer.LocalAddr().(*net.UDPAddr).AddrPort(), Protector: xor{}})
	start(t, d)
	do(t, d, func() {
		m.queue(id, bytes.Repeat([]byte{1}, 1400)) // a full MTU: the overhead comes on top
		m.queue(id, bytes.Repeat([]byte{2}, 3000))
	})
	var from netip.AddrPort
	for i, size := range []int{1400, 3000} {
		buf := make([]byte, 4000)
		var n int
		if n, from, err = peer.ReadFromUDPAddrPort(buf); err != nil {
			t.Fatal(err)
		}
		want := append([]byte(mark), bytes.Repeat([]byte{^byte(i + 1)}, size)...)
		if !bytes.Equal(buf[:n], want) {
			t.Errorf("datagram %d came with %d bytes, want %d", i, n, len(want))
		}
	}
	for _, s := range []string{"forged", mark + string([]byte{^byte('o'), ^byte('k')})} {
		if _, err := peer.WriteToUDPAddrPort([]byte(s), from); err != nil {
			t.Fatal(err)
		}
	}
	until(t, d, "an opened datagram", func() bool { return d.Faces()[0].DatagramsIn == 1 })
	if f := d.Faces()[0]; f.ReceiveDrops != 1 || f.BytesIn != 2 || !f.Protected || f.LastHeard == 0 {
		t.Errorf("%+v", f)
	}
	do(t, d, func() { // the echo of what was opened is sealed again
		if len(m.out[id]) != 0 {
			t.Error("the echo stays")
		}
	})
	buf := make([]byte, 100)
	if n, err := peer.Read(buf); err != nil || string(buf[:n]) != mark+string([]byte{^byte('o'), ^byte('k')}) {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// notes is a log that a test reads.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notes) count(s string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Count(n.text.String(), s)
}

// TestPeerThatComesLater refuses for a while, and then the face works, with one line in the log for each change.
func TestPeerThatComesLater(t *testing.T) {
	port, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	at := port.LocalAddr().(*net.UDPAddr).AddrPort()
	port.Close()
	var log notes
	c := newCounter(1, 1000, 100, 8)
	d := New(c, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	id := dial(t, d, FaceSpec{Remote: at})
	start(t, d)
	for range 3 {
		before := d.Faces()[0].SendErrors
		do(t, d, func() { c.queue(id, []byte("anyone there?")) })
		until(t, d, "a refusal", func() bool { return d.Faces()[0].SendErrors > before })
	}
	e := New(newEcho(), Options{})
	listen(t, e, at)
	start(t, e)
	// What was sent before is lost; sending it all again is the Machine's affair.
	do(t, d, func() {
		c.sent[id], c.seen[id] = 0, map[uint64]bool{}
		for range c.window {
			c.next(id)
		}
	})
	await(t, "the last echo", c.done)
	if down, up := log.count("sending fails"), log.count("works again"); down != 1 || up != 1 {
		t.Errorf("%d lines of the failure and %d of its end", down, up)
	}
	if f := d.Faces()[0]; f.Err != nil || !f.Up {
		t.Errorf("%+v", f)
	}
}
