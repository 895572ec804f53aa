package mars

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// TestMembersOnly: with operators, a valid certificate lets in; a wrong one is told to both sides; without one there is silence.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	cfg := a.member("producer", RoleLeaf)
	content := a.serves(cfg, 10_000)
	producer, log, _ := started(t, cfg)
	for _, c := range []struct {
		name   string
		cfg    *Config
		reason string // "": it gets in; "silence": it isn't told
	}{
		{"member", a.member("member", RoleLeaf), ""},
		{"stranger", other.member("stranger", RoleLeaf), "operator who isn't known here"},
		{"expired", a.member("expired", RoleLeaf), "the certificate of expired expired at 1970-01-01 00:33:20 UTC"},
		{"nobody", a.member("nobody", RoleLeaf), "silence"},
	} {
		switch c.name {
		case "expired":
			a.certify(c.cfg, c.name, -1)
		case "nobody":
			c.cfg.Node.Certificate = ""
		}
		n, theirs, stop := started(t, c.cfg.dials("up", producer))
		if c.reason == "" {
			dest := filepath.Join(t.TempDir(), "copy")
			if _, err := startFetch(n, dest).wait(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			want(t, dest, content)
			continue
		}
		told := func() bool { return theirs.has("a peer refuses this node") }
		if c.reason == "silence" {
			time.Sleep(time.Second)
			if told() || log.has(n.Key().String()) {
				t.Errorf("%s: told %v", c.name, told())
			}
		} else {
			eventually(t, c.name+" isn't told why it is refused", 10*time.Second, func() bool {
				return theirs.has("a peer refuses this node", c.reason) && log.has("a peer is refused", c.reason, n.Key().String())
			})
		}
		faces, err := n.Status()
		if err != nil || len(faces) != 1 || faces[0].State != "handshake" {
			t.Errorf("%s: %+v, %v", c.name, faces, err)
		}
		stop()
	}
	// And plain neighbours don't get in.
	n, _, _ := started(t, &Config{Node: NodeConfig{Key: other.member("plain", RoleLeaf).Node.Key}, Faces: []FaceConfig{{Name: "up", To: local(producer.Addrs()[0].Port())}}})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := n.Fetch(ctx, FetchOptions{Name: "/site/object", File: filepath.Join(t.TempDir(), "copy"), Stall: time.Second}); err == nil {
		t.Error("in the clear it comes")
	}
}

// TestRevocationSpreads: what one end of a chain learns from a file cuts a node off at the other end, and nobody else.
//
//	producer, with the file ─ relay ─ relay ─┬─ bad
//	                                         └─ good
func TestRevocationSpreads(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	list := filepath.Join(a.dir, "revocations")
	a.revoke(list)
	cfg := a.member("producer", RoleLeaf)
	cfg.Node.Revocations, cfg.Node.GuestRate = list, 16_000_000
	content := a.serves(cfg, 6<<20)
	producer, _, _ := started(t, cfg)
	near, _, _ := started(t, a.member("near", RoleRelay).dials("producer", producer))
	far, farLog, _ := started(t, a.member("far", RoleRelay).dials("near", near))
	bad, badLog, _ := started(t, a.member("bad", RoleLeaf).dials("far", far))
	good, _, _ := started(t, a.member("good", RoleLeaf).dials("far", far))

	dest := filepath.Join(t.TempDir(), "copy")
	goodFetch := startFetch(good, dest)
	badDest := filepath.Join(t.TempDir(), "copy")
	badFetch := startFetch(bad, badDest)
	defer badFetch.cancel()
	moving := func() bool { return received(t, bad) > 200_000 && received(t, good) > 200_000 }
	eventually(t, "both fetch", 10*time.Second, moving)

	a.revoke(list, "bad")
	took := eventually(t, "the node isn't told that it was revoked", 10*time.Second, func() bool {
		return badLog.has("a peer refuses this node", "the key was revoked")
	})
	eventually(t, "nothing in the log of the relay", time.Second, func() bool { return farLog.has("isn't welcome any more", "the key was revoked") })
	t.Logf("cut off %v after the file was written", took.Round(time.Millisecond))
	before := received(t, bad)
	for _, n := range []*Node{producer, near, far, good} {
		if !knowsRevoked(t, n, bad.Key()) {
			t.Error("a node doesn't know of the revocation")
		}
	}
	select {
	case <-goodFetch.done:
		t.Error("the other fetch has ended before: this test shows nothing")
	default:
	}
	if _, err := goodFetch.wait(); err != nil {
		t.Fatalf("the other fetch: %v", err)
	}
	want(t, dest, content)
	if after := received(t, bad); after != before {
		t.Errorf("the revoked node received %d bytes more", after-before)
	}
	badFetch.cancel()
	if _, err := badFetch.wait(); err == nil {
		t.Error("the revoked node has fetched it all")
	}
	// Who comes later is told by its neighbours, and a restart doesn't help.
	late, _, _ := started(t, a.member("late", RoleRelay).dials("far", far))
	eventually(t, "a node that comes later isn't told", 10*time.Second, func() bool { return knowsRevoked(t, late, bad.Key()) })
}

// TestRevokedRelay: a relay that is the only way passes on its own revocation, and then both its neighbours part with it.
func TestRevokedRelay(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	list := filepath.Join(a.dir, "revocations")
	a.revoke(list)
	cfg := a.member("first", RoleRelay)
	cfg.Node.Revocations = list
	first, _, _ := started(t, cfg)
	bad, log, _ := started(t, a.member("bad", RoleRelay).dials("first", first))
	last, _, _ := started(t, a.member("last", RoleRelay).dials("bad", bad))
	up := func(n *Node) bool { return len(peersOf(t, n)) > 0 }
	eventually(t, "no chain", 10*time.Second, func() bool { return up(first) && up(last) && len(peersOf(t, bad)) == 2 })
	a.revoke(list, "bad")
	eventually(t, "the relay still has a neighbour", 10*time.Second, func() bool { return !up(first) && !up(last) && !up(bad) })
	eventually(t, "the relay doesn't know why", 10*time.Second, func() bool { return log.has("a peer refuses this node", "was revoked") })
}

// received is how many bytes of content have come to a node from its neighbours.
func received(t *testing.T, n *Node) (sum uint64) {
	t.Helper()
	all, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		sum += f.ContentIn
	}
	return sum
}

// knowsRevoked tells whether a node would part with the holder of key.
func knowsRevoked(t *testing.T, n *Node, key PublicKey) (yes bool) {
	t.Helper()
	if err := n.driver.Do(func(machine.Time) {
		_, err := n.membership.policy.Keep(0, key, nil)
		yes = err != nil
	}); err != nil {
		t.Fatal(err)
	}
	return yes
}

// TestRotation: during a transfer over two relays one renews its certificate and the other starts anew with another key.
//
//	           ┌─ renews ─┐
//	consumer ◀─┤          ├─▶ producer     (arrows: who is dialled)
//	           └─ rekeys ─┘
func TestRotation(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cfg := a.member("producer", RoleLeaf)
	cfg.Node.GuestRate = 16_000_000
	content := a.serves(cfg, 10<<20)
	producer, _, _ := started(t, cfg)
	list := filepath.Join(a.dir, "revocations")
	a.revoke(list)
	cfg = a.member("consumer", RoleLeaf)
	cfg.Node.Revocations = list
	consumer, _, _ := started(t, cfg)
	renews := a.member("renews", RoleRelay).dials("producer", producer).dials("consumer", consumer)
	_, _, _ = started(t, renews)
	rekeys := a.member("rekeys", RoleRelay).dials("producer", producer).dials("consumer", consumer)
	_, _, stop := started(t, rekeys)
	oldKey, _, err := LoadKey(rekeys.Node.Key)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "no faces", 10*time.Second, func() bool { return len(peersOf(t, consumer)) == 2 })

	dest := filepath.Join(t.TempDir(), "copy")
	f := startFetch(consumer, dest)
	eventually(t, "no bytes", 10*time.Second, func() bool { return received(t, consumer) > 500_000 })

	before := peersOf(t, consumer)["renews"]
	a.certify(renews, "renews", 30)
	eventually(t, "no new certificate", 10*time.Second, func() bool { return peersOf(t, consumer)["renews"].expires > before.expires })
	if after := peersOf(t, consumer)["renews"]; after.face != before.face {
		t.Errorf("face %d has become face %d", before.face, after.face)
	}

	stop()
	fresh := a.member("rekeys", RoleRelay)
	fresh.Faces = rekeys.Faces
	before = peersOf(t, consumer)["rekeys"]
	started(t, fresh)
	eventually(t, "the new key doesn't get in", 10*time.Second, func() bool {
		now := peersOf(t, consumer)["rekeys"]
		return now.key != before.key && now.key != oldKey.Public() && now.face != 0
	})
	a.revoke(list, oldKey.Public().String())
	select {
	case <-f.done:
		t.Error("the transfer has ended before: this test shows nothing")
	default:
	}

	res, err := f.wait()
	if err != nil {
		t.Fatal(err)
	}
	want(t, dest, content)
	t.Logf("%v, %d Interests sent again", res.Elapsed.Round(time.Millisecond), res.Resent)
	eventually(t, "the old key isn't revoked", 10*time.Second, func() bool { return knowsRevoked(t, producer, oldKey.Public()) })
	if got := peersOf(t, consumer); got["renews"].face == 0 || got["rekeys"].face == 0 {
		t.Errorf("faces are missing: %v", got)
	}
}

// TestCertifiedAnnouncements: neighbours believe what a certificate covers of what a node announces, and its role.
func TestCertifiedAnnouncements(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	here, _, _ := started(t, a.member("here", RoleLeaf))
	cfg := a.member("there", RoleLeaf).dials("here", here)
	a.serves(cfg, 1000)
	cfg.Serve = append(cfg.Serve, ServeConfig{Dir: cfg.Serve[0].Dir, Prefix: "/other"})
	started(t, cfg)
	pretender := a.member("pretender", RoleLeaf)
	pretender.Node.Role = RoleRelay
	a.serves(pretender, 1000)
	pretender.Serve[0].Prefix = "/site/pretender"
	_, log, _ := started(t, pretender.dials("here", here))
	if !log.has("a leaf by its certificate") {
		t.Error("the pretender isn't warned")
	}
	reaches := func(prefix, by string) (yes bool) {
		name, err := wire.ParseName(prefix)
		if err != nil {
			t.Fatal(err)
		}
		face := peersOf(t, here)[by].face
		if err := here.driver.Do(func(machine.Time) {
			yes = slices.ContainsFunc(here.node.Forwarder().NextHops(name), func(h forward.NextHop) bool { return h.Face == face })
		}); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	eventually(t, "no route to what is certified", 10*time.Second, func() bool { return reaches("/site", "there") })
	eventually(t, "two neighbours", 10*time.Second, func() bool { return len(peersOf(t, here)) == 2 })
	time.Sleep(time.Second)
	if reaches("/other", "there") || reaches("/site/pretender", "pretender") {
		t.Errorf("beyond its certificate: /other %v, of a relay that is a leaf %v", reaches("/other", "there"), reaches("/site/pretender", "pretender"))
	}
	a.certify(cfg, "there", 0, "/site", "/other")
	eventually(t, "a new certificate counts only later", 10*time.Second, func() bool { return reaches("/other", "there") })
}

type neighbour struct {
	face    machine.FaceID
	key     PublicKey
	expires int64
}

// peersOf are a node's neighbours, by the names in their certificates.
func peersOf(t *testing.T, n *Node) map[string]neighbour {
	t.Helper()
	all := map[string]neighbour{}
	faces := n.driver.Faces()
	if err := n.driver.Do(func(machine.Time) {
		for _, f := range faces {
			if p, ok := n.guard.Peer(f.ID); ok {
				all[p.Name] = neighbour{f.ID, p.Key, p.Expires}
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMembershipFiles: files that aren't there or aren't right end the start with a next step.
func TestMembershipFiles(t *testing.T) {
	a := newAuthority(t)
	garbage := filepath.Join(a.dir, "garbage")
	if err := os.WriteFile(garbage, []byte("-----BEGIN MARS"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, spoil := range map[string]func(*NodeConfig){
		"no such file":    func(n *NodeConfig) { n.Certificate = filepath.Join(a.dir, "nowhere") },
		"it is damaged":   func(n *NodeConfig) { n.Certificate = garbage },
		"for another key": func(n *NodeConfig) { n.Certificate = a.member("other", RoleLeaf).Node.Certificate },
		"is no regular":   func(n *NodeConfig) { n.Certificate = a.dir },
		"is wanted":       func(n *NodeConfig) { n.Revocations = n.Certificate },
		"no such fil":     func(n *NodeConfig) { n.Revocations = filepath.Join(a.dir, "nowhere") },
	} {
		cfg := a.member("node", RoleLeaf)
		spoil(&cfg.Node)
		if _, err := NewNode(cfg, nil); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), says) || !strings.Contains(NextStep(err), "mars ca") {
			t.Errorf("%s: %v (%s)", says, err, NextStep(err))
		}
	}
}

// TestWatched: a file is read once each time that it changes, and what is wrong with it is told once.
func TestWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	w := watched{path: path}
	look := func(step, want string, fails bool) {
		t.Helper()
		got, err := w.changed()
		if string(got) != want || (err != nil) != fails {
			t.Errorf("%s: %q, %v", step, got, err)
		}
	}
	write := func(text string) {
		if err := WriteCertificate(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	look("missing", "", true)
	look("still", "", false)
	write("one")
	look("there", "one", false)
	look("still", "", false)
	write("two") // as long, perhaps in the same tick of the clock
	look("another", "two", false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look("gone", "", true)
	write("")
	if got, err := w.changed(); err != nil || got == nil || len(got) != 0 {
		t.Errorf("empty: %v, %v", got, err)
	}
}
