package driver

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"mars/internal/machine"
)

// client is a bare socket that talks to a driver.
func client(t *testing.T, local, remote string) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local)),
		net.UDPAddrFromAddrPort(netip.MustParseAddrPort(remote)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a datagram and waits for the answer. The client's socket is connected, so that only an answer from the
// address that it asked gets through.
func ask(t *testing.T, c *net.UDPConn, what string) {
	t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var buf [2048]byte
	n, err := c.Read(buf[:])
	if err != nil || string(buf[:n]) != what {
		t.Fatalf("%v asked %v %q and got %q, %v", c.LocalAddr(), c.RemoteAddr(), what, buf[:n], err)
	}
}

func port(a netip.AddrPort) string {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port()).String()[len("0.0.0.0"):]
}

// TestAnswersLeaveFromTheAddressedAddress asks a listener on all addresses by several of them.
func TestAnswersLeaveFromTheAddressedAddress(t *testing.T) {
	for _, tt := range []struct {
		listen  string
		clients [][2]string // local and remote host
	}{
		{"0.0.0.0:0", [][2]string{{"127.0.0.1", "127.0.0.1"}, {"127.0.0.1", "127.0.0.2"}, {"127.0.0.3", "127.0.0.2"}}},
		{"[::]:0", [][2]string{{"[::1]", "[::1]"}}},
		{"", [][2]string{{"127.0.0.1", "127.0.0.2"}, {"127.0.0.1", "127.0.0.1"}, {"[::1]", "[::1]"}}},
	} {
		t.Run(tt.listen, func(t *testing.T) {
			d := New(newEcho(), Options{})
			var addr netip.AddrPort
			if tt.listen != "" {
				addr = netip.MustParseAddrPort(tt.listen)
			}
			at := listen(t, d, addr)
			start(t, d)
			for _, host := range tt.clients {
				c := client(t, host[0]+":0", host[1]+port(at))
				ask(t, c, "hello")
				ask(t, c, "hello again")
			}
			faces := d.Faces()
			if len(faces) != len(tt.clients) {
				t.Fatalf("%d faces for %d clients", len(faces), len(tt.clients))
			}
			for i, f := range faces {
				if want := netip.MustParseAddrPort(tt.clients[i][1] + port(at)); f.Local != want || f.DatagramsIn != 2 || !f.OnDemand {
					t.Errorf("face at %v, want %v: %+v", f.Local, want, f)
				}
			}
		})
	}
}

// TestOneClientSocketAtTwoAddresses is two faces, since each has its own local address.
func TestOneClientSocketAtTwoAddresses(t *testing.T) {
	d := New(newEcho(), Options{})
	at := listen(t, d, netip.MustParseAddrPort("0.0.0.0:0"))
	start(t, d)
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		to := netip.MustParseAddrPort(host + port(at))
		if _, err := c.WriteToUDPAddrPort([]byte("hello"), to); err != nil {
			t.Fatal(err)
		}
		var buf [16]byte
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, from, err := c.ReadFromUDPAddrPort(buf[:]); err != nil || from != to {
			t.Errorf("asked %v, answered by %v, %v", to, from, err)
		}
	}
	if n := len(d.Faces()); n != 2 {
		t.Errorf("%d faces, want 2", n)
	}
}

func TestLongestIdleGuestMakesRoom(t *testing.T) {
	m := newEcho()
	d := New(m, Options{MaxFaces: 2})
	at := listen(t, d, loopback).String()
	start(t, d)
	a, b, c := client(t, "127.0.0.1:0", at), client(t, "127.0.0.1:0", at), client(t, "127.0.0.1:0", at)
	ask(t, a, "a")
	ask(t, b, "b")
	ask(t, a, "a") // now b is idle for longest
	ask(t, c, "c")
	do(t, d, func() {
		if len(m.down) != 1 || m.down[0] != 2 {
			t.Errorf("down went %v, want face 2", m.down)
		}
	})
	ask(t, b, "b") // comes back as a new face, and a goes
	do(t, d, func() {
		if len(m.faces) != 2 || m.faces[0] != 3 || m.faces[1] != 4 {
			t.Errorf("faces %v, want 3 and 4", m.faces)
		}
	})
	if n := len(d.Faces()); n != 2 {
		t.Errorf("%d faces, want 2", n)
	}
}

func TestAcceptDecidesAndDescribes(t *testing.T) {
	m := newEcho()
	var welcome netip.AddrPort
	d := New(m, Options{Accept: func(remote netip.AddrPort) (machine.Face, bool) {
		return machine.Face{MTU: 900, Rate: 5e6}, remote == welcome
	}})
	at := listen(t, d, loopback).String()
	good, bad := client(t, "127.0.0.1:0", at), client(t, "127.0.0.1:0", at)
	welcome = good.LocalAddr().(*net.UDPAddr).AddrPort()
	start(t, d)
	if _, err := bad.Write([]byte("let me in")); err != nil {
		t.Fatal(err)
	}
	ask(t, good, "hello")
	f := d.Faces()[0]
	if len(d.Faces()) != 1 || f.Remote != welcome || f.MTU != 900 || f.Rejected != 1 {
		t.Errorf("%+v", d.Faces())
	}
	do(t, d, func() {
		if got := m.desc[f.ID]; got.Rate != 5e6 || !got.OnDemand {
			t.Errorf("the Machine was told %+v", got)
		}
	})
}

func TestDropEndsAFace(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	at := listen(t, d, loopback)
	start(t, d)
	id := dial(t, d, FaceSpec{Remote: at, Name: "to myself"})
	do(t, d, func() { m.queue(id, []byte("hello")) })
	until(t, d, "the on-demand face", func() bool { return len(m.faces) == 2 })
	d.Drop(id)
	d.Drop(id)
	d.Drop(99)
	do(t, d, func() {
		if len(m.down) != 1 || m.down[0] != id || len(d.sockets) != 1 {
			t.Errorf("down: %v, %d sockets are left", m.down, len(d.sockets))
		}
	})
	if faces := d.Faces(); len(faces) != 1 || !faces[0].OnDemand {
		t.Errorf("%+v", faces)
	}
}
