package mars

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mars/cc"
	"mars/internal/wire"
)

// TestFetchPlain fetches what a node of ours serves the way that it would from other software.
func TestFetchPlain(t *testing.T) {
	s := newSite(t, 1)
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, size := range []int{0, 1, wire.ChunkSize + 1, 4 << 20} {
		content := random(t, filepath.Join(s.dir, "f"), size)
		dest := filepath.Join(t.TempDir(), "f")
		sum := sha256.Sum256(content)
		told := int64(-1)
		res, err := n.FetchPlain(ctx, FetchOptions{Name: "/site/f", File: dest, Progress: func(p Progress) { told = p.Bytes }})
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		want(t, dest, content)
		if !res.Unverified || res.Bytes != int64(size) || res.Size != int64(size) || told != int64(size) || res.Version == 0 {
			t.Errorf("%d bytes: %+v, %d told", size, res, told)
		}
		left, err := os.ReadDir(filepath.Dir(dest))
		if err != nil || len(left) != 1 {
			t.Errorf("%d bytes: %v is left beside the file (%v)", size, left, err)
		}
		var out bytes.Buffer
		res, err = n.FetchPlain(ctx, FetchOptions{Name: "/site/f", Writer: &out, SHA256: &sum})
		if err != nil || !bytes.Equal(out.Bytes(), content) || res.Unverified {
			t.Errorf("%d bytes to a writer: got %d (%v)", size, out.Len(), err)
		}
	}
}

// TestFetchEndpointCC: every controller fetches over all faces, also when one of them leads nowhere.
func TestFetchEndpointCC(t *testing.T) {
	s := newSite(t, 100)
	content := random(t, filepath.Join(s.dir, "f"), 3<<20)
	a, stopA := relayTo(t, s.addr)
	defer stopA()
	b, stopB := relayTo(t, s.addr)
	defer stopB()
	n, _ := consumerVia(t, a, b)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, algorithm := range cc.Algorithms() {
		var out bytes.Buffer
		res, err := n.FetchPlain(ctx, FetchOptions{Name: "/site/f", Writer: &out, EndpointCC: algorithm.Name})
		if err != nil || !bytes.Equal(out.Bytes(), content) || !res.Unverified {
			t.Fatalf("%s: got %d bytes (%v)", algorithm.Name, out.Len(), err)
		}
	}
	faces, err := n.Status()
	if err != nil || len(faces) != 2 {
		t.Fatal(faces, err)
	}
	for _, f := range faces {
		if f.ContentIn < 3<<20 { // of twelve fetches
			t.Errorf("%s carried %d bytes", f.Name, f.ContentIn)
		}
	}
	stopB()
	var out bytes.Buffer
	if _, err := n.FetchPlain(ctx, FetchOptions{Name: "/site/f", Writer: &out, EndpointCC: "lia"}); err != nil || !bytes.Equal(out.Bytes(), content) {
		t.Errorf("with one relay gone: got %d bytes (%v)", out.Len(), err)
	}
	_, err = n.FetchPlain(ctx, FetchOptions{Name: "/site/f", Writer: &out, EndpointCC: "vegas"})
	if err == nil || ExitCode(err) != 2 || !strings.Contains(err.Error(), "olia") {
		t.Errorf("an unknown controller: %v", err)
	}
}

// TestFetchPlainFails: a fetch that fails leaves what was there, and nothing else.
func TestFetchPlainFails(t *testing.T) {
	s := newSite(t, 100)
	n, _ := consumerVia(t, s.addr)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dest := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(dest, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := n.FetchPlain(ctx, FetchOptions{Name: "/site/no-such-file", File: dest})
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("no such file: %v", err)
	}
	random(t, filepath.Join(s.dir, "f"), 10_000)
	_, err = n.FetchPlain(ctx, FetchOptions{Name: "/site/f", File: dest, SHA256: &[32]byte{}})
	if !errors.Is(err, ErrIntegrity) {
		t.Errorf("wrong checksum: %v", err)
	}
	_, err = n.FetchPlain(ctx, FetchOptions{Name: "/site/f", File: filepath.Dir(dest)})
	if err == nil {
		t.Error("a directory was replaced")
	}
	want(t, dest, []byte("before"))
	if left, err := os.ReadDir(filepath.Dir(dest)); err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v)", left, err)
	}
}
