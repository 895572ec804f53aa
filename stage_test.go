package mars

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mars/internal/disk"
	"mars/internal/impair"
	"mars/internal/wire"
)

// The stage of the end-to-end tests: producers, relays, proxies and consumers on loopback, and somebody who watches.

// patience bounds a fetch of these tests; nothing is asserted about times.
const patience = 60 * time.Second

// noLeaks makes the test fail if a goroutine that it started is left when everything else of it has ended.
func noLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// start runs a node until stop is called or the test ends.
func start(t *testing.T, cfg *Config) (n *Node, stop func()) {
	t.Helper()
	n, err := NewNode(cfg, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return n, stop
}

func loopback(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// random fills a file with random bytes and returns them.
func random(t *testing.T, path string, size int) []byte {
	t.Helper()
	content := make([]byte, size)
	rand.Read(content)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return content
}

// site is a producer of one file, "/site/object".
type site struct {
	dir, path string
	content   []byte
	addr      netip.AddrPort
	stop      func()
}

func (s *site) config(port uint16) *Config {
	return &Config{Listen: []FaceURI{local(port)}, Serve: []ServeConfig{{Dir: s.dir, Prefix: "/site"}}}
}

func newSite(t *testing.T, size int) *site {
	t.Helper()
	noLeaks(t) // here, so that it looks after all that comes later
	s := &site{dir: t.TempDir()}
	s.path = filepath.Join(s.dir, "object")
	s.content = random(t, s.path, size)
	var n *Node
	n, s.stop = start(t, s.config(0))
	s.addr = n.Addrs()[0]
	return s
}

// restart ends the producer and starts another one of the same files at the same address.
func (s *site) restart(t *testing.T) {
	t.Helper()
	s.stop()
	_, s.stop = start(t, s.config(s.addr.Port()))
}

// relayTo starts a relay whose producer is at addr.
func relayTo(t *testing.T, addr netip.AddrPort) (at netip.AddrPort, stop func()) {
	t.Helper()
	n, stop := start(t, &Config{
		Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)},
		Faces:  []FaceConfig{{Name: "up", To: local(addr.Port())}},
		Routes: []RouteConfig{{Prefix: "/site", Via: "up"}},
	})
	return n.Addrs()[0], stop
}

// proxyTo starts an impairing proxy before addr.
func proxyTo(t *testing.T, addr netip.AddrPort, cfg impair.Config) *impair.Proxy {
	t.Helper()
	p, err := impair.New(loopback(0), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// consumerVia starts a node with a face and a route to each of addrs, in the order of their distance.
func consumerVia(t *testing.T, addrs ...netip.AddrPort) (*Node, func()) {
	t.Helper()
	cfg := &Config{}
	for i, a := range addrs {
		name := fmt.Sprintf("via%d", i)
		cfg.Faces = append(cfg.Faces, FaceConfig{Name: name, To: local(a.Port())})
		cfg.Routes = append(cfg.Routes, RouteConfig{Prefix: "/site", Via: name, Hops: i + 1})
	}
	return start(t, cfg)
}

// fetching is a Fetch of "/site/object" under way.
type fetching struct {
	dest   string
	cancel context.CancelFunc
	result *FetchResult
	err    error
	done   chan struct{}
}

func startFetch(n *Node, dest string) *fetching {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f := &fetching{dest: dest, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer cancel()
		f.result, f.err = n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest})
	}()
	return f
}

func (f *fetching) wait() (*FetchResult, error) {
	<-f.done
	return f.result, f.err
}

// freeze lets p pass n more datagrams, about, and then nothing, so that what happens next happens in the middle of a
// transfer. False: the transfer ended first.
func (f *fetching) freeze(p *impair.Proxy, n uint64) bool {
	until := p.Counts().Received + n
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for p.Counts().Received < until {
		select {
		case <-f.done:
			return false
		case <-poll.C:
		}
	}
	p.Block(true)
	return true
}

// want checks that the file at path holds content.
func want(t *testing.T, path string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.Equal(got, content) {
		t.Errorf("%s holds wrong bytes: %d of them, the first wrong one at %d", filepath.Base(path), len(got), differ(got, content))
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// nothingAt checks that a fetch left no file at its destination.
func nothingAt(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file at the destination (%v)", err)
	}
}

// identity is what the journal of a fetch of content must be about.
func identity(t *testing.T, content []byte) (disk.Identity, bool) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "object"), content, 0o644); err != nil {
		t.Error(err)
		return disk.Identity{}, false
	}
	tree, err := disk.OpenTree(dir, disk.TreeOptions{})
	if err != nil {
		t.Error(err)
		return disk.Identity{}, false
	}
	defer tree.Close()
	suffix, _ := wire.ParseName("/object")
	v, err := tree.Lookup(suffix)
	if err != nil {
		t.Error(err)
		return disk.Identity{}, false
	}
	name, _ := wire.ParseName("/site/object")
	return disk.Identity{Name: name, Version: v.Manifest.Version(), Digest: v.Manifest.Digest(), Layout: v.Manifest.Layout}, true
}

// claims reads what a fetch left (or, in a copy, would leave if it were killed now) and checks that each chunk that the
// journal claims is there. It returns how many are claimed.
func claims(t *testing.T, dest string, id disk.Identity, content []byte) int64 {
	if _, err := os.Lstat(dest + ".mars-journal"); errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	p, err := disk.OpenPartial(dest, id)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer p.Close()
	count, discarded := p.Resumed()
	if discarded != nil {
		t.Errorf("the journal is of no use: %v", discarded)
	}
	for i := range id.Chunks() {
		if !p.Claimed(i) {
			continue
		}
		from := i * int64(id.ChunkSize)
		got, err := p.ReadChunk(nil, i)
		if err != nil || !bytes.Equal(got, content[from:from+int64(id.ChunkLen(i))]) {
			t.Errorf("the journal claims chunk %d, which is wrong (%v)", i, err)
		}
	}
	return count
}

// watch looks at a destination again and again while a fetch runs: whatever is there must be content, and of what a kill
// would leave each claimed chunk must be right. The function that it returns ends it.
func watch(t *testing.T, dest string, content []byte) (stop func()) {
	t.Helper()
	id, ok := identity(t, content)
	if !ok {
		t.FailNow()
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	copied := filepath.Join(t.TempDir(), "copy")
	look := func() {
		if got, err := os.ReadFile(dest); err == nil && !bytes.Equal(got, content) {
			t.Errorf("wrong bytes at the destination, %d of them, the first wrong one at %d", len(got), differ(got, content))
		}
		// The journal first: a chunk is written before it is claimed. Finish renames the partial file first.
		journal, err := os.ReadFile(dest + ".mars-journal")
		if err != nil || len(journal) == 0 {
			return
		}
		part, err := os.ReadFile(dest + ".mars-part")
		if err != nil {
			return
		}
		if err := errors.Join(os.WriteFile(copied+".mars-journal", journal, 0o600), os.WriteFile(copied+".mars-part", part, 0o600)); err != nil {
			t.Error(err)
			return
		}
		claims(t, copied, id, content)
	}
	go func() {
		defer close(ended)
		pause := time.NewTicker(20 * time.Millisecond)
		defer pause.Stop()
		for {
			look()
			select {
			case <-quit:
				look()
				return
			case <-pause.C:
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(quit)
		<-ended
	})
	t.Cleanup(stop)
	return stop
}
