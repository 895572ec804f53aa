package mars

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"mars/internal/status"
)

// TestStatusOverSocket: whoever may use a node's socket reads its faces, their states, what lies behind them, flows with the bytes of each
// path, and why a face is idle.
func TestStatusOverSocket(t *testing.T) {
	producer, near, _, content := overlay(t, 4<<20)
	socket := filepath.Join(t.TempDir(), "node.sock")
	other, err := NewNode(&Config{}, nil) // for a key that is nobody's
	if err != nil {
		t.Fatal(err)
	}
	other.close()
	wrong := local(producer.Addrs()[0].Port())
	wrong.Key, wrong.Plain = other.Key(), false
	n := run(t, &Config{
		Node: NodeConfig{Name: "site", Socket: socket}, Program: "v0",
		Faces: []FaceConfig{
			{Name: "near", To: local(near.Addrs()[0].Port())}, {Name: "direct", To: local(producer.Addrs()[0].Port())}, {Name: "wrong", To: wrong},
		},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for { // until routing has found the producer
		_, err = n.Fetch(ctx, FetchOptions{Name: "/site/object", File: filepath.Join(t.TempDir(), "copy"), Signers: Signers{Keys: []PublicKey{producer.Key()}}})
		if err == nil || ExitCode(err) != 3 {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStatus(socket)
	if err != nil {
		t.Fatal(err)
	}
	if s.SchemaVersion != status.Version || s.Name != "site" || s.Key != n.Key().String() || !s.Ready || s.Version != "v0" || len(s.Faces) != 3 {
		t.Fatalf("%+v", s)
	}
	carried := uint64(0)
	for called, way := range map[string]string{"near": "relay:1", "direct": "direct", "wrong": ""} {
		f := s.Find(called)
		if f == nil || f.Way != way {
			t.Fatalf("%s: %+v", called, f)
		}
		if called == "wrong" {
			if f.State != status.Handshake || f.Why == "" {
				t.Errorf("with the wrong key: %+v", f)
			}
			continue
		}
		if f.State != status.Up || f.Node == "" || f.Sent == 0 {
			t.Errorf("%+v", f)
		}
		carried += f.Content
	}
	if carried < uint64(len(content)) {
		t.Errorf("the faces carried %d bytes of %d", carried, len(content))
	}
	if len(s.Flows) == 0 || s.Flows[0].Bytes < uint64(len(content)) || !s.Flows[0].Source || len(s.Flows[0].Paths) != 2 {
		t.Fatalf("flows: %+v", s.Flows)
	}
	if own, err := n.NodeStatus(); err != nil || own.ID != s.ID {
		t.Errorf("the node itself says %+v, %v", own, err)
	}
}
