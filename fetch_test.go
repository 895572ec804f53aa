package mars

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// run runs a node until the test ends, with a key of its own: the machine may keep one for all of its nodes.
func run(t *testing.T, cfg *Config) *Node {
	t.Helper()
	if cfg.Node.Key == "" {
		cfg.Node.Key = filepath.Join(t.TempDir(), "node.key")
		if _, err := NewKeyFile(cfg.Node.Key); err != nil {
			t.Fatal(err)
		}
	}
	n, err := NewNode(cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return n
}

// local is an address for plain faces.
func local(port uint16) FaceURI { return FaceURI{Host: "127.0.0.1", Port: port, Plain: true} }

func TestFetchOverThreeRelays(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 8<<20)
	rand.Read(content)
	if err := os.WriteFile(filepath.Join(dir, "object"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	producer := run(t, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	consumer := &Config{Trust: []TrustConfig{{Prefix: "/", Keys: []PublicKey{producer.Key()}}}}
	for i := range 3 {
		relay := run(t, &Config{
			Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)},
			Faces:  []FaceConfig{{Name: "up", To: local(producer.Addrs()[0].Port())}},
			Routes: []RouteConfig{{Prefix: "/site", Via: "up"}},
		})
		name := fmt.Sprintf("relay%d", i)
		consumer.Faces = append(consumer.Faces, FaceConfig{Name: name, To: local(relay.Addrs()[0].Port())})
		consumer.Routes = append(consumer.Routes, RouteConfig{Prefix: "/site", Via: name, Hops: 2})
	}
	n := run(t, consumer)
	dest := filepath.Join(t.TempDir(), "copy")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	res, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) {
		t.Fatal("content differs")
	}
	t.Logf("%d bytes in %v, resent %d", res.Bytes, res.Elapsed, res.Resent)
	for _, f := range res.Faces {
		if f.ContentIn == 0 {
			t.Errorf("face %s carried nothing", f.Name)
		}
		t.Logf("%s %d bytes, R %.1f MB/s, srtt %.2f ms, kernel drops %d", f.Name, f.ContentIn, f.Rate/1e6, f.RTT*1e3, f.KernelDrops)
	}
	var out bytes.Buffer
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", Writer: &out}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), content) {
		t.Fatal("piped content differs")
	}
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/nothing", Writer: &out}); ExitCode(err) != 3 {
		t.Fatalf("a missing object gave %v", err)
	}
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/elsewhere/x", Writer: &out}); ExitCode(err) != 3 {
		t.Fatalf("an unknown prefix gave %v", err)
	}
}
