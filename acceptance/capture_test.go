//go:build acceptance

package acceptance

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// capture is all that passes on a link of a host.
type capture struct {
	fd  int
	mu  sync.Mutex
	all []byte
}

// capture listens to a link until the test ends.
func (w *world) capture(host, link string) *capture {
	w.t.Helper()
	c := &capture{}
	stop, ended := make(chan struct{}), make(chan struct{})
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends in the other namespace
		var err error
		c.fd, err = packetSocket("/run/netns/"+namespace(host), link)
		made <- err
		if err != nil {
			return
		}
		defer close(ended)
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(c.fd, buf)
			select {
			case <-stop:
				_ = unix.Close(c.fd)
				return
			default:
			}
			if err != nil {
				continue // nothing came for a while
			}
			c.mu.Lock()
			c.all = append(append(c.all, buf[:n]...), 0)
			c.mu.Unlock()
		}
	}()
	if err := <-made; err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { close(stop); <-ended })
	return c
}

// packetSocket reads every packet of a link of a network namespace, into which it takes the thread.
func packetSocket(namespace, link string) (int, error) {
	ns, err := os.Open(namespace)
	if err != nil {
		return 0, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return 0, fmt.Errorf("entering %s: %w", namespace, err)
	}
	i, err := net.InterfaceByName(link)
	if err != nil {
		return 0, err
	}
	const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8                     // in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // nothing comes before it is bound
	if err != nil {
		return 0, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000})
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index})
	}
	return fd, err
}

// has tells whether a text has passed.
func (c *capture) has(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.all, []byte(text))
}

func (c *capture) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// TestCapture listens on every link of a transfer over two paths: no name and no content passes in the clear, and where the faces are
// plain by name, both do.
func TestCapture(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	served := filepath.Join(dir, "data")
	content := bytes.Repeat([]byte("the content is nobody's business. "), 100_000)
	if err := os.Mkdir(served, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(served, "confidential.txt"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"\x04site", "confidential", "nobody's business"}
	for _, plain := range []bool{false, true} {
		at, listen := uri, "udp4://"
		if plain {
			listen = "plain+udp4://"
			at = func(_, addr string) string { return listen + addr + ":6363" }
		}
		producer := w.start("producer", "serve", served, "--prefix", "/site/data", "--listen", listen+producerDirect+":6363", "--listen", listen+producerBack+":6363")
		producer.says("serving")
		relay := w.start("relay", "node", "--role", "relay", "--listen", listen+relaySide+":6363", "--face", "up="+at("producer", producerBack), "--route", "/site=up")
		relay.says("listening")
		links := map[string]*capture{"direct": w.capture("consumer", "direct"), "side": w.capture("relay", "side"), "back": w.capture("relay", "back")}
		dest := filepath.Join(dir, fmt.Sprint("copy", plain))
		get := w.start("consumer", "get", "/site/data/confidential.txt", "-o", dest, "--limit-rate", "20M", "--trust", keyOf("producer").public.String(),
			"--via", at("producer", producerDirect), "--via", at("relay", relaySide))
		if code := get.exit(patience); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if got, err := os.ReadFile(dest); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		total := 0
		for link, c := range links {
			total += c.bytes()
			for _, secret := range secrets {
				if c.has(secret) && !plain {
					t.Errorf("%q passes on the link %s", secret, link)
				}
			}
		}
		if total < len(content) {
			t.Errorf("plain %v: %d bytes were heard, the object has %d", plain, total, len(content))
		}
		for _, secret := range secrets {
			if plain && !links["direct"].has(secret) && !links["side"].has(secret) {
				t.Errorf("%q doesn't show where it isn't hidden: this test hears nothing", secret)
			}
		}
		relay.kill()
		producer.kill()
	}
}
