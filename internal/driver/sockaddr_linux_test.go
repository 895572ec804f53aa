package driver

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSockaddrRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		addr string
		v6   bool
		want string // "": refused
	}{
		{"192.0.2.1:6363", false, "192.0.2.1:6363"},
		{"192.0.2.1:6363", true, "192.0.2.1:6363"}, // mapped on the wire of the call
		{"[2001:db8::1]:80", true, "[2001:db8::1]:80"},
		{"[fe80::1%3]:80", true, "[fe80::1%3]:80"},
		{"[2001:db8::1]:80", false, ""},
	} {
		var b [unix.SizeofSockaddrInet6]byte
		n := putSockaddr(&b, netip.MustParseAddrPort(tt.addr), tt.v6)
		got, ok := parseSockaddr(b[:n])
		if ok != (tt.want != "") || ok && got.String() != tt.want {
			t.Errorf("%s on an IPv6 socket %v: %v %v", tt.addr, tt.v6, got, ok)
		}
	}
}

func TestControlRoundTrip(t *testing.T) {
	for _, addr := range []string{"192.0.2.1", "2001:db8::1", "fe80::1%7"} {
		var space [controlSpace]byte
		b := appendSegment(appendSource(space[:0], netip.MustParseAddr(addr)), 1400)
		if got := parseControl(b).local; got.String() != addr {
			t.Errorf("%s became %v", addr, got)
		}
	}
	var space [controlSpace]byte
	b := appendCmsg(space[:0], unix.SOL_UDP, unix.UDP_GRO, []byte{0x78, 5, 0, 0})
	if got := parseControl(b).segment; got != 1400 {
		t.Errorf("a segment of 1400 bytes became %d", got)
	}
}

func FuzzParseSockaddr(f *testing.F) {
	var b [unix.SizeofSockaddrInet6]byte
	for _, s := range []string{"192.0.2.1:6363", "[2001:db8::1]:80", "[fe80::1%3]:80"} {
		f.Add(append([]byte(nil), b[:putSockaddr(&b, netip.MustParseAddrPort(s), true)]...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		a, ok := parseSockaddr(in)
		if !ok {
			return
		}
		var b [unix.SizeofSockaddrInet6]byte
		if again, ok := parseSockaddr(b[:putSockaddr(&b, a, true)]); !ok || again != a {
			t.Errorf("%v became %v", a, again)
		}
	})
}

func FuzzParseControl(f *testing.F) {
	var space [controlSpace]byte
	f.Add([]byte(nil))
	f.Add(append([]byte(nil), appendSegment(appendSource(space[:0], netip.MustParseAddr("192.0.2.1")), 9)...))
	f.Add(append([]byte(nil), appendSource(space[:0], netip.MustParseAddr("fe80::1%7"))...))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := parseControl(in)
		if c.segment < 0 || c.local.Is4In6() {
			t.Errorf("%+v", c)
		}
	})
}
