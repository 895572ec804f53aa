package mars

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mars/internal/secure"
)

// The stage of the tests about operators: members of an overlay, their files and their logs.

// authority is an operator in a test, and the files of its members.
type authority struct {
	t   *testing.T
	dir string
	ca  *CA
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "operator.key")
	if _, err := NewCA(path); err != nil {
		t.Fatal(err)
	}
	ca, err := OpenCA(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ca.Close)
	return &authority{t, dir, ca}
}

// member is what the node called name needs, with a new key, before it is told its neighbours.
func (a *authority) member(name, role string) *Config {
	a.t.Helper()
	c := &Config{Operators: []PublicKey{a.ca.Key()}, Listen: []FaceURI{{Host: "127.0.0.1"}}, Node: NodeConfig{
		Role: role, Key: filepath.Join(a.dir, name+".key"), Certificate: filepath.Join(a.dir, name+".cert"),
	}}
	_ = os.Remove(c.Node.Key)
	if _, err := NewKeyFile(c.Node.Key); err != nil {
		a.t.Fatal(err)
	}
	a.certify(c, name, 0)
	return c
}

// certify writes a certificate for the key of a member and /site, unless other prefixes are given. days 0: as many as usual, −1: it
// has expired.
func (a *authority) certify(c *Config, name string, days int, prefixes ...string) {
	a.t.Helper()
	key, _, err := LoadKey(c.Node.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	if len(prefixes) == 0 {
		prefixes = []string{"/site"}
	}
	var text []byte
	if days < 0 {
		old := secure.Certificate{Subject: key.Public(), Name: name, NotBefore: 1000, NotAfter: 2000, Serial: 1}
		b, err := old.Sign(a.ca.key)
		if err != nil {
			a.t.Fatal(err)
		}
		text = secure.CertificateText(&old, b)
	} else if text, err = a.ca.Sign(CertificateRequest{Key: key.Public(), Name: name, Role: c.Node.Role, Prefixes: prefixes, Days: days}); err != nil {
		a.t.Fatal(err)
	}
	if err := WriteCertificate(c.Node.Certificate, text); err != nil {
		a.t.Fatal(err)
	}
}

// revoke writes the operator's list.
func (a *authority) revoke(path string, what ...string) {
	a.t.Helper()
	text, err := a.ca.Revoke(what...)
	if err == nil {
		err = WriteCertificate(path, text)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// journal is a node's log.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// has tells whether a line of the log holds all words.
func (j *journal) has(words ...string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
lines:
	for line := range strings.Lines(j.text.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		return true
	}
	return false
}

// started is start, with the node's log.
func started(t *testing.T, cfg *Config) (n *Node, log *journal, stop func()) {
	t.Helper()
	log = &journal{}
	n, err := NewNode(cfg, slog.New(slog.NewTextHandler(log, nil)))
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
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("log of %s:\n%s", filepath.Base(cfg.Node.Key), log.text.String())
		}
	})
	return n, log, stop
}

// dials adds a face to a node.
func (c *Config) dials(name string, n *Node) *Config {
	c.Faces = append(c.Faces, FaceConfig{Name: name, To: FaceURI{Host: "127.0.0.1", Port: n.Addrs()[0].Port(), Key: n.Key()}})
	return c
}

// eventually waits until cond holds, and returns how long that took.
func eventually(t *testing.T, what string, limit time.Duration, cond func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !cond() {
		if time.Since(begin) > limit {
			t.Fatalf("%v have passed: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

// serves makes c serve some bytes as /site/object.
func (a *authority) serves(c *Config, size int) (content []byte) {
	dir := a.t.TempDir()
	c.Serve = []ServeConfig{{Dir: dir, Prefix: "/site"}}
	return random(a.t, filepath.Join(dir, "object"), size)
}
