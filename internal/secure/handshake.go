package secure

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/flynn/noise"
)

// Types of datagrams: the first byte. NDN packets begin with 5, 6 or 100.
const (
	typeInitiation = 1
	typeResponse   = 2
	typeCookie     = 3
	typeSession    = 4
)

// The handshake is Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s: the initiator knows the responder's key, and two messages
// make a session. Both messages are framed alike:
//
//	offset  bytes  content
//	0       1      1 or 2
//	1       3      the sender's index of the session
//	4       3      the receiver's index; 0 in an initiation
//	7       …      the Noise message, and 32 bytes of authenticators (cookie.go)
const frameLen = 7

const prologue = "MARS face 1"

var suite = noise.NewCipherSuite(noise.DH25519, noise.CipherChaChaPoly, noise.HashBLAKE2s)

// MaxCertificate bounds the certificate that a handshake carries, bytes.
const MaxCertificate = 512

// Sizes of handshake messages. Initiations have one size, no smaller than that of any response, so that nobody who
// forges his address gets more bytes sent there than he sends.
const (
	helloLen      = KeyLen + 3 + 1 + 2 // without the certificate
	initiationLen = frameLen + 32 + 48 + helloLen + MaxCertificate + tagLen + macsLen
	minResponse   = frameLen + 32 + 1 + tagLen + macsLen
)

var errHello = errors.New("a handshake's payload is malformed")

// hello is what the initiator says about itself, encrypted.
type hello struct {
	key         PublicKey // of which the X25519 key of the handshake is made
	previous    uint32    // the responder's index of the session that this one follows; 0: it is the first
	ciphers     byte      // bit 0: AES-GCM is fast here
	certificate []byte
}

func (h *hello) append(dst []byte) []byte {
	dst = append(dst, h.key[:]...)
	dst = append(dst, byte(h.previous>>16), byte(h.previous>>8), byte(h.previous), h.ciphers)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(h.certificate)))
	dst = append(dst, h.certificate...)
	return append(dst, make([]byte, MaxCertificate-len(h.certificate))...)
}

func (h *hello) decode(b []byte) error {
	if len(b) != helloLen+MaxCertificate {
		return errHello
	}
	copy(h.key[:], b)
	h.previous = index24(b[KeyLen:])
	h.ciphers = b[KeyLen+3]
	n := int(binary.BigEndian.Uint16(b[KeyLen+4:]))
	if n > MaxCertificate {
		return errHello
	}
	h.certificate = b[helloLen : helloLen+n]
	return nil
}

// answer is what the responder says, encrypted: which cipher, or why not.
type answer struct {
	cipher      byte // 0: refused
	reason      string
	certificate []byte
}

func (a *answer) append(dst []byte) []byte {
	dst = append(dst, a.cipher)
	if a.cipher == 0 {
		return append(dst, a.reason[:min(len(a.reason), maxReason)]...)
	}
	return append(dst, a.certificate...)
}

// maxReason bounds the text of a refusal, bytes.
const maxReason = 200

func (a *answer) decode(b []byte) error {
	if len(b) == 0 || len(b) > 1+MaxCertificate || b[0] > cipherAES {
		return errHello
	}
	a.cipher = b[0]
	if a.cipher == 0 {
		a.reason = string(b[1:])
	} else {
		a.certificate = b[1:]
	}
	return nil
}

func index24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func appendFrame(dst []byte, kind byte, sender, receiver uint32) []byte {
	return append(dst, kind, byte(sender>>16), byte(sender>>8), byte(sender), byte(receiver>>16), byte(receiver>>8), byte(receiver))
}

// keys are what a handshake ends with.
type keys struct{ initiator, responder [32]byte } // that each of them sends with

// newInitiator begins a handshake with the holder of peer. psk may be zero.
func newInitiator(self PrivateKey, peer PublicKey, psk [32]byte, random io.Reader) (*noise.HandshakeState, error) {
	static, err := peer.exchange()
	if err != nil {
		return nil, err
	}
	return newNoise(self, random, noise.Config{Initiator: true, PeerStatic: static, PresharedKey: psk[:]})
}

// newResponder takes the other side. Who the initiator is, and with it the preshared key, turns out in between.
func newResponder(self PrivateKey, random io.Reader) (*noise.HandshakeState, error) {
	return newNoise(self, random, noise.Config{PresharedKey: make([]byte, 32)})
}

func newNoise(self PrivateKey, random io.Reader, c noise.Config) (*noise.HandshakeState, error) {
	c.CipherSuite, c.Random, c.Pattern, c.Prologue = suite, random, noise.HandshakeIK, []byte(prologue)
	c.PresharedKeyPlacement = 2
	public, err := self.Public().exchange()
	if err != nil {
		return nil, err
	}
	c.StaticKeypair = noise.DHKey{Private: self.exchange(), Public: public}
	return noise.NewHandshakeState(c)
}

// writeInitiation is the first message, without authenticators.
func writeInitiation(h *noise.HandshakeState, index uint32, hi hello) ([]byte, error) {
	m, _, _, err := h.WriteMessage(appendFrame(nil, typeInitiation, index, 0), hi.append(nil))
	return m, err
}

// readInitiation reads the first message, authenticators included, of any content.
func readInitiation(h *noise.HandshakeState, message []byte) (hi hello, err error) {
	payload, _, _, err := h.ReadMessage(nil, message[frameLen:len(message)-macsLen])
	if err != nil {
		return hi, err
	}
	if err := hi.decode(payload); err != nil {
		return hi, err
	}
	static, err := hi.key.exchange()
	if err != nil || string(static) != string(h.PeerStatic()) {
		return hi, errHello // the key that is named isn't the one that was proved
	}
	return hi, nil
}

// writeResponse is the second message, without authenticators, and the keys.
func writeResponse(h *noise.HandshakeState, psk [32]byte, index, peer uint32, a answer) ([]byte, keys, error) {
	if err := h.SetPresharedKey(psk[:]); err != nil {
		return nil, keys{}, err
	}
	m, first, second, err := h.WriteMessage(appendFrame(nil, typeResponse, index, peer), a.append(nil))
	if err != nil {
		return nil, keys{}, err
	}
	return m, keys{first.UnsafeKey(), second.UnsafeKey()}, nil
}

// readResponse reads the second message, authenticators included.
func readResponse(h *noise.HandshakeState, message []byte) (a answer, k keys, err error) {
	payload, first, second, err := h.ReadMessage(nil, message[frameLen:len(message)-macsLen])
	if err != nil {
		return a, k, err
	}
	return a, keys{first.UnsafeKey(), second.UnsafeKey()}, a.decode(payload)
}
