package mars

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// overlay is a producer, relays and their neighbours: nobody is told any route.
func overlay(t *testing.T, size int) (producer, near, far *Node, content []byte) {
	t.Helper()
	dir := t.TempDir()
	content = make([]byte, size)
	rand.Read(content)
	if err := os.WriteFile(filepath.Join(dir, "object"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	producer = run(t, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	near = run(t, &Config{
		Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)},
		Faces: []FaceConfig{{Name: "producer", To: local(producer.Addrs()[0].Port())}},
	})
	far = run(t, &Config{
		Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{local(0)},
		Faces: []FaceConfig{{Name: "near", To: local(near.Addrs()[0].Port())}},
	})
	return producer, near, far, content
}

// TestRoutesAreLearned: nodes that know their neighbours only find a producer two relays away, use a second path beside the
// direct one, and tell how.
func TestRoutesAreLearned(t *testing.T) {
	producer, _, far, content := overlay(t, 2<<20)
	n := run(t, &Config{
		Faces: []FaceConfig{
			{Name: "far", To: local(far.Addrs()[0].Port())},
			{Name: "direct", To: local(producer.Addrs()[0].Port())},
		},
		Routes: []RouteConfig{{Prefix: "/", Via: "far", Hops: 255}, {Prefix: "/", Via: "direct", Hops: 255}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	dest := filepath.Join(t.TempDir(), "copy")
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, Signers: Signers{Keys: []PublicKey{producer.Key()}}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dest)
	if err != nil || string(got) != string(content) {
		t.Fatalf("content differs (%v)", err)
	}
	g, err := n.Path(ctx, "/site/object")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range g.Nodes {
		t.Logf("%d %+v", node.Depth, node)
	}
}

// TestPathTree: without any route, over two relays in a row.
func TestPathTree(t *testing.T) {
	_, _, far, _ := overlay(t, 1000)
	n := run(t, &Config{
		Faces:  []FaceConfig{{Name: "far", To: local(far.Addrs()[0].Port())}},
		Routes: []RouteConfig{{Prefix: "/", Via: "far", Hops: 255}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var g *PathGraph
	var err error
	for range 20 { // routing needs a moment to bring the relays together
		if g, err = n.Path(ctx, "/site/object"); err == nil && len(g.Nodes) == 4 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != 4 || !g.Nodes[3].Answered || g.Nodes[3].Paths[0].Peer != "local" {
		t.Fatalf("the graph ends elsewhere: %+v", g.Nodes)
	}
}
