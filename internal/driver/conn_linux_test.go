package driver

import (
	"bytes"
	"net/netip"
	"testing"
)

// exchange sends tr from one socket to another and returns the datagrams as they come out.
func exchange(t *testing.T, from, to batchConn, tr *train, dest target) [][]byte {
	t.Helper()
	for !tr.done() {
		n, err := from.send(tr, dest)
		if err != nil {
			t.Fatal(err)
		}
		tr.first += n
	}
	slots := make([]slot, recvBatch)
	var got [][]byte
	for len(got) < tr.count() {
		for i := range slots {
			slots[i].buf = make([]byte, slotSize)
		}
		n, err := to.recv(slots)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slots[:n] {
			rest := s.buf[:s.n]
			for len(rest) > 0 {
				cut := len(rest)
				if s.segment > 0 {
					cut = min(cut, s.segment)
				}
				got, rest = append(got, rest[:cut]), rest[cut:]
			}
		}
	}
	return got
}

func pair(t *testing.T, listen string) (near, far batchConn) {
	t.Helper()
	far, err := open(netip.MustParseAddrPort(listen), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.close() })
	near, err = open(netip.AddrPort{}, far.localAddr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.close() })
	return near, far
}

func TestTrainsArriveAsTheyWere(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, offload := range []bool{true, false} {
			near, far := pair(t, listen)
			if !offload {
				near.(*linuxConn).out.segment = false
			}
			tr := trainOf(1400, 1400, 1400, 200, 1400, 9000, 9000, 1, 1, 30)
			got := exchange(t, near, far, tr, target{})
			for i := range got {
				if !bytes.Equal(got[i], tr.datagram(i)) {
					t.Errorf("%s, offload %v: datagram %d came with %d bytes", listen, offload, i, len(got[i]))
				}
			}
			// And back, from an unconnected socket with a source address.
			back := trainOf(500, 500, 100)
			dest := target{remote: near.localAddr(), local: far.localAddr().Addr()}
			if got := exchange(t, far, near, back, dest); len(got) != 3 {
				t.Errorf("%s: %d datagrams came back", listen, len(got))
			}
		}
	}
}

// TestTrainsFallBack makes the kernel refuse a train.
func TestTrainsFallBack(t *testing.T) {
	near, far := pair(t, "127.0.0.1:0")
	c := near.(*linuxConn)
	if !c.out.segment {
		t.Skip("this kernel doesn't cut trains")
	}
	// A loopback device cuts everything, so the refusal has to be made: without checksums the
	// kernel answers EIO (udp(7)).
	noChecksum(t, c)
	tr := trainOf(1000, 1000, 1000)
	got := exchange(t, near, far, tr, target{})
	if len(got) != 3 || c.out.segment {
		t.Errorf("%d of 3 datagrams arrived; trains are still tried: %v", len(got), c.out.segment)
	}
}

func TestTakesAndGivesNoMemory(t *testing.T) {
	near, far := pair(t, "127.0.0.1:0")
	tr := trainOf(1000, 1000, 500, 1000)
	slots := make([]slot, recvBatch)
	for i := range slots {
		slots[i].buf = make([]byte, slotSize)
	}
	dest := target{remote: near.localAddr(), local: netip.MustParseAddr("127.0.0.1")}
	if n := testing.AllocsPerRun(100, func() {
		tr.first = 0
		if n, err := near.send(tr, target{}); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		for n := 0; n < 3500; {
			got, err := far.recv(slots)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range slots[:got] {
				n += s.n
			}
		}
		if n, err := far.send(tr, dest); n != 4 || err != nil {
			t.Fatal(n, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a train there", n)
	}
}
