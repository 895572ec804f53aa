package secure

import "mars/internal/machine"

// Deadline is the next moment at which Advance has something to do.
func (g *Guard) Deadline() machine.Time { return g.wake }

// Advance fires the timers due by now.
func (g *Guard) Advance(now machine.Time) {
	if now < g.wake {
		return
	}
	g.wake = machine.Never
	for len(g.halfOpen) > 0 && g.halfOpen[0].born+halfOpenLife <= now {
		g.giveUp(g.halfOpen[0])
	}
	if len(g.halfOpen) > 0 {
		g.wake = g.halfOpen[0].born + halfOpenLife
	}
	for _, c := range g.dialled {
		g.advance(now, c)
		g.wake = min(g.wake, c.deadline())
	}
}

// advance does what is due of a channel that we dialled.
func (g *Guard) advance(now machine.Time, c *channel) {
	switch {
	case c.retry <= now:
		g.initiate(now, c)
	case c.current == nil || c.hs != nil:
	case c.current.aging(now):
		g.initiate(now, c)
	case c.unanswered != machine.Never && c.unanswered+c.patience <= now:
		c.unanswered = now
		c.patience = min(2*c.patience, maxPatience)
		g.initiate(now, c)
	case c.sent+keepAlive <= now:
		g.say(c, ping)
	}
}

// initiate begins a handshake, in place of one that is under way.
func (g *Guard) initiate(now machine.Time, c *channel) {
	if c.hs != nil {
		delete(g.pending, c.index)
		c.hs = nil
	}
	c.retry = now + c.pause + c.pause*machine.Time(g.jitter())/1024
	c.pause = min(2*c.pause, lastRetry)
	hs, err := newInitiator(g.cfg.Key, c.peer.Key, c.psk, g.cfg.Random)
	if err != nil {
		return // of randomness; it is tried again
	}
	index, err := g.newIndex()
	if err != nil {
		return
	}
	hi := hello{key: g.cfg.Key.Public(), certificate: g.cfg.Certificate}
	if c.current != nil {
		hi.previous = c.current.remote
	}
	if g.cfg.AES {
		hi.ciphers = 1
	}
	m, err := writeInitiation(hs, index, hi)
	if err != nil {
		return
	}
	c.hs, c.index = hs, index
	g.pending[index] = c
	c.outbox = c.taster.sign(now, m)
	g.send(c)
}

// jitter is 0…255, so that nodes that started together don't stay together.
func (g *Guard) jitter() byte {
	var b [1]byte
	_, _ = g.cfg.Random.Read(b[:])
	return b[0]
}

// say sends a ping or a pong.
func (g *Guard) say(c *channel, what byte) {
	c.reply = what
	g.send(c)
}

func (g *Guard) send(c *channel) {
	for _, o := range g.outgoing {
		if o == c {
			return
		}
	}
	g.outgoing = append(g.outgoing, c)
}

// Transmit writes the Guard's next own datagram into buf, which must have 1,200 bytes, and tells by which face it is to
// leave. 0: there is none.
func (g *Guard) Transmit(now machine.Time, buf []byte) (face machine.FaceID, n int) {
	if len(g.farewell) > 0 {
		p := g.farewell[0]
		g.farewell = g.farewell[1:]
		return p.face, copy(buf, p.datagram)
	}
	for len(g.outgoing) > 0 {
		c := g.outgoing[0]
		switch {
		case c.outbox != nil:
			n = copy(buf, c.outbox)
			c.outbox = nil
		case c.reply != 0 && c.current != nil && c.current.alive(now):
			n = len(c.current.seal(buf[:0], []byte{c.reply}))
			if c.dialled {
				c.sent = now
				if c.reply == ping && c.unanswered == machine.Never {
					c.unanswered = now
				}
				g.wake = min(g.wake, c.deadline())
			}
			c.reply = 0
		default:
			c.reply = 0
		}
		if c.outbox == nil && c.reply == 0 {
			g.outgoing = without(g.outgoing, c)
		}
		if n > 0 {
			return c.face, n
		}
	}
	return 0, 0
}
