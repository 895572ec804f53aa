package mars

import (
	"net/netip"
	"testing"
)

func TestUDPURI(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:6363":          "udp4://192.0.2.1:6363",
		"[::ffff:192.0.2.1]:6363": "udp4://192.0.2.1:6363",
		"[2001:db8::1]:7":         "udp6://[2001:db8::1]:7",
		"[fe80::1%eth0]:7":        "udp6://[fe80::1%eth0]:7",
	} {
		if got := udpURI(netip.MustParseAddrPort(addr)); got != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
	}
	if got := udpURI(netip.AddrPort{}); got != "" {
		t.Errorf("no address is %q", got)
	}
}

// TestFaceURIs: every face of a running node has a name that tools can read.
func TestFaceURIs(t *testing.T) {
	s := newSite(t, 1)
	n, _ := consumerVia(t, s.addr)
	faces, err := n.Status()
	if err != nil || len(faces) == 0 {
		t.Fatalf("%v (%v)", faces, err)
	}
	for _, f := range n.driver.Faces() {
		if remote, _ := n.faceURIs(f.ID); remote != "udp4://"+f.Remote.String() {
			t.Errorf("face %d is called %q", f.ID, remote)
		}
	}
	if remote, local := n.faceURIs(99); remote != "" || local != "" {
		t.Errorf("a face that isn't there is called %q, %q", remote, local)
	}
}
