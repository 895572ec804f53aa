package secure

import (
	"errors"
	"strings"
	"testing"

	"mars/internal/machine"
)

// TestPolicy: who gets in, who is told why not, and who meets silence.
func TestPolicy(t *testing.T) {
	node, other := keyOf(t, 1).Public(), keyOf(t, 2).Public()
	good := signed(t, certificate(t), 9)
	forged := append([]byte{}, good...)
	forged[len(forged)-1] ^= 1
	const silence, welcome = "nobody", ""
	for _, c := range []struct {
		what     string
		peers    map[PublicKey]Peer
		operator byte // 0: none
		revoked  *Revocations
		wall     int64
		key      PublicKey
		proof    []byte
		want     string // of the reason
	}{
		{"nothing configured", nil, 0, nil, 0, node, nil, welcome},
		{"a peer", map[PublicKey]Peer{node: {Name: "p"}}, 0, nil, 0, node, nil, welcome},
		{"not a peer", map[PublicKey]Peer{other: {Name: "p"}}, 0, nil, 0, node, good, silence},
		{"a peer beside operators", map[PublicKey]Peer{node: {Name: "p"}}, 9, nil, 0, node, nil, welcome},
		{"no certificate", nil, 9, nil, 1500, node, nil, silence},
		{"a certificate", nil, 9, nil, 1500, node, good, welcome},
		{"its first second", nil, 9, nil, 1000, node, good, welcome},
		{"its last second", nil, 9, nil, 2000, node, good, welcome},
		{"too early", nil, 9, nil, 999, node, good, "certificate of site-a begins at 1970-01-01 00:16:40"},
		{"expired", nil, 9, nil, 2001, node, good, "certificate of site-a expired at 1970-01-01 00:33:20"},
		{"of another key", nil, 9, nil, 1500, other, good, "for another key"},
		{"by another operator", nil, 8, nil, 1500, node, good, "operator who isn't known here"},
		{"forged", nil, 9, nil, 1500, node, forged, "signature of the certificate is wrong"},
		{"garbage", nil, 9, nil, 1500, node, []byte("x"), "no certificate"},
		{"revoked", nil, 9, &Revocations{Serials: []uint64{0xabc}}, 1500, node, good, "0000000000000abc, was revoked"},
		{"another one revoked", nil, 9, &Revocations{Serials: []uint64{0xabd}}, 1500, node, good, welcome},
		{"key revoked", nil, 9, &Revocations{Keys: []PublicKey{node}}, 1500, node, good, "key was revoked"},
		{"key of a peer revoked", map[PublicKey]Peer{node: {Name: "p"}}, 9, &Revocations{Keys: []PublicKey{node}}, 0, node, nil, "key was revoked"},
	} {
		p := &Policy{Peers: c.peers}
		if c.operator != 0 {
			p.Operators = []PublicKey{keyOf(t, c.operator).Public()}
		}
		if c.revoked != nil {
			c.revoked.Number = 1
			if _, news, err := p.Learn(list(t, *c.revoked, c.operator)); err != nil || !news {
				t.Fatalf("%s: %v", c.what, err)
			}
		}
		peer, err := p.Admit(c.wall, c.key, c.proof)
		var refusal *Refusal
		switch {
		case c.want == welcome && (err != nil || peer.Key != c.key),
			c.want == silence && !errors.Is(err, ErrUnknown),
			c.want != welcome && c.want != silence && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > maxReason):
			t.Errorf("%s: %+v, %v", c.what, peer, err)
		}
	}
}

// TestPolicyPeer: what a certificate says of a peer, and what is known of one that is only named.
func TestPolicyPeer(t *testing.T) {
	p := &Policy{Operators: []PublicKey{keyOf(t, 9).Public()}, Peers: map[PublicKey]Peer{keyOf(t, 2).Public(): {Name: "two"}}}
	got, err := p.Admit(1500, keyOf(t, 1).Public(), signed(t, certificate(t), 9))
	if err != nil || got.Name != "site-a" || got.Expires != 2000 || got.Leaf || len(got.Announce) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	none := Certificate{Subject: keyOf(t, 1).Public(), Name: "leaf", NotAfter: 2000, Serial: 1}
	got, err = p.Admit(1500, keyOf(t, 1).Public(), signed(t, none, 9))
	if err != nil || !got.Leaf || got.Announce == nil || len(got.Announce) != 0 {
		t.Errorf("without a prefix: %+v, %v", got, err)
	}
	got, err = p.Admit(1500, keyOf(t, 2).Public(), nil)
	if err != nil || got.Name != "two" || got.Announce != nil || got.Expires != 0 {
		t.Errorf("named: %+v, %v", got, err)
	}
}

// TestPolicyKeep: whom we dial needs no certificate, but must not be revoked.
func TestPolicyKeep(t *testing.T) {
	node, good := keyOf(t, 1).Public(), signed(t, certificate(t), 9)
	p := &Policy{Operators: []PublicKey{keyOf(t, 9).Public()}}
	for _, proof := range [][]byte{nil, good, []byte("garbage")} {
		if _, err := p.Keep(5000, node, proof); err != nil {
			t.Errorf("%x: %v", proof, err)
		}
	}
	if peer, _ := p.Keep(0, node, good); peer.Name != "site-a" || peer.Expires != 0 {
		t.Errorf("%+v", peer)
	}
	if _, _, err := p.Learn(list(t, Revocations{Number: 1, Serials: []uint64{0xabc}}, 9)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Keep(1500, node, good); err == nil {
		t.Error("a revoked certificate is kept")
	}
	if _, err := p.Keep(1500, node, nil); err != nil {
		t.Errorf("without the certificate: %v", err)
	}
	if _, _, err := p.Learn(list(t, Revocations{Number: 2, Keys: []PublicKey{node}}, 9)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Keep(1500, node, nil); err == nil {
		t.Error("a revoked key is kept")
	}
}

func TestPolicyCertified(t *testing.T) {
	node, good := keyOf(t, 1).Public(), signed(t, certificate(t), 9)
	p := &Policy{Operators: []PublicKey{keyOf(t, 8).Public(), keyOf(t, 9).Public()}}
	for _, c := range []struct {
		operator byte
		name     string
		key      PublicKey
		wall     int64
		ok       bool
	}{
		{9, "/a/x/object", node, 1500, true},
		{9, "/a/y/object", node, 1500, false},
		{8, "/a/x/object", node, 1500, false},
		{9, "/a/x/object", keyOf(t, 2).Public(), 1500, false},
		{9, "/a/x/object", node, 2001, false},
	} {
		if err := p.Certified(keyOf(t, c.operator).Public(), name(t, c.name), c.key, good, c.wall); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, _, err := p.Learn(list(t, Revocations{Number: 1, Keys: []PublicKey{node}}, 9)); err != nil {
		t.Fatal(err)
	}
	if err := p.Certified(keyOf(t, 9).Public(), name(t, "/a/x/o"), node, good, 1500); err == nil {
		t.Error("a revoked key signs")
	}
}

// TestLearn: only our operators' lists count, and only the newest.
func TestLearn(t *testing.T) {
	p := &Policy{Operators: []PublicKey{keyOf(t, 9).Public()}}
	if _, _, err := p.Learn(list(t, Revocations{Number: 1}, 8)); err == nil {
		t.Error("a stranger's list counts")
	}
	if _, _, err := p.Learn([]byte("x")); err == nil {
		t.Error("garbage counts")
	}
	for _, s := range []struct {
		number uint64
		news   bool
	}{{5, true}, {5, false}, {4, false}, {6, true}} {
		r, news, err := p.Learn(list(t, Revocations{Number: s.number}, 9))
		if err != nil || news != s.news || r.Number != s.number {
			t.Errorf("%d: %v, %v", s.number, news, err)
		}
	}
}

// TestPolicyGuards: two Guards with certificates, one of which is taken back.
func TestPolicyGuards(t *testing.T) {
	w := newWorld(t)
	policy := &Policy{Operators: []PublicKey{keyOf(t, 9).Public()}}
	c := Certificate{Subject: w.a.cfg.Key.Public(), Name: "site-a", NotAfter: 2_000_000_000, Serial: 5}
	w.a.cfg.Certificate = signed(t, c, 9)
	w.b.cfg.Admit = policy.Admit
	w.a.restart()
	w.b.restart()
	w.dial()
	w.run(3 * w.latency)
	w.talk()
	if _, _, err := policy.Learn(list(t, Revocations{Number: 1, Serials: []uint64{5}}, 9)); err != nil {
		t.Fatal(err)
	}
	w.b.guard.Recheck(w.now)
	w.send(w.a, 1, "hello?")
	w.run(2 * machine.Second)
	e := w.a.guard.Events(nil)
	if last := e[len(e)-1]; last.Kind != RefusedUs || !strings.Contains(last.Err.Error(), "was revoked") {
		t.Errorf("a hears %v", e)
	}
	// With a new certificate it is back at once.
	c.Serial = 6
	w.a.guard.SetCertificate(w.now, signed(t, c, 9))
	w.run(4 * w.latency)
	w.talk()
}
