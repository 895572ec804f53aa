package secure

import (
	"github.com/flynn/noise"

	"mars/internal/machine"
)

// Times of a channel that this side dialled.
const (
	firstRetry = 300 * machine.Millisecond // between two initiations; doubles up to lastRetry
	lastRetry  = 5 * machine.Second
	refusedFor = 30 * machine.Second // until a peer that refused us is asked again

	// Whoever has sent something and hears nothing for so long shakes hands again: the peer may have started anew.
	patience    = 500 * machine.Millisecond
	maxPatience = 16 * machine.Second

	// renewPause is what lies between two handshakes that a peer has asked for.
	renewPause = machine.Second

	// keepAlive is how long nothing may leave before a ping does: the mappings of common NATs live for 30 s without
	// traffic (RFC 4787 §4.3 wants 2 minutes).
	keepAlive = 20 * machine.Second
)

// Contents that begin so are between the Guards: no packet of the Machine does.
const (
	ping     = 1 // to be answered
	pong     = 2
	renew    = 3 // to the side that dialled: shake hands, there is a new certificate
	refusal  = 4 // from the side that dialled: it parts, for the reason that follows a zero
	privates = 4
)

// channel is what protects one face. The side that dialled begins every handshake.
type channel struct {
	face    machine.FaceID // 0: the peer hasn't shown yet that it got our response
	peer    Peer
	proof   []byte // its certificate
	dialled bool
	up      bool // the first session stands

	current  *session // that we send with
	previous *session // that may still come in
	next     *session // made by a response that nothing has come by yet

	// What follows is the dialling side's.
	taster     *taster
	psk        [32]byte
	hs         *noise.HandshakeState // under way; nil: none
	index      uint32                // of the session to be
	retry      machine.Time          // the next initiation; Never: none is due
	pause      machine.Time          // before the one after it
	sent       machine.Time          // last datagram of a session
	unanswered machine.Time          // first datagram after the last one heard; Never: all is answered
	patience   machine.Time          // how long that may last
	outbox     []byte                // the initiation to be sent
	reply      byte                  // ping, pong or renew to be sent; 0: none
}

// deadline is when the channel has something to do.
func (c *channel) deadline() machine.Time {
	if !c.dialled {
		return machine.Never
	}
	at := c.retry
	if c.current != nil && c.hs == nil {
		at = min(at, c.current.born+renewAfter, c.sent+keepAlive)
		if c.unanswered != machine.Never {
			at = min(at, c.unanswered+c.patience)
		}
	}
	return at
}

// heard notes that the peer is there.
func (c *channel) heard() {
	c.unanswered, c.patience = machine.Never, patience
}

// sessions are all that the channel has.
func (c *channel) sessions() [3]*session { return [3]*session{c.current, c.previous, c.next} }
