package mars

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
)

// long: a table
func TestParseFaceURI(t *testing.T) {
	key, err := NewKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]FaceURI{
		"udp4://192.0.2.7:6363":                      {"192.0.2.7", 6363, 0, PublicKey{}, false},
		"udp://192.0.2.7":                            {"192.0.2.7", DefaultPort, 0, PublicKey{}, false},
		"udp4://0.0.0.0:0":                           {"0.0.0.0", 0, 0, PublicKey{}, false},
		"udp4://relay.example.net:700":               {"relay.example.net", 700, 4, PublicKey{}, false},
		"udp6://relay.example.net:700":               {"relay.example.net", 700, 6, PublicKey{}, false},
		"udp://relay.example.net":                    {"relay.example.net", DefaultPort, 0, PublicKey{}, false},
		"udp4://my_host-1":                           {"my_host-1", DefaultPort, 4, PublicKey{}, false},
		"udp4://1host:1":                             {"1host", 1, 4, PublicKey{}, false},
		"udp4://host.:1":                             {"host.", 1, 4, PublicKey{}, false},
		"udp6://[2001:db8:0::1]:6363":                {"2001:db8::1", 6363, 0, PublicKey{}, false},
		"udp://[2001:DB8::1]":                        {"2001:db8::1", DefaultPort, 0, PublicKey{}, false},
		"udp6://[fe80::1%eth0]:7":                    {"fe80::1%eth0", 7, 0, PublicKey{}, false},
		"udp://[::]:6363":                            {"::", 6363, 0, PublicKey{}, false},
		"udp6://[::]:6363":                           {"::", 6363, 6, PublicKey{}, false},
		"plain+udp4://192.0.2.7:1":                   {"192.0.2.7", 1, 0, PublicKey{}, true},
		"plain+udp://[::]:6363":                      {"::", 6363, 0, PublicKey{}, true},
		"udp4://" + key.String() + "@192.0.2.7":      {"192.0.2.7", DefaultPort, 0, key, false},
		"udp://" + key.String() + "@[2001:db8::1]:7": {"2001:db8::1", 7, 0, key, false},
	} {
		got, err := ParseFaceURI(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseFaceURI(got.String()); err != nil || again != got {
			t.Errorf("%q prints as %q", text, got)
		}
		if a, ok := got.Addr(); ok != (strings.Trim(got.Host, "0123456789.") == "" || strings.Contains(got.Host, ":")) || ok && a.Port() != got.Port {
			t.Errorf("%q: address %v, %v", text, a, ok)
		}
	}
	for text, want := range map[string]string{
		"":                                      "no scheme",
		"192.0.2.7:6363":                        "write udp4://192.0.2.7:6363",
		"host":                                  "write udp://host:6363",
		"2001:db8::1":                           "write udp://host:port",
		"plain+tcp4://h:1":                      `scheme "tcp4" is not available`,
		"plain+udp4://" + key.String() + "@h:1": "a plain face proves no key",
		"tcp4://h:1":                            `scheme "tcp4" is not available`,
		"udp4://KEY@h:1":                        "must be the peer's key",
		"udp4://@h:1":                           "must be the peer's key",
		"udp4://":                               "host is missing",
		"udp4://:6363":                          "host is missing",
		"udp4://h:":                             "port",
		"udp4://h:x":                            "port",
		"udp4://h:65536":                        "port",
		"udp4://h:-1":                           "port",
		"udp4://h:1/path":                       "port",
		"udp4://h/path":                         "neither",
		"udp4://[::1]:6363":                     "no IPv4 address, which udp4 stands for",
		"udp6://192.0.2.1":                      "no IPv6 address, which udp6 stands for",
		"udp4://::1":                            "write it in brackets",
		"udp6://2001:db8::1:6363":               "write it in brackets",
		"udp6://[2001:db8::1":                   "brackets",
		"udp6://[2001:db8::1]6363":              "brackets",
		"udp6://[2001:db8::1]:":                 "port",
		"udp6://[192.0.2.1]:1":                  "brackets",
		"udp6://[host]:1":                       "brackets",
		"udp://[::ffff:192.0.2.1]:1":            "use 192.0.2.1",
		"udp6://[fe80::1]:1":                    "name the interface, fe80::1%eth0",
		"udp6://[2001:db8::1%eth0]:1":           "only link-local addresses have a zone",
		"udp4://192.0.2.300:1":                  "not an IPv4 address",
		"udp4://192.0.2:1":                      "not an IPv4 address",
		"udp4://a b:1":                          "neither",
		"udp4://a..b:1":                         "neither",
		"udp4://-h:1":                           "neither",
		"udp4://" + longHost + ":1":             "neither",
	} {
		if got, err := ParseFaceURI(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}

var longHost = strings.Repeat("a", 254)

// TestFaceURIOfCode: what a program puts in prints in a form that reads back.
func TestFaceURIOfCode(t *testing.T) {
	for want, u := range map[string]FaceURI{
		"udp4://127.0.0.1:1": {Host: "127.0.0.1", Port: 1},
		"udp6://[::1]:1":     {Host: "::1", Port: 1},
		"udp://[::]:1":       {Host: "::", Port: 1},
		"udp://h:1":          {Host: "h", Port: 1},
	} {
		if got := u.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBindAddr(t *testing.T) {
	for text, want := range map[string]netip.AddrPort{
		"udp://[::]:7":       netip.AddrPortFrom(netip.Addr{}, 7),
		"udp6://[::]:7":      netip.AddrPortFrom(netip.IPv6Unspecified(), 7),
		"udp4://0.0.0.0:7":   netip.AddrPortFrom(netip.IPv4Unspecified(), 7),
		"udp://[::1]:7":      netip.MustParseAddrPort("[::1]:7"),
		"udp6://[fe80::1%3]": netip.MustParseAddrPort("[fe80::1%3]:6363"),
	} {
		u, err := ParseFaceURI(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.bindAddr(); got != want {
			t.Errorf("%s binds to %v, want %v", text, got, want)
		}
	}
}

// TestResolve looks names up that every system knows by itself.
func TestResolve(t *testing.T) {
	for _, version := range []int{0, 4} {
		got, err := FaceURI{Host: "localhost", Port: 7, IP: version}.resolve(0)
		if err != nil || !got.Addr().IsLoopback() || got.Port() != 7 || version == 4 && !got.Addr().Is4() {
			t.Errorf("localhost, version %d: %v, %v", version, got, err)
		}
	}
	got, err := FaceURI{Host: "localhost", Port: 7}.resolve(4)
	if err != nil || !got.Addr().Is4() {
		t.Errorf("localhost from an IPv4 address: %v, %v", got, err)
	}
	got, err = FaceURI{Host: "2001:db8::1", Port: 7}.resolve(0)
	if err != nil || got != netip.MustParseAddrPort("[2001:db8::1]:7") {
		t.Errorf("an address: %v, %v", got, err)
	}
}

// TestRouted: an address that can't be sent to gives way, but only to one that can.
func TestRouted(t *testing.T) {
	nowhere, here := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("127.0.0.1") // without a zone there is no route
	if got := routed([]netip.Addr{nowhere, here}); got != here {
		t.Errorf("%v", got)
	}
	if got := routed([]netip.Addr{nowhere}); got != nowhere {
		t.Errorf("%v", got)
	}
	if got := routed([]netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}); got != here {
		t.Errorf("%v", got)
	}
}
