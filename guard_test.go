package mars

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tap is a relay of UDP datagrams between one client and a server that keeps a copy of all it sees.
type tap struct {
	at   netip.AddrPort
	mu   sync.Mutex
	seen [][]byte
}

func newTap(t *testing.T, to netip.AddrPort) *tap {
	t.Helper()
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback(0)))
	if err != nil {
		t.Fatal(err)
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{at: front.LocalAddr().(*net.UDPAddr).AddrPort()}
	var client netip.AddrPort
	var ends sync.WaitGroup
	copyAll := func(read func([]byte) (int, error), write func([]byte)) {
		buf := make([]byte, 65536)
		for {
			n, err := read(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			w.mu.Lock()
			w.seen = append(w.seen, bytes.Clone(buf[:n]))
			w.mu.Unlock()
			write(buf[:n])
		}
	}
	ends.Go(func() {
		copyAll(func(b []byte) (int, error) {
			n, from, err := front.ReadFromUDPAddrPort(b)
			w.mu.Lock()
			client = from
			w.mu.Unlock()
			return n, err
		}, func(b []byte) { _, _ = back.Write(b) })
	})
	ends.Go(func() {
		copyAll(back.Read, func(b []byte) {
			w.mu.Lock()
			to := client
			w.mu.Unlock()
			_, _ = front.WriteToUDPAddrPort(b, to)
		})
	})
	t.Cleanup(func() { front.Close(); back.Close(); ends.Wait() })
	return w
}

// has tells whether any datagram holds a text.
func (w *tap) has(text []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.seen {
		if bytes.Contains(d, text) {
			return true
		}
	}
	return false
}

// encrypted is a producer that only encrypted faces reach, with one file.
func encrypted(t *testing.T, content []byte, who ...PeerConfig) *Node {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "confidential.txt"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, &Config{
		Listen: []FaceURI{{Host: "127.0.0.1"}}, Peers: who,
		Serve: []ServeConfig{{Dir: dir, Prefix: "/some/site"}},
	})
}

// fetchBy fetches the file over one face.
func fetchBy(t *testing.T, cfg *Config, to FaceURI) ([]byte, error) {
	t.Helper()
	cfg.Faces = []FaceConfig{{Name: "up", To: to}}
	cfg.Routes = []RouteConfig{{Prefix: "/", Via: "up"}}
	dest := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := run(t, cfg).Fetch(ctx, FetchOptions{Name: "/some/site/confidential.txt", File: dest, Stall: time.Second}); err != nil {
		return nil, err
	}
	got, err := os.ReadFile(dest)
	if err != nil {
		t.Fatal(err)
	}
	return got, nil
}

// TestNothingInTheClear listens to an encrypted face, and for comparison to a plain one: names and content show there
// only.
func TestNothingInTheClear(t *testing.T) {
	content := bytes.Repeat([]byte("the content is nobody's business. "), 10_000)
	for _, plain := range []bool{false, true} {
		producer := encrypted(t, content)
		if plain {
			producer = run(t, &Config{Listen: []FaceURI{local(0)}, Serve: producer.cfg.Serve})
		}
		w := newTap(t, producer.Addrs()[0])
		to := local(w.at.Port())
		if !plain {
			to.Plain, to.Key = false, producer.Key()
		}
		got, err := fetchBy(t, &Config{Trust: []TrustConfig{{Prefix: "/", Keys: []PublicKey{producer.Key()}}}}, to)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("plain %v: %d bytes, %v", plain, len(got), err)
		}
		for _, secret := range []string{"nobody's business", "confidential", "some", "site"} {
			if w.has([]byte(secret)) != plain {
				t.Errorf("plain %v: %q shows: %v", plain, secret, !plain)
			}
		}
	}
}

// TestPeersOnly: where peers are named, nobody else gets through, with encryption or without.
func TestPeersOnly(t *testing.T) {
	content := []byte("for members")
	path := filepath.Join(t.TempDir(), "node.key")
	member, err := NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	producer := run(t, &Config{
		Listen: []FaceURI{{Host: "127.0.0.1"}}, Peers: []PeerConfig{{Name: "member", Key: member}},
		Serve: encrypted(t, content).cfg.Serve,
	})
	to := local(producer.Addrs()[0].Port())
	if _, err := fetchBy(t, &Config{}, to); !errors.Is(err, ErrTimeout) {
		t.Errorf("in the clear: %v", err)
	}
	to.Plain, to.Key = false, producer.Key()
	if _, err := fetchBy(t, &Config{}, to); !errors.Is(err, ErrTimeout) {
		t.Errorf("with another key: %v", err)
	} else if !strings.Contains(err.Error(), "no neighbour has answered the handshake") {
		t.Errorf("with another key: %v", err)
	}
	got, err := fetchBy(t, &Config{Node: NodeConfig{Key: path}}, to)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("the member gets %q, %v", got, err)
	}
}

// TestWrongKey: a node that has another key than the address says gets nothing from us.
func TestWrongKey(t *testing.T) {
	producer := encrypted(t, []byte("x"))
	to := local(producer.Addrs()[0].Port())
	to.Plain, to.Key = false, encrypted(t, nil).Key()
	consumer := &Config{}
	if _, err := fetchBy(t, consumer, to); !errors.Is(err, ErrTimeout) {
		t.Errorf("%v", err)
	}
}
