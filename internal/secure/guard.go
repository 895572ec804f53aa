package secure

import (
	"errors"
	"io"

	"mars/internal/machine"
)

// Config sets up a Guard.
type Config struct {
	Key         PrivateKey
	Certificate []byte                              // ours, at most MaxCertificate bytes; may be empty
	Admit       Admit                               // who may dial us; nil: nobody
	Keep        Admit                               // of whom we dial, who may stay; nil: everybody
	PSK         func(PublicKey) [32]byte            // preshared keys of peers, zero if none; nil: none
	NewFace     func() (id machine.FaceID, ok bool) // deals identifiers of faces that peers make
	Random      io.Reader                           // a cryptographic source
	Wall        func() int64                        // seconds since 1970, for certificates
	AES         bool                                // this processor has instructions for AES-GCM
	Padding     int                                 // datagrams are padded to a multiple of so many bytes; 0: not
}

// Limits that keep strangers cheap.
const (
	handshakeRate  = 100 // initiations a second that cost curve operations without a cookie
	handshakeBurst = 50
	cookieRate     = 500 // and with one
	maxHalfOpen    = 1024
	halfOpenLife   = 5 * machine.Second
	maxEvents      = 64
	replayMemory   = 4096 // initiations that are known again
)

// Guard protects the faces of one node: a machine.Guard.
//
//	                     ┌────────── initiation ─────────▶┐
//	dialler: retry ──▶ hs │                               │ responder: Admit, next
//	                     └◀──────────  response ──────────┘
//	current ─────────────────── first datagram ──────────▶ next becomes current: the face is up
type Guard struct {
	cfg      Config
	bakery   *bakery
	channels map[machine.FaceID]*channel
	dialled  []*channel // those with timers, in the order of their faces
	byIndex  map[uint32]*session
	pending  map[uint32]*channel // handshakes that wait for a response, by our index
	halfOpen []*session          // oldest first
	outgoing []*channel          // those with something in outbox or reply
	farewell []parting           // refusals, sealed
	closed   []machine.FaceID
	events   []Event
	wake     machine.Time
	plain    limiter // initiations without a cookie
	proved   limiter // initiations with one
	seen     map[[macLen]byte]struct{}
	order    [replayMemory][macLen]byte
	oldest   int
	counts   Counts
	buf      []byte // replies
	last     *channel
}

// Drop is why a datagram came to nothing.
type Drop int

// The reasons.
const (
	DropMalformed  Drop = iota + 1 // no type, no length, or no room for what its type needs
	DropNoKey                      // a handshake of somebody who doesn't know our key
	DropNoCookie                   // a handshake without a cookie, under load; a cookie was sent
	DropBusy                       // a handshake beyond what we do in a second
	DropHandshake                  // a handshake that fails to decrypt
	DropUnknownKey                 // a handshake of a key that nobody here knows
	DropRefused                    // a handshake that was answered with a refusal
	DropNoSession                  // a datagram of no session
	DropReplayed                   // one that has come before, or is too old to tell
	DropForged                     // one whose tag is wrong
	drops
)

var dropNames = [drops]string{
	"", "malformed", "no_key", "no_cookie", "busy", "handshake", "unknown_key", "refused", "no_session", "replayed", "forged",
}

func (d Drop) String() string { return dropNames[d] }

// Counts are datagrams that came to nothing, by Drop.
type Counts [drops]uint64

// EventKind says what an Event tells.
type EventKind int

// The kinds.
const (
	PeerUp      EventKind = iota // a face stands; Peer is who is there
	PeerRefused                  // we refused Peer, for the reason Err
	RefusedUs                    // Peer refused us, for the reason Err
	PeerClosed                   // Peer isn't welcome any more, for the reason Err: the face ended, or rests if we dialled
)

// Event is something for logs.
type Event struct {
	Kind EventKind
	Face machine.FaceID // 0: none
	Peer Peer
	Err  error
}

// NewGuard returns a Guard without faces.
func NewGuard(cfg Config) (*Guard, error) {
	if cfg.Key.IsZero() || cfg.Random == nil || cfg.Wall == nil || cfg.NewFace == nil {
		return nil, errors.New("secure: a Guard needs a key, randomness, the time and identifiers of faces")
	}
	if len(cfg.Certificate) > MaxCertificate {
		return nil, errors.New("secure: the certificate is too long for a handshake")
	}
	return &Guard{
		cfg: cfg, bakery: newBakery(cfg.Key.Public(), cfg.Random),
		channels: map[machine.FaceID]*channel{}, byIndex: map[uint32]*session{}, pending: map[uint32]*channel{},
		seen: map[[macLen]byte]struct{}{}, wake: machine.Never,
		plain: limiter{rate: handshakeRate, burst: handshakeBurst}, proved: limiter{rate: cookieRate, burst: handshakeBurst},
	}, nil
}

// Overhead is by how many bytes Seal makes a datagram longer.
func (g *Guard) Overhead() int { return headerLen + tagLen }

// Counts returns what came to nothing so far.
func (g *Guard) Counts() Counts { return g.counts }

// Events appends what happened since the last call. When nobody takes them only the first maxEvents are kept.
func (g *Guard) Events(dst []Event) []Event {
	dst = append(dst, g.events...)
	g.events = g.events[:0]
	return dst
}

func (g *Guard) tell(e Event) {
	if len(g.events) < maxEvents {
		g.events = append(g.events, e)
	}
}

func (g *Guard) psk(k PublicKey) [32]byte {
	if g.cfg.PSK == nil {
		return [32]byte{}
	}
	return g.cfg.PSK(k)
}

// Peer tells who is at the other end of a face that is up.
func (g *Guard) Peer(face machine.FaceID) (Peer, bool) {
	c := g.channels[face]
	if c == nil || c.current == nil {
		return Peer{}, false
	}
	return c.peer, true
}

// Dial begins to protect a face toward the holder of a key: its first handshake begins, and Receive tells when the face
// is up. A key that can't be one is an error.
func (g *Guard) Dial(now machine.Time, face machine.FaceID, key [KeyLen]byte) error {
	peer := PublicKey(key)
	if _, err := peer.exchange(); err != nil {
		return err
	}
	c := &channel{
		face: face, peer: Peer{Key: peer}, dialled: true, taster: newTaster(peer), psk: g.psk(peer),
		retry: now, pause: firstRetry, unanswered: machine.Never, patience: patience,
	}
	g.channels[face] = c
	g.dialled = append(g.dialled, c)
	g.wake = now
	return nil
}

// Close ends the protection of a face.
func (g *Guard) Close(face machine.FaceID) {
	if c := g.channels[face]; c != nil {
		g.end(c)
	}
}

// end forgets a channel and all of its sessions.
func (g *Guard) end(c *channel) {
	if c.face != 0 {
		delete(g.channels, c.face)
	}
	g.dialled = without(g.dialled, c)
	g.outgoing = without(g.outgoing, c)
	g.rest(c)
	if g.last == c {
		g.last = nil
	}
}

func (g *Guard) forget(s *session) {
	if s != nil {
		delete(g.byIndex, s.local)
		g.halfOpen = without(g.halfOpen, s)
	}
}

func without[T comparable](all []T, v T) []T {
	for i := range all {
		if all[i] == v {
			return append(all[:i], all[i+1:]...)
		}
	}
	return all
}

// Closed appends the faces that the Guard has ended since the last call.
func (g *Guard) Closed(dst []machine.FaceID) []machine.FaceID {
	dst = append(dst, g.closed...)
	g.closed = g.closed[:0]
	return dst
}

// newIndex draws an index that nobody has.
func (g *Guard) newIndex() (uint32, error) {
	for {
		var b [3]byte
		if _, err := io.ReadFull(g.cfg.Random, b[:]); err != nil {
			return 0, err
		}
		i := index24(b[:])
		if i != 0 && g.byIndex[i] == nil && g.pending[i] == nil {
			return i, nil
		}
	}
}

// Seal appends the protected form of a datagram of face to dst; nothing is appended when there is no session. Padding
// is put into the capacity of plain.
func (g *Guard) Seal(now machine.Time, face machine.FaceID, dst, plain []byte) []byte {
	c := g.last
	if c == nil || c.face != face {
		if c = g.channels[face]; c == nil {
			return dst
		}
		g.last = c
	}
	s := c.current
	if s == nil || !s.alive(now) {
		return dst
	}
	if c.dialled {
		g.noteSent(now, c)
	}
	return s.seal(dst, pad(plain, g.cfg.Padding))
}

func (g *Guard) noteSent(now machine.Time, c *channel) {
	c.sent = now
	if c.unanswered == machine.Never {
		c.unanswered = now
	}
	g.wake = min(g.wake, c.deadline())
	if c.current.sent >= renewCount {
		g.wake = now
	}
}

// pad fills plain with zeros up to a multiple of n, as far as its capacity allows.
func pad(plain []byte, n int) []byte {
	if n <= 1 || len(plain) == 0 {
		return plain
	}
	size := min((len(plain)+n-1)/n*n, cap(plain))
	for len(plain) < size {
		plain = append(plain, 0)
	}
	return plain
}
