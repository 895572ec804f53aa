package secure

import (
	"bytes"
	"crypto/rand"
	"testing"
)

func TestAnnouncement(t *testing.T) {
	key, other := newKey(t), newKey(t)
	certificate := bytes.Repeat([]byte{7}, MaxCertificate)
	a := &Announcer{Key: key, Nonce: [NonceLen]byte{1}, Certificate: func() []byte { return certificate }}
	said := []byte("what it says")
	signature := a.Sign(said)
	if len(signature) != MaxAnnouncementSignature {
		t.Errorf("%d bytes", len(signature))
	}
	by, c, ok := AnnouncedBy(a.ID(), said, signature)
	if !ok || by != key.Public() || !bytes.Equal(c, certificate) {
		t.Fatalf("%v, %d bytes of certificate, %v", by, len(c), ok)
	}
	if twin := (&Announcer{Key: key, Nonce: [NonceLen]byte{2}}); twin.ID() == a.ID() {
		t.Error("two nodes of one key have one identifier")
	}
	// Whoever hasn't the key can't speak for the node, whatever it changes.
	for i := range announcementLen {
		forged := bytes.Clone(signature)
		forged[i] ^= 1
		if _, _, ok := AnnouncedBy(a.ID(), said, forged); ok {
			t.Errorf("byte %d of the signature may change", i)
		}
	}
	if _, _, ok := AnnouncedBy(a.ID(), []byte("what it says not"), signature); ok {
		t.Error("what is said may change")
	}
	if _, _, ok := AnnouncedBy(a.ID(), said, (&Announcer{Key: other, Nonce: a.Nonce}).Sign(said)); ok {
		t.Error("another key speaks for the node")
	}
	for _, n := range []int{0, NonceLen, announcementLen - 1} {
		if _, _, ok := AnnouncedBy(a.ID(), said, signature[:n]); ok {
			t.Errorf("%d bytes are a signature", n)
		}
	}
	if _, _, ok := AnnouncedBy(a.ID(), said, append(signature, 0)); ok {
		t.Error("a signature that is too long")
	}
}

func FuzzAnnouncedBy(f *testing.F) {
	key, err := NewPrivateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	a := &Announcer{Key: key}
	f.Add(a.ID(), []byte("said"), a.Sign([]byte("said")))
	f.Fuzz(func(t *testing.T, origin uint64, signed, signature []byte) {
		if by, _, ok := AnnouncedBy(origin, signed, signature); ok && nodeID(by, signature[:NonceLen]) != origin {
			t.Error("an identifier of another key")
		}
	})
}
