package driver

import (
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
)

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
