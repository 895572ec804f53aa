package secure

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/edwards25519"
)

// KeyLen is the length of a key, bytes.
const KeyLen = 32

// PublicKey identifies a node, a producer or an operator: an Ed25519 public key. The zero value is no key.
type PublicKey [KeyLen]byte

// PrivateKey is what a node proves its identity with. The zero value is no key. It has no text that a log could show:
// Text is for key files alone.
type PrivateKey struct {
	seed   [KeyLen]byte
	public PublicKey
}

// Errors of ParsePublicKey and ParsePrivateKey.
var (
	ErrKeyText = errors.New("it is no key: a key has 48 characters of A–Z, a–z, 0–9, - and _; mars key show prints yours")
	ErrKeyTypo = errors.New("the key has a typing error: copy it again")
	ErrKeyKind = errors.New("one is a secret key and the other a public one")
)

// Both texts end with a checksum, of what tells them apart and the key: a wrong key meets silence, which says nothing.
const (
	publicKind  = "mars public key"
	privateKind = "mars private key"
	checkLen    = 4
	textLen     = (KeyLen + checkLen) * 4 / 3 // 48
)

// NewPrivateKey draws a key from random, which must be a cryptographic source.
func NewPrivateKey(random io.Reader) (PrivateKey, error) {
	var seed [KeyLen]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return PrivateKey{}, err
	}
	return privateKey(seed), nil
}

func privateKey(seed [KeyLen]byte) PrivateKey {
	k := PrivateKey{seed: seed}
	copy(k.public[:], ed25519.NewKeyFromSeed(seed[:])[KeyLen:])
	return k
}

// Public returns the public half.
func (k PrivateKey) Public() PublicKey { return k.public }

// IsZero tells whether k is no key.
func (k PrivateKey) IsZero() bool { return k.public == PublicKey{} }

// Sign signs message (RFC 8032); the signature has 64 bytes.
func (k PrivateKey) Sign(message []byte) []byte {
	return ed25519.Sign(append(k.seed[:], k.public[:]...), message)
}

// Text is the key as it stands in a key file.
func (k PrivateKey) Text() string { return keyText(privateKind, k.seed) }

// String hides the key: it is for logs.
func (k PrivateKey) String() string { return "private key of " + k.public.String() }

// GoString hides it too.
func (k PrivateKey) GoString() string { return k.String() }

// exchange is the X25519 private key: what Ed25519 multiplies by (RFC 8032 §5.1.5).
func (k PrivateKey) exchange() []byte {
	h := sha512.Sum512(k.seed[:])
	h[0] &= 248
	h[31] &= 127
	h[31] |= 64
	return h[:32:32]
}

// Verify reports whether signature is k's of message.
func (k PublicKey) Verify(message, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(k[:], message, signature)
}

// String is the text that people exchange; "" of no key.
func (k PublicKey) String() string {
	if k == (PublicKey{}) {
		return ""
	}
	return keyText(publicKind, k)
}

// MarshalText is String, for YAML and JSON.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes, not no key.
func (k *PublicKey) UnmarshalText(text []byte) (err error) {
	*k, err = ParsePublicKey(string(text))
	return err
}

// exchange is the X25519 public key that belongs to k.
func (k PublicKey) exchange() ([]byte, error) {
	p, err := new(edwards25519.Point).SetBytes(k[:])
	if err != nil {
		return nil, ErrKeyText
	}
	// A point of small order would make every exchanged secret one that all know (RFC 7748 §6.1).
	if new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return nil, ErrKeyText
	}
	return p.BytesMontgomery(), nil
}

// ParsePublicKey reads what String writes.
func ParsePublicKey(s string) (PublicKey, error) {
	b, err := parseKey(publicKind, privateKind, s)
	k := PublicKey(b)
	if err == nil {
		_, err = k.exchange()
	}
	if err != nil {
		return PublicKey{}, err
	}
	return k, nil
}

// ParsePrivateKey reads what Text writes; spaces around it don't count. Its errors never quote s.
func ParsePrivateKey(s string) (PrivateKey, error) {
	seed, err := parseKey(privateKind, publicKind, strings.TrimSpace(s))
	if err != nil {
		return PrivateKey{}, err
	}
	return privateKey(seed), nil
}

func keyText(kind string, key [KeyLen]byte) string {
	return base64.RawURLEncoding.EncodeToString(append(key[:], checksum(kind, key)...))
}

func checksum(kind string, key [KeyLen]byte) []byte {
	sum := sha256.Sum256(append([]byte(kind), key[:]...))
	return sum[:checkLen]
}

func parseKey(kind, other, s string) (key [KeyLen]byte, err error) {
	if len(s) != textLen {
		return key, ErrKeyText
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return key, ErrKeyText
	}
	copy(key[:], b)
	switch string(b[KeyLen:]) {
	case string(checksum(kind, key)):
		return key, nil
	case string(checksum(other, key)):
		return [KeyLen]byte{}, fmt.Errorf("%w: here a %s is wanted", ErrKeyKind, strings.TrimPrefix(kind, "mars "))
	}
	return [KeyLen]byte{}, ErrKeyTypo
}
