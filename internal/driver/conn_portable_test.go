package driver

import (
	"net/netip"
	"testing"

	"mars/internal/machine"
)

// TestPortableConn runs two drivers over the sockets of other systems.
func TestPortableConn(t *testing.T) {
	const count = 500
	e, c := newEcho(), newCounter(2, count, 1400, 8)
	de, dc := New(e, Options{}), New(c, Options{})
	far, err := openPortable(loopback, netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	if err := de.add(newSocket(de, far, nil)); err != nil {
		t.Fatal(err)
	}
	start(t, de)
	for range 2 {
		near, err := openPortable(netip.AddrPort{}, far.localAddr())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dc.dial(FaceSpec{Remote: far.localAddr()}, near); err != nil {
			t.Fatal(err)
		}
	}
	start(t, dc)
	await(t, "the last echo", c.done)
	if err := dc.Do(func(machine.Time) {
		if c.bad != 0 {
			t.Errorf("%d bad echoes", c.bad)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, f := range de.Faces() {
		if f.DatagramsIn != count || f.Local != far.localAddr() {
			t.Errorf("%+v", f)
		}
	}
}
