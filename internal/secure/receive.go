package secure

import (
	"errors"

	"github.com/flynn/noise"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Owns tells whether a datagram begins as ours do.
func (g *Guard) Owns(datagram []byte) bool {
	return len(datagram) > 0 && datagram[0] >= typeInitiation && datagram[0] <= typeSession
}

// Receive handles one datagram from the wire. source is the address that it came from, in any form that is the same
// every time; what it carries is appended to dst. The result is valid until the next call.
func (g *Guard) Receive(now machine.Time, source, datagram, dst []byte) machine.Arrival {
	if len(datagram) < headerLen+tagLen {
		return g.drop(DropMalformed)
	}
	switch datagram[0] {
	case typeSession:
		return g.receiveSession(now, datagram, dst)
	case typeInitiation:
		if len(datagram) == initiationLen {
			return g.receiveInitiation(now, source, datagram)
		}
	case typeResponse:
		if len(datagram) >= minResponse && len(datagram) <= initiationLen {
			return g.receiveResponse(now, datagram)
		}
	case typeCookie:
		if len(datagram) == cookieLen {
			return g.receiveCookie(now, datagram)
		}
	}
	return g.drop(DropMalformed)
}

func (g *Guard) drop(why Drop) machine.Arrival {
	g.counts[why]++
	return machine.Arrival{}
}

func (g *Guard) receiveSession(now machine.Time, datagram, dst []byte) machine.Arrival {
	s := g.byIndex[index24(datagram[1:])]
	if s == nil || !s.alive(now) {
		return g.drop(DropNoSession)
	}
	plain, newest, why := s.open(dst, datagram)
	if why != 0 {
		return g.drop(why)
	}
	c := s.channel
	up := false
	if s == c.next && len(plain) > len(dst) && plain[len(dst)] == refusal {
		g.refused(c, plain[len(dst):])
		return machine.Arrival{}
	}
	if s == c.next {
		var ok bool
		if up, ok = g.confirm(c); !ok {
			return g.drop(DropBusy)
		}
	}
	c.heard()
	a := machine.Arrival{Face: c.face, Up: up, Newest: newest && s == c.current}
	content := plain[len(dst):]
	if len(content) > 0 && content[0] != 0 && content[0] <= privates {
		g.private(now, c, content)
		return a
	}
	if g.cfg.Padding > 0 || len(content) > 0 && content[len(content)-1] == 0 {
		content = trim(content)
	}
	a.Plain = content
	return a
}

// trim takes the padding off: a datagram of the Machine is one TLV element.
func trim(content []byte) []byte {
	if n, err := wire.FrameLen(content, wire.MaxPacket); err == nil && n > 0 && n < len(content) {
		return content[:n]
	}
	return content
}

// confirm makes the session that the peer has shown to know the current one; false: there is no face for it.
func (g *Guard) confirm(c *channel) (up, ok bool) {
	if c.face == 0 {
		id, ok := g.cfg.NewFace()
		if !ok {
			return false, false
		}
		c.face = id
		g.channels[id] = c
	}
	g.halfOpen = without(g.halfOpen, c.next)
	g.install(c, c.next)
	c.next = nil
	if c.up {
		return false, true
	}
	c.up = true
	g.tell(Event{PeerUp, c.face, c.peer, nil})
	return true, true
}

// install makes s the session that we send with.
func (g *Guard) install(c *channel, s *session) {
	g.forget(c.previous)
	c.previous, c.current = c.current, s
}

func (g *Guard) receiveInitiation(now machine.Time, source, datagram []byte) machine.Arrival {
	if !g.bakery.knows(datagram) {
		return g.drop(DropNoKey)
	}
	mac1 := [macLen]byte(datagram[len(datagram)-macsLen:])
	if _, known := g.seen[mac1]; known {
		return g.drop(DropReplayed)
	}
	if g.bakery.owns(now, source, datagram) {
		if !g.proved.take(now) {
			return g.drop(DropBusy)
		}
	} else if !g.plain.take(now) {
		reply, err := g.bakery.bake(now, g.buf[:0], source, datagram)
		if err != nil {
			return g.drop(DropBusy)
		}
		g.buf = reply
		g.counts[DropNoCookie]++
		return machine.Arrival{Reply: reply}
	}
	reply, why := g.respond(now, datagram)
	if why != 0 {
		g.counts[why]++
	}
	if why != DropBusy { // else it hasn't been looked at to the end
		g.remember(mac1)
	}
	return machine.Arrival{Reply: reply}
}

// remember lets an initiation be known when it comes again.
func (g *Guard) remember(mac1 [macLen]byte) {
	delete(g.seen, g.order[g.oldest])
	g.order[g.oldest] = mac1
	g.seen[mac1] = struct{}{}
	g.oldest = (g.oldest + 1) % replayMemory
}

// respond answers an initiation.
func (g *Guard) respond(now machine.Time, message []byte) ([]byte, Drop) {
	hs, err := newResponder(g.cfg.Key, g.cfg.Random)
	if err != nil {
		return nil, DropBusy
	}
	hi, err := readInitiation(hs, message)
	if err != nil {
		return nil, DropHandshake
	}
	peer, err := Peer{}, error(ErrUnknown)
	if g.cfg.Admit != nil {
		peer, err = g.cfg.Admit(g.cfg.Wall(), hi.key, hi.certificate)
	}
	index, drawn := g.newIndex()
	if drawn != nil {
		return nil, DropBusy
	}
	remote := index24(message[1:])
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		peer.Key = hi.key
		g.tell(Event{PeerRefused, 0, peer, refusal})
		reply, _ := g.finish(now, hs, hi.key, index, remote, answer{reason: refusal.Reason})
		return reply, DropRefused
	case err != nil:
		return nil, DropUnknownKey
	}
	kind := byte(cipherChaCha)
	if g.cfg.AES && hi.ciphers&1 != 0 {
		kind = cipherAES
	}
	reply, k := g.finish(now, hs, hi.key, index, remote, answer{cipher: kind, certificate: g.cfg.Certificate})
	if reply == nil {
		return nil, DropHandshake
	}
	c := g.follows(hi)
	if c == nil {
		c = &channel{unanswered: machine.Never}
	}
	c.peer, c.proof = peer, append([]byte(nil), hi.certificate...)
	g.forget(c.next)
	c.next = &session{
		channel: c, local: index, remote: remote, born: now, send: newAEAD(kind, k.responder), recv: newAEAD(kind, k.initiator),
	}
	g.byIndex[index] = c.next
	g.halfOpen = append(g.halfOpen, c.next)
	if len(g.halfOpen) > maxHalfOpen {
		g.giveUp(g.halfOpen[0])
	}
	g.wake = min(g.wake, now+halfOpenLife)
	return reply, 0
}

// finish writes a response, authenticators included; nil if it fails.
func (g *Guard) finish(now machine.Time, hs *noise.HandshakeState, to PublicKey, index, remote uint32, a answer) ([]byte, keys) {
	m, k, err := writeResponse(hs, g.psk(to), index, remote, a)
	if err != nil {
		return nil, keys{}
	}
	t := taster{mac1: macKey(mac1Label, to)}
	g.buf = t.sign(now, m)
	return g.buf, k
}

// follows returns the channel that an initiation goes on with; nil: it begins one.
func (g *Guard) follows(hi hello) *channel {
	s := g.byIndex[hi.previous]
	if hi.previous == 0 || s == nil || s.channel.dialled || s.channel.peer.Key != hi.key {
		return nil
	}
	return s.channel
}

// giveUp ends a session that nothing has come by.
func (g *Guard) giveUp(s *session) {
	c := s.channel
	g.forget(s)
	if c.next == s {
		c.next = nil
	}
}

func (g *Guard) receiveResponse(now machine.Time, datagram []byte) machine.Arrival {
	if !g.bakery.knows(datagram) {
		return g.drop(DropNoKey)
	}
	index := index24(datagram[4:])
	c := g.pending[index]
	if c == nil {
		return g.drop(DropNoSession)
	}
	if !g.proved.take(now) { // who answers with garbage may know an index by listening
		return g.drop(DropBusy)
	}
	a, k, err := readResponse(c.hs, datagram)
	if err != nil {
		// The library's state is back where it was before a message that fails: the true response may still come.
		return g.drop(DropHandshake)
	}
	delete(g.pending, index)
	c.hs, c.pause = nil, firstRetry
	c.heard()
	if a.cipher == 0 {
		g.rest(c) // the peer has ended them, or should
		c.retry, c.pause = now+refusedFor, refusedFor
		g.wake = min(g.wake, c.retry)
		g.tell(Event{RefusedUs, c.face, c.peer, &Refusal{printable(a.reason)}})
		return machine.Arrival{}
	}
	s := &session{
		channel: c, local: index, remote: index24(datagram[1:]), born: now,
		send: newAEAD(a.cipher, k.initiator), recv: newAEAD(a.cipher, k.responder),
	}
	g.byIndex[index] = s
	g.install(c, s)
	c.proof = a.certificate
	if err := g.keep(c); err != nil {
		g.tell(Event{PeerRefused, c.face, c.peer, err})
		g.part(c, err)
		c.retry, c.pause = now+refusedFor, refusedFor
		g.wake = min(g.wake, c.retry)
		return machine.Arrival{}
	}
	c.retry, c.sent = machine.Never, now
	g.wake = min(g.wake, c.deadline())
	g.say(c, pong) // so that the peer uses the session too
	up := !c.up
	c.up = true
	if up {
		g.tell(Event{PeerUp, c.face, c.peer, nil})
	}
	return machine.Arrival{Face: c.face, Up: up}
}

// keep judges the peer of a channel that we dialled by what it has just shown.
func (g *Guard) keep(c *channel) error {
	if g.cfg.Keep == nil {
		return nil
	}
	peer, err := g.cfg.Keep(g.cfg.Wall(), c.peer.Key, c.proof)
	if err == nil {
		c.peer = peer
	}
	return err
}

// printable makes a peer's text fit for a log.
func printable(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] < ' ' || b[i] > '~' {
			b[i] = '?'
		}
	}
	return string(b)
}

func (g *Guard) receiveCookie(now machine.Time, datagram []byte) machine.Arrival {
	c := g.pending[index24(datagram[1:])]
	if c == nil {
		return g.drop(DropNoSession)
	}
	had := now < c.taster.until
	if !c.taster.taste(now, datagram) {
		return g.drop(DropForged)
	}
	if !had { // once; if that isn't enough the retries go on as they would
		c.retry = now
		g.wake = now
	}
	return machine.Arrival{}
}
