package driver

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
)

// TestAnswersOverIPv6LeaveFromTheAddressedAddress: a host with several IPv6 addresses, global and link-local ones.
func TestAnswersOverIPv6LeaveFromTheAddressedAddress(t *testing.T) {
	ours, theirs := newNetwork(t), newNetwork(t)
	ours.ip("link add mars0 type veth peer name mars0 netns %d", theirs.thread)
	for n, addrs := range map[*network][]string{ours: {"fd00::1", "fe80::1"}, theirs: {"fd00::8", "fd00::9", "fe80::9"}} {
		n.ip("link set mars0 up")
		for _, a := range addrs {
			n.ip("address add %s/64 dev mars0 nodad", a)
		}
	}
	d := New(newEcho(), Options{})
	var at netip.AddrPort
	theirs.do(func() (err error) {
		at, err = d.Listen(netip.AddrPort{}) // the dual-stack socket
		return err
	})
	start(t, d)
	for _, host := range []string{"fd00::8", "fd00::9", "fe80::9%mars0"} {
		var c *net.UDPConn
		ours.do(func() (err error) {
			to := netip.AddrPortFrom(netip.MustParseAddr(host), at.Port())
			c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
			return err
		})
		askAgain(t, c, "hello")
		c.Close()
		faces := d.Faces()
		if got := faces[len(faces)-1].Local.Addr(); got.WithZone("") != netip.MustParseAddr(host).WithZone("") {
			t.Errorf("asked %s, the face is at %v", host, got)
		}
	}
}

// dropNetRaw takes the privilege from this thread that binding to an interface took before Linux 5.7.
func dropNetRaw() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_NET_RAW
	return unix.Capset(&header, &data[0])
}

// askAgain is ask over a network that may lose the first datagrams, as one does whose neighbours have just met.
func askAgain(t *testing.T, c *net.UDPConn, what string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := c.Write([]byte(what)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := c.Read(buf); err == nil && string(buf[:n]) == what {
			return
		}
	}
	t.Fatalf("%v asked %v in vain", c.LocalAddr(), c.RemoteAddr())
}

// TestFaceOfAnInterface: of two links to one peer a face takes the one that it is told, not the one that the routes say; and
// when the interface comes back with another number it takes the new one.
func TestFaceOfAnInterface(t *testing.T) {
	ours, theirs := newNetwork(t), newNetwork(t)
	link := func(name, addr string) {
		ours.ip("link add %s type veth peer name %s netns %d", name, name, theirs.thread)
		theirs.ip("link set %s up", name)
		ours.ip("link set %s up", name)
		ours.ip("address add %s/24 dev %s", addr, name)
		ours.ip("route replace 10.2.0.9 dev %s metric %s", name, name[len(name)-1:])
	}
	theirs.ip("link set lo up")
	theirs.ip("address add 10.2.0.9/32 dev lo")
	link("mars1", "10.2.1.1")
	link("mars2", "10.2.2.1")
	theirs.ip("route add 10.2.1.0/24 dev mars1")
	theirs.ip("route add 10.2.2.0/24 dev mars2")

	e := New(newEcho(), Options{})
	var peer netip.AddrPort
	theirs.do(func() (err error) {
		peer, err = e.Listen(netip.MustParseAddrPort("10.2.0.9:0"))
		return err
	})
	start(t, e)
	m := newCollect()
	d := New(m, Options{})
	ids := map[string]machine.FaceID{}
	info := func() FaceInfo { return d.Faces()[ids["mars2"]-1] }
	for _, device := range []string{"", "mars1", "mars2"} {
		ours.do(func() (err error) {
			if err := dropNetRaw(); err != nil {
				return err
			}
			ids[device], err = d.Dial(FaceSpec{Remote: peer, Device: device, Name: device})
			return err
		})
	}
	start(t, d)
	for device, want := range map[string]string{"": "10.2.1.1", "mars1": "10.2.1.1", "mars2": "10.2.2.1"} {
		do(t, d, func() { m.queue(ids[device], []byte("hello")) })
		until(t, d, "an arrival by "+device, func() bool {
			f := d.Faces()[ids[device]-1]
			return f.Local.Addr().String() == want && f.DatagramsIn > 0
		})
	}
	ours.ip("link del mars2")
	before := info()
	until(t, d, "a failed send", func() bool {
		if len(m.out[ids["mars2"]]) == 0 {
			m.queue(ids["mars2"], []byte("gone"))
		}
		return info().SendErrors > before.SendErrors
	})
	link("mars2", "10.2.2.7")
	theirs.ip("route replace 10.2.2.0/24 dev mars2")
	until(t, d, "an answer by the new interface", func() bool {
		if len(m.out[ids["mars2"]]) == 0 {
			m.queue(ids["mars2"], []byte("back"))
		}
		f := info()
		if f.Local.Addr().String() == "10.2.1.1" {
			t.Fatal("the face went astray")
		}
		return f.DatagramsIn > before.DatagramsIn && f.Local.Addr().String() == "10.2.2.7"
	})
}

func TestDialByNoInterface(t *testing.T) {
	d := New(newEcho(), Options{})
	_, err := d.Dial(FaceSpec{Remote: netip.MustParseAddrPort("127.0.0.1:1"), Device: "mars3"})
	if !errors.Is(err, syscall.ENODEV) || !strings.Contains(err.Error(), "there is no interface mars3") {
		t.Errorf("%v", err)
	}
	start(t, d)
}

// TestDeviceAddr looks at the one interface that is everywhere.
func TestDeviceAddr(t *testing.T) {
	got, err := deviceAddr("lo", netip.MustParseAddr("127.0.0.2"))
	if err != nil || got != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%v, %v", got, err)
	}
	for device, want := range map[string]string{"lo": "no address from which fe80::1", "none": "there is no interface none"} {
		if got, err := deviceAddr(device, netip.MustParseAddr("fe80::1")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", device, got, err)
		}
	}
}
