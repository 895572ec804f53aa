package mars

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mars/internal/secure"
	"mars/internal/wire"
)

// TestSigners: over a plain face, which proves no key, an object is taken from whom it is wanted from, and from nobody else.
func TestSigners(t *testing.T) {
	dir, content := t.TempDir(), bytes.Repeat([]byte("signed "), 5000)
	if err := os.WriteFile(filepath.Join(dir, "object"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	producer := run(t, &Config{Listen: []FaceURI{local(0)}, Serve: []ServeConfig{{Dir: dir, Prefix: "/site"}}})
	up := []FaceConfig{{Name: "up", To: local(producer.Addrs()[0].Port())}}
	routes := []RouteConfig{{Prefix: "/", Via: "up"}}
	n := run(t, &Config{Faces: up, Routes: routes})
	key, other := producer.Key(), n.Key()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	for _, c := range []struct {
		say     string
		signers Signers
		rules   []TrustConfig
		ok      bool
	}{
		{say: "nothing said"},
		{say: "another key", signers: Signers{Keys: []PublicKey{other}}},
		{say: "the key", signers: Signers{Keys: []PublicKey{other, key}}, ok: true},
		{say: "anybody", signers: Signers{Unsigned: true}, ok: true},
		{say: "a rule", rules: []TrustConfig{{Prefix: "/site", Keys: []PublicKey{key}}}, ok: true},
		{say: "a rule for anybody", rules: []TrustConfig{{Prefix: "/", Unsigned: true}}, ok: true},
		{say: "a rule for others", rules: []TrustConfig{{Prefix: "/", Unsigned: true}, {Prefix: "/site", Keys: []PublicKey{other}}}},
		{say: "the key against a rule", signers: Signers{Keys: []PublicKey{key}}, rules: []TrustConfig{{Prefix: "/site", Keys: []PublicKey{other}}}, ok: true},
	} {
		t.Run(c.say, func(t *testing.T) {
			n := n
			if c.rules != nil {
				n = run(t, &Config{Faces: up, Routes: routes, Trust: c.rules})
			}
			dest := filepath.Join(t.TempDir(), "copy")
			res, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: dest, Signers: c.signers})
			got, missing := os.ReadFile(dest)
			if c.ok {
				if err != nil || !bytes.Equal(got, content) || res.Signer != key {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
				return
			}
			u, known := errors.AsType[*Untrusted](err)
			if !errors.Is(err, ErrUntrusted) || ExitCode(err) != 7 || !known || u.Key != key || !strings.Contains(NextStep(err), "--trust "+key.String()) {
				t.Errorf("%v; %s", err, NextStep(err))
			}
			if missing == nil {
				t.Error("there is a file")
			}
		})
	}
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/nothing", File: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, ErrNotFound) {
		t.Errorf("what isn't there: %v", err)
	}
	_, err := n.FetchAll(ctx, BatchOptions{Names: []string{"/site/"}, Dir: t.TempDir()})
	if !errors.Is(err, ErrUntrusted) {
		t.Errorf("a directory: %v", err)
	}
	var items []Item
	_, err = n.FetchAll(ctx, BatchOptions{Names: []string{"/site/"}, Dir: t.TempDir(), Signers: Signers{Keys: []PublicKey{key}}, Item: func(i Item) { items = append(items, i) }})
	if err != nil || len(items) != 2 || items[0].Signer != key || items[1].Signer != key {
		t.Errorf("a directory of the key: %v, %+v", err, items)
	}
}

// TestOldAnswer: what was signed long ago is refused, and so is what nobody signed.
func TestOldAnswer(t *testing.T) {
	own, key := PublicKey{1}, PublicKey{2}
	n := &Node{trust: &secure.Trust{Keys: []PublicKey{own, key}}}
	at := func(age time.Duration) wire.Author {
		return wire.Author{Key: key[:], Time: uint64(time.Now().Add(-age).UnixMilli())}
	}
	trust := n.trusting(Signers{})
	name := wire.MustParseName("/a")
	if err := errors.Join(trust(name, at(0)), trust(name, at(maxAge-time.Minute)), trust(name, at(-time.Hour))); err != nil {
		t.Error(err)
	}
	for say, c := range map[string]struct {
		by   wire.Author
		next string
	}{
		"old": {at(maxAge + time.Minute), "check the clocks"}, "the oldest": {wire.Author{Key: key[:]}, "check the clocks"},
		"unsigned": {wire.Author{}, "--unsigned"}, "a stranger's": {wire.Author{Key: make([]byte, 31), Time: at(0).Time}, "--unsigned"},
	} {
		err := fetchError("/a", trust(name, c.by))
		if !errors.Is(err, ErrUntrusted) || !strings.Contains(NextStep(err), c.next) {
			t.Errorf("%s: %v; %s", say, err, NextStep(err))
		}
	}
}

// TestTrustConfig: the section is read as it is written, and what makes no sense is told.
func TestTrustConfig(t *testing.T) {
	key := producerKey(t)
	load := func(text string) (*Config, error) {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(path)
		return c, errors.Join(err, c.Check())
	}
	c, err := load("trust:\n- {prefix: /site, keys: [" + key.String() + "], operators: [" + key.String() + "]}\n- {prefix: /, unsigned: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	again, err := load(c.String())
	if err != nil || len(again.Trust) != 2 || again.Trust[0].Keys[0] != key || again.Trust[0].Operators[0] != key || !again.Trust[1].Unsigned {
		t.Fatalf("%v, from\n%s", err, c)
	}
	for text, problem := range map[string]string{
		"[{keys: []}]":                                                 "no prefix",
		"[{prefix: /a, keys: [x]}]":                                    "it is no key",
		"[{prefix: /a, unsigned: perhaps}]":                            "write true or false",
		"[{prefix: /a}, {prefix: /a}]":                                 "twice",
		"[{prefix: /a, unsigned: true, keys: [" + key.String() + "]}]": "needs no keys",
	} {
		if _, err := load("trust: " + text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func producerKey(t *testing.T) PublicKey {
	t.Helper()
	key, err := NewKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestCertifiedSigner: behind a relay a producer is trusted for the prefixes in its certificate.
func TestCertifiedSigner(t *testing.T) {
	a := newAuthority(t)
	site, bank := t.TempDir(), t.TempDir()
	for _, dir := range []string{site, bank} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := a.member("producer", RoleLeaf)
	c.Serve = []ServeConfig{{Dir: site, Prefix: "/site"}, {Dir: bank, Prefix: "/bank"}}
	producer := run(t, c)
	to := FaceURI{Host: "127.0.0.1", Port: producer.Addrs()[0].Port(), Key: producer.Key()}

	// The relay has static routes to both, so that names decide in the consumer alone, which doesn't dial the producer.
	through := a.member("through", RoleRelay)
	through.Faces = []FaceConfig{{Name: "down", To: to}}
	through.Routes = []RouteConfig{{Prefix: "/site", Via: "down"}, {Prefix: "/bank", Via: "down"}}
	mid := run(t, through)
	consumer := a.member("consumer", RoleLeaf)
	consumer.Faces = []FaceConfig{{Name: "mid", To: mid.Listening()[0]}}
	consumer.Routes = []RouteConfig{{Prefix: "/", Via: "mid"}}
	n := run(t, consumer)
	get := func(name string) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := n.Fetch(ctx, FetchOptions{Name: name, File: filepath.Join(t.TempDir(), "out"), Stall: 5 * time.Second})
		return err
	}
	if err := get("/site/file"); err != nil {
		t.Errorf("what its certificate covers: %v", err)
	}
	if err := get("/bank/file"); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "isn't for this name") {
		t.Errorf("what it doesn't: %v", err)
	}
}
