//go:build unix

package driver

import (
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/wire"
)

// unixPair returns the two ends of a stream.
func unixPair(t interface {
	Fatal(...any)
	Helper()
}, dir string,
) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "pair")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

func stream(t interface {
	Fatal(...any)
	Helper()
}, c *net.UnixConn,
) *streamConn {
	t.Helper()
	s, err := newStream(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// frame is a packet of size bytes or a little more.
func frame(n, size int) []byte {
	return wire.AppendTLV(nil, wire.TypeData, bytes.Repeat([]byte{byte(n)}, max(size-4, 0)))
}

func newSlots(n int) []slot {
	slots := make([]slot, n)
	for i := range slots {
		slots[i].buf = make([]byte, slotSize)
	}
	return slots
}

// TestStreamIsPackets: however the bytes of packets are cut on their way, the packets come out whole and in order.
func TestStreamIsPackets(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		near, far := unixPair(r, dir)
		defer near.Close()
		c := stream(r, far)
		defer c.close()
		var want [][]byte
		var all []byte
		for i, size := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(2, 300), rapid.IntRange(maxFrame-600, maxFrame)), 1, 40).Draw(r, "sizes") {
			f := frame(i, size)
			want, all = append(want, f), append(all, f...)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(1, 3*maxFrame), 1, 5).Draw(r, "cuts")
		go func() {
			for i := 0; len(all) > 0; i++ {
				n := min(cuts[i%len(cuts)], len(all))
				if _, err := near.Write(all[:n]); err != nil {
					return // and the packets are missed below
				}
				all = all[n:]
			}
			near.Close()
		}()
		slots := newSlots(rapid.IntRange(1, recvBatch).Draw(r, "slots"))
		for len(want) > 0 {
			n, err := c.recv(slots)
			if err != nil {
				r.Fatalf("%d packets are missing: %v", len(want), err)
			}
			for _, s := range slots[:n] {
				if !bytes.Equal(s.buf[:s.n], want[0]) {
					r.Fatalf("got %d bytes of type %d, want %d", s.n, s.buf[0], len(want[0]))
				}
				want = want[1:]
			}
		}
		if _, err := c.recv(slots); !errors.Is(err, errEnded) || errors.Is(err, errMalformed) {
			r.Errorf("at the end: %v", err)
		}
	})
}

// TestStreamThatIsNone: what precedes the damage comes through.
func TestStreamThatIsNone(t *testing.T) {
	for name, bad := range map[string][]byte{
		"too long":            wire.AppendTL(nil, wire.TypeData, maxFrame),
		"type 0":              {0, 0},
		"not shortest":        {253, 0, 6, 0},
		"endless":             {6, 255, 255, 255, 255, 255, 255, 255, 255, 255},
		"another protocol":    []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
		"length not shortest": {6, 253, 0, 1, 0},
	} {
		near, far := unixPair(t, t.TempDir())
		c := stream(t, far)
		if _, err := near.Write(append(frame(1, 100), bad...)); err != nil {
			t.Fatal(err)
		}
		slots := newSlots(4)
		if n, err := c.recv(slots); n != 1 || err != nil || !bytes.Equal(slots[0].buf[:slots[0].n], frame(1, 100)) {
			t.Errorf("%s: %d packets, %v", name, n, err)
		}
		if n, err := c.recv(slots); n != 0 || !errors.Is(err, errMalformed) || !errors.Is(err, errEnded) {
			t.Errorf("%s: %d packets, %v", name, n, err)
		}
		near.Close()
		c.close()
	}
}

// TestStreamTakesWhatFits: a packet that the kernel took in part isn't counted, and goes on where it was cut.
func TestStreamTakesWhatFits(t *testing.T) {
	near, far := unixPair(t, t.TempDir())
	if err := near.SetWriteBuffer(20_000); err != nil {
		t.Fatal(err)
	}
	out, in := stream(t, near), stream(t, far)
	defer out.close()
	defer in.close()
	slots := newSlots(recvBatch)
	got, cut := 0, 0
	receive := func() {
		t.Helper()
		n, err := in.recv(slots)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slots[:n] {
			if !bytes.Equal(s.buf[:s.n], frame(got, 5000+got)) {
				t.Fatalf("packet %d is damaged", got)
			}
			got++
		}
	}
	sent := 0
	for range 20 {
		tr := newTrain()
		for tr.count() < 10 {
			tr.add(copy(tr.free(), frame(sent, 5000+sent)))
			sent++
		}
		for !tr.done() {
			n, err := out.send(tr, target{})
			tr.first += n
			if errors.Is(err, errAgain) {
				if out.written > 0 {
					cut++
				}
				receive()
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	for got < sent {
		receive()
	}
	if cut == 0 {
		t.Error("no packet was cut; the test tests nothing")
	}
	in.close()
	tr := newTrain()
	tr.add(copy(tr.free(), frame(0, 100)))
	if n, err := out.send(tr, target{}); n != 0 || err == nil || errors.Is(err, errAgain) {
		t.Errorf("into a closed stream went %d packets, %v", n, err)
	}
	if _, err := out.recv(slots); !errors.Is(err, errEnded) {
		t.Errorf("from a stream that broke: %v", err)
	}
}
