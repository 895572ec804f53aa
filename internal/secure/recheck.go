package secure

import (
	"errors"
	"maps"
	"slices"

	"mars/internal/machine"
)

// SetCertificate replaces ours, of at most MaxCertificate bytes, and shows it to all peers: keys of sessions change, faces
// stay.
func (g *Guard) SetCertificate(now machine.Time, certificate []byte) {
	g.cfg.Certificate = certificate
	for _, face := range slices.Sorted(maps.Keys(g.channels)) {
		switch c := g.channels[face]; {
		case c.dialled:
			c.again(now)
		case c.current != nil:
			g.say(c, renew)
		}
	}
	g.wake = now
}

// Recheck asks Admit and Keep again about every peer, and parts with those that aren't welcome any more. Call it when what
// they know has changed.
func (g *Guard) Recheck(now machine.Time) { g.recheck(now, func(*channel) bool { return true }) }

// Expire is Recheck of the peers whose time is over.
func (g *Guard) Expire(now machine.Time) {
	wall := g.cfg.Wall()
	g.recheck(now, func(c *channel) bool { return c.peer.Expires != 0 && c.peer.Expires < wall })
}

func (g *Guard) recheck(now machine.Time, due func(*channel) bool) {
	for _, face := range slices.Sorted(maps.Keys(g.channels)) {
		c := g.channels[face]
		judge := g.cfg.Admit
		if c.dialled {
			judge = g.cfg.Keep
		}
		if judge == nil || !due(c) || c.dialled && c.current == nil {
			continue
		}
		peer, err := judge(g.cfg.Wall(), c.peer.Key, c.proof)
		switch {
		case err == nil:
			c.peer = peer
		case c.dialled:
			g.tell(Event{PeerClosed, face, c.peer, err})
			g.part(c, err)
			c.again(now) // it may have a better certificate by now
			g.wake = now
		default:
			g.tell(Event{PeerClosed, face, c.peer, err})
			g.closed = append(g.closed, face)
			g.end(c)
		}
	}
}

// again has a channel that we dialled shake hands now.
func (c *channel) again(now machine.Time) { c.retry, c.pause = now, firstRetry }

// parting is a sealed refusal on its way to the peer of a face.
type parting struct {
	face     machine.FaceID
	datagram []byte
}

// part ends the sessions of a channel that we dialled, and tells the peer why.
func (g *Guard) part(c *channel, why error) {
	if s := c.current; s != nil {
		reason := ""
		if r, ok := errors.AsType[*Refusal](why); ok {
			reason = r.Reason
		}
		g.farewell = append(g.farewell, parting{c.face, s.seal(nil, append([]byte{refusal, 0}, reason...))})
	}
	g.rest(c)
}

// rest ends the sessions of a channel, and its handshake.
func (g *Guard) rest(c *channel) {
	for _, s := range c.sessions() {
		g.forget(s)
	}
	if c.hs != nil {
		delete(g.pending, c.index)
	}
	c.current, c.previous, c.next, c.hs, c.reply = nil, nil, nil, nil, 0
}

// private handles what a peer's Guard says to ours by a session.
func (g *Guard) private(now machine.Time, c *channel, content []byte) {
	switch {
	case content[0] == ping && len(content) == 1:
		g.say(c, pong)
	case content[0] == renew && len(content) == 1 && c.dialled && c.hs == nil && c.current != nil:
		c.retry, c.pause = max(now, c.current.born+renewPause), firstRetry
		g.wake = min(g.wake, c.retry)
	case content[0] == refusal && !c.dialled:
		g.refused(c, content)
	}
}

// refused ends a channel whose peer, which dialled us, doesn't want us.
func (g *Guard) refused(c *channel, content []byte) {
	reason := content[min(2, len(content)):min(2+maxReason, len(content))]
	g.tell(Event{RefusedUs, c.face, c.peer, &Refusal{printable(string(reason))}})
	if c.face != 0 {
		g.closed = append(g.closed, c.face)
	}
	g.end(c)
}
