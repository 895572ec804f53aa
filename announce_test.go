package mars

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/route"
	"mars/internal/secure"
	"mars/internal/wire"
)

// TestAnnouncePermitted: a peer's announcements count below the prefixes that it may announce, and nowhere else.
func TestAnnouncePermitted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "producer.key")
	key, err := NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "consumer.key")
	consumer, err := NewKeyFile(own)
	if err != nil {
		t.Fatal(err)
	}
	relay := run(t, &Config{
		Node: NodeConfig{Role: RoleRelay}, Listen: []FaceURI{{Host: "127.0.0.1"}},
		Peers: []PeerConfig{{Name: "site", Key: key, Announce: []string{"/site"}}, {Name: "user", Key: consumer}},
	})
	up := []FaceConfig{{Name: "up", To: relay.Listening()[0]}}
	run(t, &Config{
		Node: NodeConfig{Key: path}, Faces: up,
		Serve: []ServeConfig{{Dir: dir, Prefix: "/bank"}, {Dir: dir, Prefix: "/site"}},
	})
	n := run(t, &Config{Node: NodeConfig{Key: own}, Faces: up, Routes: []RouteConfig{{Prefix: "/", Via: "up"}}})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	get := func(name string) error {
		_, err := n.Fetch(ctx, FetchOptions{Name: name, File: filepath.Join(t.TempDir(), "out"), Stall: 3 * time.Second, Signers: Signers{Keys: []PublicKey{key}}})
		return err
	}
	for get("/site/file") != nil { // until the announcement is there
		if ctx.Err() != nil {
			t.Fatal("what it may announce can't be reached")
		}
	}
	if err := get("/bank/file"); !errors.Is(err, ErrNotFound) {
		t.Errorf("what it may not announce: %v", err)
	}
}

// TestHeralds: who signs speaks for the node with its own identifier alone.
func TestHeralds(t *testing.T) {
	var keys [3]secure.PrivateKey
	for i := range keys {
		path := filepath.Join(t.TempDir(), "key")
		if _, err := NewKeyFile(path); err != nil {
			t.Fatal(err)
		}
		var err error
		if keys[i], _, err = LoadKey(path); err != nil {
			t.Fatal(err)
		}
	}
	known, err := newMembership(&Config{Peers: []PeerConfig{{Key: keys[0].Public(), Announce: []string{"/a", "/b/c"}}, {Key: keys[1].Public()}}})
	if err != nil {
		t.Fatal(err)
	}
	// said is what a node with this key announces; as: with whose identifier.
	said := func(key, as secure.PrivateKey) (id uint64, body []byte) {
		id = (&secure.Announcer{Key: as}).ID()
		r := route.New(route.Config{ID: id, Boot: 1, Relay: true, Sign: func(signed []byte) []byte {
			signature := (&secure.Announcer{Key: key}).Sign(signed)
			body = append(binary.BigEndian.AppendUint16(bytes.Clone(signed), uint16(len(signature))), signature...)
			return signature
		}})
		r.Announce(0, wire.Name(nil).Append(wire.TypeGeneric, []byte("a")))
		r.Advance(machine.Second)
		return id, body
	}
	for _, c := range []struct {
		signer int
		prefix string
		others bool
		want   bool
	}{
		{0, "/a", false, true},
		{0, "/a/x", false, true},
		{0, "/b/c", false, true},
		{0, "/b", false, false},
		{0, "/", false, false},
		{0, "/ax", true, false},
		{1, "/anything", false, true},
		{2, "/a", false, false},
		{2, "/a", true, true},
	} {
		h := &heralds{admit: known.policy.Admit, others: c.others}
		id, body := said(keys[c.signer], keys[c.signer])
		if !h.authentic(id, body) {
			t.Fatal("it doesn't count as its own")
		}
		prefix, err := wire.ParseName(c.prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.entitled(id, prefix, body); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if !h.entitled(id, node.NodeName(id), body) || h.entitled(id, node.NodeName(id+1), body) {
			t.Error("a node answers about itself, and about nobody else")
		}
		if h.entitled(id, prefix, append([]byte(nil), body...)) {
			t.Error("an announcement that nobody has checked counts")
		}
	}
	if id, body := said(keys[1], keys[0]); (&heralds{admit: known.policy.Admit}).authentic(id, body) {
		t.Error("a node speaks for another")
	}
}
