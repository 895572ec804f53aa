package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// pathState is how far a path of QUIC has come.
type pathState uint8

const (
	pathShut     pathState = iota // nothing may go by it yet
	pathOpening                   // path 0 shakes hands; another asks whether the peer is there (RFC 9000 §8.2)
	pathStanding                  // it carries data
)

const (
	// failAfter is how many probe timeouts in a row make a path potentially failed, if there is another.
	failAfter = 2
	// probeEvery bounds how long a path that is back goes unnoticed.
	probeEvery = machine.Second
)

// quicPath is one path of a connection, with packet numbers of its own both ways.
type quicPath struct {
	c     *quicConn
	index int
	id    int // of the path, the same at both ends
	face  machine.FaceID
	state pathState
	up    bool
	mtu   int // bytes of a datagram

	valid     bool // the peer is there: the server may send as much as it likes
	asks      bool // a PATH_CHALLENGE has to go
	challenge uint64
	answers   bool // a PATH_RESPONSE has to go
	response  uint64
	in        inNumbers
	out       outNumbers
	failed    bool         // potentially: nothing new goes by it until something is acknowledged
	offered   machine.Time // since when it has been ready and not been asked to transmit; 0: it isn't
	paceAt    machine.Time

	control    cc.Controller
	flow       cc.Subflow
	controlled bool

	sentBytes, gotBytes int64 // of the stream
	wireOut, wireIn     int64 // of datagrams, for the limit before validation
	lostPackets         int64
}

func newQUICPath(c *quicConn, id int, face machine.FaceID) *quicPath {
	return &quicPath{c: c, index: len(c.all), id: id, face: face, in: newInNumbers(), out: newOutNumbers()}
}

// usable tells whether new data may go by the path.
func (p *quicPath) usable() bool { return p.state == pathStanding && p.up && !p.failed }

func (p *quicPath) window() int {
	if !p.controlled {
		return 0
	}
	return p.control.Cwnd(p.flow)
}

// room tells whether the path's congestion window and pace let it send data now.
func (p *quicPath) room(now machine.Time) bool {
	if !p.usable() {
		return false
	}
	if p.out.flying+p.mtu > p.window() {
		p.out.limited = p.out.next
		return false
	}
	return now >= p.paceAt
}

// allowed is how many bytes may go by a path whose peer might be someone else (RFC 9000 §8.1, §9.3.1).
func (p *quicPath) allowed() int {
	if p.c.client || p.valid {
		return p.mtu
	}
	return int(min(3*p.wireIn-p.wireOut, int64(p.mtu)))
}

// open begins to validate a path.
func (p *quicPath) open() {
	if p.state == pathShut && p.up {
		p.state, p.asks, p.challenge = pathOpening, true, p.c.host.random.Uint64()
	}
}

// stand lets a path carry data.
func (p *quicPath) stand(now machine.Time) {
	if p.state != pathStanding {
		p.state, p.valid = pathStanding, true
		p.c.stood(now, p)
	}
}

// fail takes a path for dead, and has other paths send what is under way on it. As in mp-quic it goes on to be probed.
func (p *quicPath) fail(now machine.Time) {
	p.failed = true
	for n := p.out.first; n < p.out.next; n++ {
		p.rescue(p.out.at(n))
	}
	p.setTimer(now)
}

// rescue has what a packet carried sent again, once, though the packet may still arrive.
func (p *quicPath) rescue(s *quicSent) {
	if s.state != quicFlying || s.rescued {
		return
	}
	s.rescued = true
	p.c.lostFrames(s)
}

// others tells whether a path is usable beside p.
func (p *quicPath) others() bool {
	for _, q := range p.c.all {
		if q != p && q.usable() {
			return true
		}
	}
	return false
}

// pace notes that a packet of n bytes goes: the next has to wait, after a burst.
func (p *quicPath) pace(now machine.Time, n int) {
	if !p.c.how.Pace {
		return
	}
	rate := p.control.PacingRate(p.flow)
	if rate <= 0 {
		return
	}
	burst := machine.Time(float64(float64(paceBurst*p.mtu) / rate * 1e9))
	p.paceAt = max(now-burst, p.paceAt) + machine.Time(float64(float64(n)/rate*1e9))
	p.c.arm(p.paceAt)
}

// paceBurst is how many packets go at once after a pause (RFC 9002 §7.7: no more than the initial window).
const paceBurst = 10
