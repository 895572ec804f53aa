package driver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mars/internal/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; it is no measure of speed.
const patience = 20 * time.Second

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// start runs d until the test's end.
func start(t testing.TB, d *Driver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func listen(t testing.TB, d *Driver, addr netip.AddrPort) netip.AddrPort {
	t.Helper()
	at, err := d.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func dial(t testing.TB, d *Driver, spec FaceSpec) machine.FaceID {
	t.Helper()
	id, err := d.Dial(spec)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("%s didn't happen", what)
	}
}

// until asks the loop again and again whether cond holds.
func until(t testing.TB, d *Driver, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		ok := false
		if err := d.Do(func(machine.Time) { ok = cond() }); err != nil {
			t.Fatal(err)
		}
		if ok {
			return
		}
	}
	t.Fatalf("%s didn't happen", what)
}

// TestManyFacesBetweenTwoNodes sends over several faces that join the same two drivers.
func TestManyFacesBetweenTwoNodes(t *testing.T) {
	const faces, count = 4, 3000
	e, c := newEcho(), newCounter(faces, count, 1400, 24)
	de, dc := New(e, Options{}), New(c, Options{})
	at := listen(t, de, loopback)
	start(t, de)
	for range faces {
		dial(t, dc, FaceSpec{Remote: at})
	}
	start(t, dc)
	await(t, "the last echo", c.done)

	if err := dc.Do(func(machine.Time) {
		if c.bad != 0 {
			t.Errorf("%d echoes were damaged, doubled or came by the wrong face", c.bad)
		}
	}); err != nil {
		t.Fatal(err)
	}
	locals := map[netip.AddrPort]bool{}
	for _, f := range dc.Faces() {
		locals[f.Local] = true
		if f.DatagramsOut != count || f.DatagramsIn != count || !f.Up || f.OnDemand || f.Remote != at {
			t.Errorf("dialled face: %+v", f)
		}
	}
	for _, f := range de.Faces() {
		if !locals[f.Remote] || f.DatagramsIn != count || !f.OnDemand || f.Local != at {
			t.Errorf("on-demand face: %+v", f)
		}
	}
	if len(locals) != faces || len(de.Faces()) != faces {
		t.Errorf("%d dialled and %d on-demand faces, want %d each", len(locals), len(de.Faces()), faces)
	}
}

func TestPortInUseSaysWhatToDo(t *testing.T) {
	d := New(newEcho(), Options{})
	at := listen(t, d, loopback)
	_, err := d.Listen(at)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "choose another port") {
		t.Errorf("Listen on a taken port: %v", err)
	}
	start(t, d)
}

func TestRunEndsWithItsContext(t *testing.T) {
	d := New(newEcho(), Options{})
	at := listen(t, d, loopback)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatalf("the port isn't free again: %v", err)
	}
	c.Close()
	if _, err := d.Dial(FaceSpec{Remote: at}); !errors.Is(err, ErrClosed) {
		t.Errorf("Dial after the end: %v", err)
	}
	if err := d.Do(func(machine.Time) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after the end: %v", err)
	}
	if d.Run(context.Background()) == nil {
		t.Error("a second Run didn't fail")
	}
}
