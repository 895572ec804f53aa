package secure

import (
	"crypto/cipher"
	"crypto/subtle"
	"hash"
	"io"

	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/chacha20poly1305"

	"mars/internal/machine"
)

// Handshake messages end with two authenticators, as WireGuard's do. The first proves that the sender knows whom it
// talks to; without it a datagram costs one hash. The second proves, under load, that it has received a cookie at the
// address that it sends from.
const (
	macLen   = 16
	macsLen  = 2 * macLen
	nonceLen = chacha20poly1305.NonceSizeX

	cookieLife = 120 * machine.Second
)

// macKey is the key of the first authenticator of messages to k, and with another label of the cookies from k.
func macKey(label string, k PublicKey) [32]byte {
	return blake2s.Sum256(append([]byte(label), k[:]...))
}

const (
	mac1Label   = "mars handshake 1"
	cookieLabel = "mars cookie 1"
)

// mac is keyed BLAKE2s with 16 bytes of output (RFC 7693).
func mac(key, message []byte) (sum [macLen]byte) {
	h := newMAC(key)
	h.Write(message)
	h.Sum(sum[:0])
	return sum
}

func newMAC(key []byte) hash.Hash {
	h, err := blake2s.New128(key)
	if err != nil {
		panic(err) // keys have 16 or 32 bytes
	}
	return h
}

func newXAEAD(key [32]byte) cipher.AEAD {
	a, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		panic(err)
	}
	return a
}

// bakery hands out cookies and knows them again. It remembers one secret and nothing of those who ask.
type bakery struct {
	mac1   [32]byte // our own macKey
	box    cipher.AEAD
	random io.Reader
	secret [32]byte
	until  machine.Time // the secret is another one from then on
}

func newBakery(k PublicKey, random io.Reader) *bakery {
	return &bakery{mac1: macKey(mac1Label, k), box: newXAEAD(macKey(cookieLabel, k)), random: random}
}

// knows tells whether the first authenticator of a message is right.
func (b *bakery) knows(message []byte) bool {
	at := len(message) - macsLen
	sum := mac(b.mac1[:], message[:at])
	return subtle.ConstantTimeCompare(sum[:], message[at:at+macLen]) == 1
}

// owns tells whether the second authenticator of a message from source is right.
func (b *bakery) owns(now machine.Time, source, message []byte) bool {
	if now >= b.until {
		return false
	}
	at := len(message) - macLen
	cookie := mac(b.secret[:], source)
	sum := mac(cookie[:], message[:at])
	return subtle.ConstantTimeCompare(sum[:], message[at:]) == 1
}

// bake appends the answer to a message without a cookie: a new one, which only who knows us can read.
func (b *bakery) bake(now machine.Time, dst, source, message []byte) ([]byte, error) {
	if now >= b.until {
		if _, err := io.ReadFull(b.random, b.secret[:]); err != nil {
			return dst, err
		}
		b.until = now + cookieLife
	}
	var nonce [nonceLen]byte
	if _, err := io.ReadFull(b.random, nonce[:]); err != nil {
		return dst, err
	}
	dst = append(dst, typeCookie)
	dst = append(dst, message[1:4]...) // the index of the asker
	dst = append(dst, nonce[:]...)
	cookie := mac(b.secret[:], source)
	mac1 := message[len(message)-macsLen : len(message)-macLen]
	return b.box.Seal(dst, nonce[:], cookie[:], mac1), nil
}

// cookieLen is the length of a cookie message.
const cookieLen = 4 + nonceLen + macLen + tagLen

// taster is the other side: it signs messages to one peer.
type taster struct {
	mac1   [32]byte
	box    cipher.AEAD
	last   [macLen]byte // first authenticator of the last message, which a cookie answers
	cookie [macLen]byte
	until  machine.Time // the cookie is of no use from then on
}

func newTaster(k PublicKey) *taster {
	return &taster{mac1: macKey(mac1Label, k), box: newXAEAD(macKey(cookieLabel, k))}
}

// sign appends both authenticators to a message.
func (t *taster) sign(now machine.Time, message []byte) []byte {
	t.last = mac(t.mac1[:], message)
	message = append(message, t.last[:]...)
	var second [macLen]byte
	if now < t.until {
		second = mac(t.cookie[:], message)
	}
	return append(message, second[:]...)
}

// taste takes a cookie message; false: it isn't for us.
func (t *taster) taste(now machine.Time, message []byte) bool {
	nonce, sealed := message[4:4+nonceLen], message[4+nonceLen:]
	cookie, err := t.box.Open(nil, nonce, sealed, t.last[:])
	if err != nil {
		return false
	}
	copy(t.cookie[:], cookie)
	t.until = now + cookieLife - 5*machine.Second
	return true
}
