package driver

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
)

// TestBurstBeyondTheKernelsBuffer sends 4,096 datagrams while the loop is busy elsewhere, to a socket with the kernel's
// default buffer.
func TestBurstBeyondTheKernelsBuffer(t *testing.T) {
	const burst, size = 4096, 1400
	m := &sink{queues: newQueues(), got: map[machine.FaceID]int{}, acks: map[machine.FaceID]int{}}
	d := New(m, Options{})
	at := listen(t, d, loopback)
	conn := d.opened[0].conn.(*linuxConn)
	if err := conn.raw.Control(func(fd uintptr) {
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 212_992/2); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	start(t, d)
	busy, free := make(chan struct{}), make(chan struct{})
	d.Post(func(machine.Time) { close(busy); <-free })
	<-busy
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := d.opened[0].in
	for i := range burst {
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		for i%32 == 31 && queued(in) <= i-31 { // leave the reader a chance, and the loop none
			if conn.drops() > 0 {
				t.Fatal("the kernel dropped")
			}
		}
	}
	close(free)
	until(t, d, "the whole burst", func() bool { return len(m.faces) == 1 && m.got[m.faces[0]] == burst })
	if f := d.Faces()[0]; f.KernelDrops != 0 || f.InboxStalls != 0 || f.DatagramsIn != burst {
		t.Errorf("%+v", f)
	}
}

// queued is how many packets wait in the inbox.
func queued(in *inbox) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := 0
	for _, b := range in.queue {
		n += len(b.packets) - b.taken
	}
	return n
}

// TestKernelDropsAreCounted fills the buffer of a socket that nobody reads.
func TestKernelDropsAreCounted(t *testing.T) {
	near, far := pair(t, "127.0.0.1:0")
	tr := trainOf(1400, 1400, 1400, 1400, 1400, 1400, 1400, 1400)
	for range 10_000 {
		if tr.first = 0; far.drops() > 0 {
			return
		}
		if _, err := near.send(tr, target{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("no drop is counted")
}

// TestUnwritableSocketBecomesWritable waits for a real socket that may have room already.
func TestUnwritableSocketBecomesWritable(t *testing.T) {
	near, _ := pair(t, "127.0.0.1:0")
	if err := near.awaitWritable(); err != nil {
		t.Error(err)
	}
	near.close()
	if err := near.awaitWritable(); err == nil {
		t.Error("a closed socket is writable")
	}
}
