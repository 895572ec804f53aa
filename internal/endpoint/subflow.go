package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// state is that of a subflow, as far as it matters here (RFC 9293 §3.3.2).
type state uint8

const (
	shut        state = iota // not opened yet, or its face is down
	synSent                  // the client's SYN is under way
	synReceived              // the server's SYN/ACK is
	standing
	gone // it has given up
)

// subflow is a TCP connection over one path. Sequence numbers count from the initial one: 0 is the SYN, 1 the first byte.
type subflow struct {
	c          *conn
	path       int
	face       machine.FaceID
	state      state
	mss        int // bytes of data in a segment
	mtu        int
	own, peer  uint32 // initial sequence numbers
	control    cc.Subflow
	controlled bool
	timed, ecn bool
	scale      uint8 // of the peer's windows
	syn        bool  // one has to be sent
	reset      bool  // and RST
	synAt      machine.Time
	tries      int

	sender
	receiver
	sentBytes, gotBytes int64
	lostSegments        int64
}

// windowScale is that of our own windows: 65535<<8 is more than any buffer in use.
const windowScale = 8

func newSubflow(c *conn, path int, face machine.FaceID) *subflow {
	s := &subflow{c: c, path: path, face: face, own: c.host.random.Uint32()}
	s.sender.init()
	s.receiver.init()
	return s
}

// up tells that the path exists.
func (s *subflow) up(now machine.Time, mtu int) {
	s.mtu, s.silent = mtu, false
	if s.mss == 0 {
		s.mss = mtu - headerSize - timeSize
		if s.c.multi {
			s.mss -= dssSize
		}
	}
	switch {
	case s.c.client && s.state == shut && (s.path == 0 || s.c.sum.Paths > 0):
		s.open(now)
	case s.state == standing:
		s.back(now)
	}
}

// back goes on after an outage. What had timed out is sent again at once; else a probe asks what has come, for an outage is no
// sign of congestion and may have lost nothing.
func (s *subflow) back(now machine.Time) {
	if s.flying > 0 {
		s.probe, s.probeSent, s.probeEnd = true, true, 0
		s.lossAt, s.lossBy = now+s.rto(), timerRTO
		s.c.arm(s.lossAt)
	}
}

// open sends the SYN of a client's subflow.
func (s *subflow) open(now machine.Time) {
	if s.state == shut && s.mtu > 0 {
		s.state, s.syn, s.tries = synSent, true, 0
		s.c.arm(now)
	}
}

// down tells that the path is gone for now: others take over what it has.
func (s *subflow) down(machine.Time) {
	s.silent = true
	s.c.reinject(s)
}

// stop forgets all that is under way.
func (s *subflow) stop() {
	s.state = gone
	s.sender.clear()
	s.syn, s.asks, s.ackNow, s.ackAt = false, false, false, machine.Never
}

// usable tells whether data may be given to the subflow.
func (s *subflow) usable() bool { return s.state == standing && !s.silent }

// receive takes a segment.
func (s *subflow) receive(now machine.Time, ecn machine.ECN, g *segment, payload []byte) {
	switch {
	case g.flags&flagRST != 0:
		if s.state != gone {
			s.stop()
			s.c.dead(ErrReset)
		}
		return
	case s.state == gone || s.state == shut:
		return
	case g.flags&flagSYN != 0:
		s.hello(now, g)
		return
	case s.state == synReceived:
		if g.flags&flagACK == 0 || g.ack != s.own+1 && len(payload) == 0 {
			return
		}
		s.stand(now)
	case s.state != standing:
		return
	}
	s.silent = false
	if s.asked(g, len(payload)) {
		s.ackNow = true
	}
	s.echoed(g, len(payload))
	if len(payload) > 0 || g.flags&flagFIN != 0 {
		s.take(now, ecn, g, payload)
	}
	if g.flags&flagACK != 0 {
		s.onAck(now, g)
	}
}

// hello takes a SYN or SYN/ACK.
func (s *subflow) hello(now machine.Time, g *segment) {
	switch {
	case s.state == synSent && g.flags&flagACK != 0 && g.ack == s.own+1:
		s.negotiate(g)
		s.ecn = s.ecn && g.flags&flagECE != 0
		s.stand(now)
		s.ackNow = true
		if s.tries == 1 {
			s.sample(now, now-s.synAt)
		}
	case s.state == synReceived && g.flags&flagACK == 0:
		s.negotiate(g)
		s.ecn = s.ecn && g.flags&(flagECE|flagCWR) == flagECE|flagCWR
		s.syn = true
	case s.state == standing: // our answer was lost
		s.ackNow = true
	}
}

// negotiate takes what the peer's SYN says.
func (s *subflow) negotiate(g *segment) {
	s.peer = g.seq
	s.timed = g.timed
	s.recent = g.time
	s.scale = 0
	if g.scaled {
		s.scale = g.scale
	}
	s.ecn = s.c.how.ECN
	if g.mss > 0 {
		s.mss = min(s.mss, int(g.mss)-timeSize)
		if s.c.multi {
			s.mss = min(s.mss, int(g.mss)-timeSize-dssSize)
		}
	}
	if s.path == 0 {
		s.c.heard(0, int64(g.window)) // never scaled (RFC 7323 §2.2)
	}
	if g.mp.capable && g.mp.keys > 0 {
		s.c.token = uint32(g.mp.key[0] >> 32)
	}
	if s.c.client && s.path == 0 && s.c.multi && !g.mp.capable { // the peer speaks TCP only
		s.c.multi = false
		for _, o := range s.c.subs[1:] {
			o.stop()
		}
	}
}

func (s *subflow) stand(now machine.Time) {
	s.state, s.syn = standing, false
	s.una, s.rcvNext, s.tries = 1, 1, 0
	if !s.c.client && s.synAt > 0 {
		s.sample(now, now-s.synAt)
	}
	s.c.established(now, s)
}

// window32 takes the peer's window: about the data, whose acknowledgement is in ack or in MPTCP's option.
func (s *subflow) window32(g *segment, ack int64) {
	w := int64(g.window) << s.scale
	switch {
	case !s.c.multi:
		s.c.heard(max(ack-1, 0), w)
	case g.mp.acked:
		s.c.heard(near(g.mp.dataAck, s.c.acked), w)
	}
}

// advance fires what is due.
func (s *subflow) advance(now machine.Time) {
	switch {
	case s.state == synSent || s.state == synReceived:
		if s.synAt > 0 && now >= s.synAt+s.c.kernel(synTimeout)<<(s.tries-1) {
			if s.tries > synTries {
				s.stop()
				s.c.dead(ErrTimeout)
				return
			}
			s.syn = true
		}
	case s.state == standing:
		if now >= s.ackAt {
			s.ackNow, s.ackAt = true, machine.Never
		}
		if now >= s.lossAt {
			s.fire(now)
		}
	}
}

// The timer of SYNs (RFC 6298 §2.1), and how often they are repeated (Linux, tcp_syn_retries).
const (
	synTimeout = machine.Second
	synTries   = 6
)

// deadline is when advance has something to do.
func (s *subflow) deadline(now machine.Time) machine.Time {
	switch {
	case (s.state == synSent || s.state == synReceived) && !s.syn && s.synAt > 0:
		return s.synAt + s.c.kernel(synTimeout)<<(s.tries-1)
	case s.state != standing:
		return machine.Never
	}
	at := min(s.ackAt, s.lossAt)
	if s.paceAt > now && s.wants() {
		at = min(at, s.paceAt)
	}
	return at
}

// ready tells whether there is something to transmit.
func (s *subflow) ready(now machine.Time) bool {
	return s.syn || s.reset || s.ackNow || s.asks || s.state == standing && s.wants() && now >= s.paceAt
}

// transmit writes the next segment.
func (s *subflow) transmit(now machine.Time, buf []byte) (int, machine.ECN) {
	switch {
	case s.reset:
		s.reset = false
		g := segment{flags: flagRST | flagACK}
		s.head(now, &g, 1)
		return g.append(buf), machine.NotECT
	case s.syn:
		return s.sendSYN(now, buf), machine.NotECT
	case s.state == standing && now >= s.paceAt:
		if p := s.nextToSend(now); p != nil {
			return s.sendData(now, p, buf)
		}
	}
	if s.ackNow || s.asks {
		return s.sendAck(now, buf), machine.NotECT
	}
	return 0, machine.NotECT
}

// sendAck writes a segment without data: an acknowledgement, or a question for the peer's window.
func (s *subflow) sendAck(now machine.Time, buf []byte) int {
	seq := s.end64()
	if s.asks {
		s.asks = false
		seq--
	}
	g := segment{flags: flagACK}
	s.head(now, &g, seq)
	if s.c.multi {
		g.mp.acked, g.mp.dataAck = true, uint32(s.c.in.next)
	}
	s.selective(&g)
	s.acknowledged()
	return g.append(buf)
}

// head fills what every segment has.
func (s *subflow) head(now machine.Time, g *segment, seq int64) {
	g.source, g.dest = s.ports()
	g.seq, g.ack = s.own+uint32(seq), s.peer+uint32(s.rcvNext)
	g.window = uint16(min(s.c.buffer()>>windowScale, 1<<16-1))
	g.timed, g.time, g.echo = true, stampOf(now), s.recent
	if s.tellMark {
		g.flags |= flagECE
	}
}

// ports are the well-known one at the server, and one after the path at the client.
func (s *subflow) ports() (source, dest uint16) {
	const known, first = 80, 49152
	if s.c.client {
		return first + uint16(s.path), known
	}
	return known, first + uint16(s.path)
}

// stampOf is the timestamp of a time: microseconds.
func stampOf(now machine.Time) uint32 { return uint32(now / machine.Microsecond) }

func (s *subflow) sendSYN(now machine.Time, buf []byte) int {
	var g segment
	s.head(now, &g, 0)
	g.flags = flagSYN
	g.mss = uint16(min(s.mtu-headerSize, 1<<16-1))
	g.scaled, g.scale, g.sackOK = true, windowScale, true
	switch {
	case s.state == synReceived:
		g.flags |= flagACK
		g.ack = s.peer + 1
		if s.ecn {
			g.flags |= flagECE
		}
	case s.c.how.ECN:
		g.flags |= flagECE | flagCWR
	}
	if s.state == synSent {
		g.ack = 0
	}
	switch {
	case !s.c.multi:
	case s.path > 0:
		g.mp.join, g.mp.token = true, s.c.token
	default:
		g.mp.capable = true
		if !s.c.client {
			g.mp.keys, g.mp.key[0] = 1, s.c.key
		}
	}
	g.window = uint16(min(s.c.buffer(), 1<<16-1)) // never scaled (RFC 7323 §2.2)
	s.syn, s.synAt = false, max(now, 1)
	s.tries++
	s.c.arm(s.synAt + s.c.kernel(synTimeout)<<(s.tries-1))
	return g.append(buf)
}
