package secure

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
)

const (
	domainAnnouncement = "mars announcement 1\x00"
	domainNodeID       = "mars node 1\x00"

	// NonceLen is the length of what tells nodes of one key apart, bytes.
	NonceLen = 8
	// announcementLen is a signature of an announcement without the certificate, bytes.
	announcementLen = NonceLen + KeyLen + ed25519.SignatureSize
	// MaxAnnouncementSignature bounds what Announcer.Sign returns, bytes.
	MaxAnnouncementSignature = announcementLen + MaxCertificate
)

// Announcer signs what a node says of itself in routing. The identifier of the node comes from its key and a nonce: who hasn't the
// key can't speak for it, and several nodes may share a key.
type Announcer struct {
	Key         PrivateKey
	Nonce       [NonceLen]byte
	Certificate func() []byte // the node's; nil: it has none
}

// ID is the identifier of the node.
func (a *Announcer) ID() uint64 { return nodeID(a.Key.Public(), a.Nonce[:]) }

func nodeID(key PublicKey, nonce []byte) uint64 {
	h := sha256.New()
	h.Write([]byte(domainNodeID))
	h.Write(key[:])
	h.Write(nonce)
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Sign returns the nonce, the key, a signature of signed by it, and the certificate if there is one: at most
// MaxAnnouncementSignature bytes.
func (a *Announcer) Sign(signed []byte) []byte {
	key := a.Key.Public()
	b := append(append(make([]byte, 0, MaxAnnouncementSignature), a.Nonce[:]...), key[:]...)
	b = append(b, a.Key.Sign(append([]byte(domainAnnouncement), signed...))...)
	if a.Certificate != nil {
		b = append(b, a.Certificate()...)
	}
	return b
}

// AnnouncedBy returns the key, and the certificate, which may be empty, of the node origin that signed an announcement; false: origin
// didn't. The certificate aliases signature and isn't judged here; it isn't signed either, but speaks for the key or for nothing.
func AnnouncedBy(origin uint64, signed, signature []byte) (key PublicKey, certificate []byte, ok bool) {
	if len(signature) < announcementLen || len(signature) > MaxAnnouncementSignature {
		return key, nil, false
	}
	nonce, rest := signature[:NonceLen], signature[NonceLen:]
	key, rest = PublicKey(rest[:KeyLen]), rest[KeyLen:]
	if nodeID(key, nonce) != origin || !key.Verify(append([]byte(domainAnnouncement), signed...), rest[:ed25519.SignatureSize]) {
		return PublicKey{}, nil, false
	}
	return key, rest[ed25519.SignatureSize:], true
}
