package mars

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mars/internal/secure"
)

func newTestKey(t *testing.T) PublicKey {
	t.Helper()
	k, err := NewKeyFile(filepath.Join(t.TempDir(), "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSign(t *testing.T) {
	ca, key := newAuthority(t).ca, newTestKey(t)
	text, err := ca.Sign(CertificateRequest{Key: key, Name: "relay-1", Role: RoleRelay, Prefixes: []string{"/b", "ndn:/a"}, Days: 3})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := secure.ParseCertificateText(text)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	if c.Subject != key || c.Operator != ca.Key() || c.Name != "relay-1" || !c.Relay || len(c.Prefixes) != 2 ||
		c.NotBefore > now || c.NotAfter < now+2*24*3600 || c.NotAfter > now+4*24*3600 {
		t.Errorf("%+v", c)
	}
	got := ca.Issued()
	if len(got) != 1 || got[0].Serial != fmt.Sprintf("%016x", c.Serial) || got[0].Key != key || got[0].Role != RoleRelay || got[0].Revoked {
		t.Errorf("%+v", got)
	}
	for says, r := range map[string]CertificateRequest{
		"is not a name":     {Key: key, Name: "a b"},
		"is unknown":        {Key: key, Name: "a", Role: "king"},
		"not from 1":        {Key: key, Name: "a", Days: -1},
		"name prefix":       {Key: key, Name: "a", Prefixes: []string{"b"}},
		"never leave":       {Key: key, Name: "a", Prefixes: []string{"/localhost/x"}},
		"more than 512":     {Key: key, Name: "a", Prefixes: []string{"/" + strings.Repeat("x", 400)}},
		"are not from 1 to": {Key: key, Name: "a", Days: 5000},
	} {
		if _, err := ca.Sign(r); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if len(ca.Issued()) != 1 {
		t.Error("what fails is in the register")
	}
}

// TestRevoke: by name, key and serial number; lists have growing numbers and hold all that was revoked before.
func TestRevoke(t *testing.T) {
	ca := newAuthority(t).ca
	keys := map[string]PublicKey{}
	for _, name := range []string{"a", "b", "c", "d"} {
		keys[name] = newTestKey(t)
		if _, err := ca.Sign(CertificateRequest{Key: keys[name], Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	stranger := newTestKey(t)
	serial := ca.Issued()[2].Serial
	var number uint64
	revoke := func(what ...string) secure.Revocations {
		t.Helper()
		text, err := ca.Revoke(what...)
		if err != nil {
			t.Fatal(err)
		}
		lists, _, err := secure.ParseRevocationsText(text)
		if err != nil || len(lists) != 1 || lists[0].Number <= number {
			t.Fatalf("%+v, %v", lists, err)
		}
		number = lists[0].Number
		return lists[0]
	}
	if l := revoke(); len(l.Keys)+len(l.Serials) != 0 {
		t.Errorf("%+v", l)
	}
	revoke("a")
	revoke(keys["b"].String(), stranger.String())
	l := revoke(serial)
	if !l.HasKey(keys["a"]) || !l.HasKey(keys["b"]) || !l.HasKey(stranger) || l.HasKey(keys["c"]) || len(l.Serials) != 1 || fmt.Sprintf("%016x", l.Serials[0]) != serial {
		t.Errorf("%+v", l)
	}
	var states []bool
	for _, i := range ca.Issued() {
		states = append(states, i.Revoked)
	}
	if fmt.Sprint(states) != "[true true true false]" {
		t.Errorf("%v", states)
	}
	if _, err := ca.Revoke("nobody"); !errors.Is(err, ErrUsage) {
		t.Errorf("%v", err)
	}
	if _, err := ca.Sign(CertificateRequest{Key: keys["a"], Name: "again"}); !errors.Is(err, ErrAuth) {
		t.Errorf("a revoked key is signed: %v", err)
	}
	if _, err := ca.Sign(CertificateRequest{Key: keys["c"], Name: "c"}); err != nil {
		t.Errorf("a key of which one certificate is revoked: %v", err)
	}
}

// TestRegister: processes don't forget what others have signed, and a register that is gone or another's is no empty one.
func TestRegister(t *testing.T) {
	path := filepath.Join(t.TempDir(), "operator.key")
	key, err := NewCA(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewCA(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	nodes := make([]PublicKey, 8)
	for i := range nodes {
		nodes[i] = newTestKey(t)
	}
	var all sync.WaitGroup
	for i, k := range nodes {
		all.Go(func() {
			ca, err := OpenCA(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer ca.Close()
			if _, err := ca.Sign(CertificateRequest{Key: k, Name: fmt.Sprint("n", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	ca, err := OpenCA(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(ca.Issued()); n != len(nodes) || ca.Key() != key {
		t.Errorf("%d of %d are in the register", n, len(nodes))
	}
	ca.Close()
	if info, err := os.Stat(registerPath(path)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if rest, err := os.ReadDir(filepath.Dir(path)); err != nil || len(rest) != 2 {
		t.Errorf("left behind: %v, %v", rest, err)
	}

	for _, text := range []string{"", "{", `{"operator": "` + nodes[0].String() + `"}`} {
		if err := os.WriteFile(registerPath(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenCA(path); err == nil || !strings.Contains(NextStep(err), "backup") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.Remove(registerPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCA(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a register: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCA(path); !errors.Is(err, ErrConfig) || !strings.Contains(NextStep(err), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if _, err := OpenCA(path + "x"); !strings.Contains(NextStep(err), "mars ca init") {
		t.Errorf("no key: %v", err)
	}
}

// TestPrune: what has long expired is forgotten, and what expired yesterday is in no list.
func TestPrune(t *testing.T) {
	const now = 1_800_000_000
	r := &register{Keys: []PublicKey{{1}}}
	for i, age := range []int64{-100, 2 * 24 * 3600, keepExpired + 1} {
		r.add(Issued{Serial: fmt.Sprintf("%016x", i+1), Key: PublicKey{9}, NotAfter: now - age, Revoked: true})
	}
	r.add(Issued{Serial: "0000000000000007", Key: PublicKey{1}, NotAfter: now + 100, Revoked: true})
	if got := r.serials(now); len(got) != 1 || got[0] != 1 {
		t.Errorf("the list has %v", got)
	}
	r.prune(now)
	if len(r.Issued) != 3 {
		t.Errorf("%+v", r.Issued)
	}
}
