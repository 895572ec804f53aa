package secure

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"mars/internal/machine"
)

// The lives of a session. The side that dialled renews it; the other's clock ends it if that fails.
const (
	renewAfter = 120 * machine.Second
	renewCount = 1 << 27 // datagrams: a bound far below what either cipher bears (RFC 9001 §6.6)
	lifetime   = 180 * machine.Second
)

// Datagrams of a session: type and receiver's index in one word, the low half of the counter, ciphertext, tag.
//
//	offset  bytes  content
//	0       1      4
//	1       3      the receiver's index of the session
//	4       4      low 32 bits of the counter of datagrams in this direction
//	8       …      ciphertext and 16 bytes of tag; header and counter are authenticated
const (
	headerLen = 8
	tagLen    = 16
)

// session is one agreement on keys.
type session struct {
	channel *channel
	local   uint32 // our index: what the peer writes into its datagrams
	remote  uint32 // the peer's
	born    machine.Time
	send    cipher.AEAD
	recv    cipher.AEAD
	sent    uint64 // datagrams
	window  window
}

// The ciphers of sessions.
const (
	cipherChaCha = 1
	cipherAES    = 2
)

func newAEAD(kind byte, key [32]byte) cipher.AEAD {
	if kind == cipherAES {
		block, err := aes.NewCipher(key[:])
		if err != nil {
			panic(err) // the key has the right length
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			panic(err)
		}
		return gcm
	}
	aead, err := chacha20poly1305.New(key[:])
	if err != nil {
		panic(err)
	}
	return aead
}

// alive tells whether the session may still be used.
func (s *session) alive(now machine.Time) bool { return now-s.born < lifetime }

// aging tells whether it is time for another one.
func (s *session) aging(now machine.Time) bool {
	return now-s.born >= renewAfter || s.sent >= renewCount
}

// seal appends the datagram that carries plain.
func (s *session) seal(dst, plain []byte) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(typeSession)<<24|s.remote)
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.sent))
	var nonce [12]byte
	binary.BigEndian.PutUint64(nonce[4:], s.sent)
	s.sent++
	return s.send.Seal(dst, nonce[:], plain, dst[at:at+headerLen])
}

// open appends what a datagram carries, and tells whether it is the newest so far. The datagram has a header and a tag.
func (s *session) open(dst, datagram []byte) (plain []byte, newest bool, why Drop) {
	counter := s.window.widen(binary.BigEndian.Uint32(datagram[4:]))
	if !s.window.fresh(counter) {
		return nil, false, DropReplayed
	}
	var nonce [12]byte
	binary.BigEndian.PutUint64(nonce[4:], counter)
	plain, err := s.recv.Open(dst, nonce[:], datagram[headerLen:], datagram[:headerLen])
	if err != nil {
		return nil, false, DropForged
	}
	return plain, s.window.mark(counter), 0
}
