package impair

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

const patience = 20 * time.Second

// server sends every datagram back.
func server(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if _, err := c.WriteToUDPAddrPort(buf[:n], from); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// proxy starts one in front of an echo server and a client that sends to it.
func proxy(t *testing.T, cfg Config) (*Proxy, *net.UDPConn) {
	t.Helper()
	p, err := New(loopback, server(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return p, c
}

func send(t *testing.T, c *net.UDPConn, n uint64) {
	t.Helper()
	if _, err := c.Write(binary.BigEndian.AppendUint64(nil, n)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c *net.UDPConn) uint64 {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var buf [64]byte
	n, err := c.Read(buf[:])
	if err != nil || n != 8 {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	return binary.BigEndian.Uint64(buf[:])
}

// eventually waits until the proxy's counts satisfy cond and returns them.
func eventually(t *testing.T, p *Proxy, cond func(Counts) bool) Counts {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c := p.Counts(); cond(c) {
			return c
		}
	}
	t.Fatalf("the counts stay at %+v", p.Counts())
	return Counts{}
}

// settle waits until the proxy has dealt with n datagrams.
func settle(t *testing.T, p *Proxy, n uint64) Counts {
	t.Helper()
	return eventually(t, p, func(c Counts) bool { return c.Received >= n })
}

func TestWithoutHarmNothingChanges(t *testing.T) {
	p, c := proxy(t, Config{})
	for n := range uint64(200) {
		send(t, c, n)
		if got := receive(t, c); got != n {
			t.Fatalf("sent %d and got %d", n, got)
		}
	}
	eventually(t, p, func(c Counts) bool { return c == Counts{Received: 400, Sent: 400} })
}

func TestHarmHasTheAskedFrequency(t *testing.T) {
	const count = 2000
	fates := func(seed uint64) Counts {
		// A server that doesn't answer leaves one direction, whose order is the client's.
		sink, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		p, err := New(loopback, sink.LocalAddr().(*net.UDPAddr).AddrPort(),
			Config{Drop: .1, Duplicate: .2, Reorder: .05, Corrupt: .3, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for n := range uint64(count) {
			send(t, c, n)
			if n%50 == 49 { // never more than the socket buffer holds
				settle(t, p, n+1)
			}
		}
		got := settle(t, p, count)
		got.Sent, got.Overflowed = 0, 0
		return got
	}
	got := fates(1)
	near := func(what string, n uint64, p float64) {
		if f := float64(n) / count; f < p/1.4 || f > p*1.4 {
			t.Errorf("%s: %.3f of all datagrams, want about %.3f", what, f, p)
		}
	}
	near("dropped", got.Dropped, .1)
	near("duplicated", got.Duplicated, .2*.9)
	near("reordered", got.Reordered, .05*.9)
	near("corrupted", got.Corrupted, .3*.9)
	if again := fates(1); again != got {
		t.Errorf("the same seed did %+v and then %+v", got, again)
	}
	if other := fates(2); other == got {
		t.Errorf("another seed did the same: %+v", got)
	}
}

func TestReorderLetsTheNextGoFirst(t *testing.T) {
	p := &Proxy{ctx: t.Context(), hold: patience}
	var order []byte
	d := &direction{p: p, queue: make(chan parcel, 2), write: func(b []byte) error {
		order = append(order, b...)
		return nil
	}}
	d.queue <- parcel{data: []byte("2"), hold: true}
	d.queue <- parcel{data: []byte("3")}
	d.deliver(parcel{data: []byte("1"), due: time.Now(), hold: true})
	d.deliver(<-d.queue)
	if string(order) != "213" {
		t.Errorf("the order became %s, want 213", order)
	}
}

func TestHeldDatagramGoesAloneInTheEnd(t *testing.T) {
	p, c := proxy(t, Config{Reorder: 1})
	send(t, c, 7)
	if got := receive(t, c); got != 7 {
		t.Errorf("got %d", got)
	}
	if got := p.Counts().Reordered; got != 2 {
		t.Errorf("%d were held, want 2", got)
	}
}

func TestCorruptFlipsOneBit(t *testing.T) {
	_, c := proxy(t, Config{Corrupt: 1})
	send(t, c, 0)
	got, bits := receive(t, c), 0
	for ; got != 0; got &= got - 1 {
		bits++
	}
	if bits != 0 && bits != 2 { // one flip on each way, perhaps of the same bit
		t.Errorf("%d bits flipped on two ways", bits)
	}
}

func TestDelayKeepsOrderAndWaits(t *testing.T) {
	const delay = 30 * time.Millisecond
	_, c := proxy(t, Config{Delay: delay})
	start := time.Now()
	for n := range uint64(20) {
		send(t, c, n)
	}
	for n := range uint64(20) {
		if got := receive(t, c); got != n {
			t.Fatalf("got %d, want %d", got, n)
		}
	}
	if took := time.Since(start); took < 2*delay {
		t.Errorf("two ways took %v, less than twice %v", took, delay)
	}
}

func TestBlockSwallowsAndClientsStayApart(t *testing.T) {
	p, one := proxy(t, Config{})
	two, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	send(t, one, 1)
	send(t, two, 2)
	if a, b := receive(t, one), receive(t, two); a != 1 || b != 2 {
		t.Errorf("the clients got %d and %d", a, b)
	}
	p.Block(true)
	send(t, one, 3)
	if got := settle(t, p, 5).Blocked; got != 1 {
		t.Errorf("%d blocked, want 1", got)
	}
	p.Block(false)
	send(t, one, 4)
	if got := receive(t, one); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}
