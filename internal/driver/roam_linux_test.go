package driver

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
)

// network is a network namespace and the thread in it.
type network struct {
	t      *testing.T
	thread int
	todo   chan func()
}

func newNetwork(t *testing.T) *network {
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		t.Skip("making a network takes root and the ip command")
	}
	n := &network{t: t, todo: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and the namespace with it
		n.thread = unix.Gettid()
		ready <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range n.todo {
			f()
		}
	}()
	t.Cleanup(func() { close(n.todo) })
	if err := <-ready; err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	return n
}

// do runs f in the namespace; the sockets that f opens stay there.
func (n *network) do(f func() error) {
	n.t.Helper()
	result := make(chan error)
	n.todo <- func() { result <- f() }
	if err := <-result; err != nil {
		n.t.Fatal(err)
	}
}

// ip runs the ip command in the namespace.
func (n *network) ip(format string, args ...any) {
	n.t.Helper()
	line := fmt.Sprintf(format, args...)
	n.do(func() error {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
		return nil
	})
}

// TestFaceSurvivesItsNetwork dials before there is any route to the peer, and then gets another address.
func TestFaceSurvivesItsNetwork(t *testing.T) {
	ours, theirs := newNetwork(t), newNetwork(t)
	ours.ip("link add mars0 type veth peer name mars0 netns %d", theirs.thread)
	ours.ip("link set mars0 up")
	theirs.ip("link set mars0 up")
	theirs.ip("address add 10.1.0.9/24 dev mars0")

	m, e := newEcho(), New(newSink(), Options{})
	d := New(m, Options{})
	var peer netip.AddrPort
	var id machine.FaceID
	theirs.do(func() (err error) {
		peer, err = e.Listen(netip.MustParseAddrPort("10.1.0.9:0"))
		return err
	})
	ours.do(func() (err error) {
		id, err = d.Dial(FaceSpec{Remote: peer})
		return err
	})
	start(t, d)
	start(t, e)
	do(t, d, func() { m.queue(id, []byte("no route")) })
	until(t, d, "a failed send", func() bool { return d.Faces()[0].SendErrors > 0 })

	arrivesFrom := func(addr string) {
		t.Helper()
		until(t, d, "an arrival from "+addr, func() bool {
			if len(m.out[id]) == 0 {
				m.queue(id, []byte("still there?"))
			}
			faces := e.Faces()
			return len(faces) > 0 && faces[len(faces)-1].Remote.Addr() == netip.MustParseAddr(addr)
		})
		faces := e.Faces()
		if got, want := faces[len(faces)-1].Remote, d.Faces()[0].Local; got != want {
			t.Errorf("the peer sees %v and the face says %v", got, want)
		}
	}
	ours.ip("address add 10.1.0.1/24 dev mars0")
	arrivesFrom("10.1.0.1")
	ours.ip("address del 10.1.0.1/24 dev mars0")
	ours.ip("address add 10.1.0.2/24 dev mars0")
	arrivesFrom("10.1.0.2")
	if len(m.down) != 0 {
		t.Error("the face went down")
	}
	// Answers find their way too.
	until(t, d, "an answer", func() bool {
		m.queue(id, []byte("still there?"))
		return d.Faces()[0].DatagramsIn > 0
	})
}
