package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// hasData tells whether the stream has something to send that the peer takes.
func (c *quicConn) hasData() bool { return c.secured && c.out.wants() }

// gives tells whether a path is the one that data should go by now.
func (c *quicConn) gives(now machine.Time, p *quicPath) bool {
	if !c.hasData() || !p.room(now) {
		return false
	}
	for i := range c.all {
		q := c.all[i]
		if q != p && c.before(q, p) && !q.held(now) && q.room(now) {
			return false
		}
	}
	return true
}

// before tells whether the scheduler prefers q to p.
func (c *quicConn) before(q, p *quicPath) bool {
	if c.how.Scheduler == RoundRobin {
		n := len(c.all)
		return (q.index-c.turn+n)%n < (p.index-c.turn+n)%n
	}
	return q.out.srtt < p.out.srtt || q.out.srtt == p.out.srtt && q.index < p.index
}

// held tells whether a path could have sent, but its driver hasn't asked: its socket is full.
func (p *quicPath) held(now machine.Time) bool { return p.offered != 0 && p.offered < now }

// best is the usable path with the least round-trip time; nil: there is none.
func (c *quicConn) best() *quicPath {
	var best *quicPath
	for _, p := range c.all {
		if p.usable() && (best == nil || p.out.srtt < best.out.srtt) {
			best = p
		}
	}
	return best
}

// teller is the path that carries frames that may go by any.
func (c *quicConn) teller() *quicPath {
	if p := c.best(); p != nil {
		return p
	}
	return c.all[0]
}

// assign gives a path its controller as mp-quic did: CUBIC to the path that the connection begins with, OLIA to all others. Once there
// are others mp-quic sends no data by the first, but makes another path of the same two addresses: here the first one changes its
// controller and begins anew.
func (c *quicConn) assign(now machine.Time, p *quicPath) {
	if len(c.all) == 1 || c.sum.Paths == 1 {
		c.controlBy(now, p, newControl(named("cubic-mpquic"), p.mtu))
		return
	}
	olia := c.common(p.mtu, named("olia-mpquic"))
	c.controlBy(now, p, olia)
	if first := c.all[0]; c.sum.Paths == 2 && first != p {
		c.controlBy(now, first, olia)
	}
}

func named(name string) cc.Algorithm {
	a, err := cc.Lookup(name)
	if err != nil {
		panic(err) // it is of this module
	}
	return a
}
