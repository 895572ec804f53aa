package endpoint

import (
	"encoding/binary"

	"mars/cc"
	"mars/internal/machine"
)

// sender is the half of a subflow that sends data: what has been given to it, in a ring, and the detection of losses.
type sender struct {
	ring        []sent // by number; a power of two
	first, last int64  // numbers of those not acknowledged in order: [first, last)
	unsent      int64  // number of the first that was never sent
	una, end    int64  // sequence numbers: all before una is acknowledged; the next segment begins at end
	flying      int    // bytes under way
	queued      int    // bytes never sent
	lostBytes   int    // bytes taken for lost and not sent again
	sackedCount int    // segments that the peer has out of order
	lost        []int64
	lostHead    int
	oldest      int64 // of those under way, in the order of sending; −1: none
	newest      int64
	seen        [maxSacks]gap // SACK ranges of the last acknowledgement
	cwnd        int           // the controller's window, bytes
	limited     int64         // the window was full when what is before this had been sent

	srtt, rttvar, minRTT machine.Time
	backoff              int
	rack                 rack
	lossAt               machine.Time
	lossBy               timer
	recovery             int64   // sequence number at which it ends
	repairAt             uint32  // timestamp of its first retransmission
	repaired             bool    // there was one
	spoilt               bool    // a reaction may still turn out spurious
	cwrEnd               int64   // marks before it have been reacted to
	cwr                  bool    // the peer must be told
	limit                float64 // window of a subflow that was penalised; 0: none
	punished             machine.Time
	paceAt               machine.Time
	silent               bool // nothing has come since a timeout: no new data
	urgent               bool // a recovery's first retransmission goes whatever the window (RFC 6675 §5 step 4.3)
	asks                 bool // the peer must be asked for its window
	probe                bool // a tail loss probe has to be sent, whatever the window
	probeEnd             int64
	probeStamp           uint32
	probeSent            bool
}

type segmentState uint8

const (
	queued segmentState = iota
	flying
	lost
	sacked
)

// sent is one segment that was given to a subflow.
type sent struct {
	seq        int64
	data       int64
	at         machine.Time // when it was sent last
	prev, next int64        // in the order of sending; −1: none
	length     int32
	state      segmentState
	resent     bool
	elsewhere  bool // another subflow has it too
	fin        bool
}

func (p *sent) past() int64 { return p.seq + int64(p.length) }

func (s *sender) init() {
	s.end, s.una, s.oldest, s.newest, s.lossAt = 1, 1, -1, -1, machine.Never
}

func (s *sender) clear() {
	s.first, s.unsent, s.flying, s.queued, s.lostBytes = s.last, s.last, 0, 0, 0
	s.lost, s.lostHead, s.lossAt, s.oldest, s.newest = s.lost[:0], 0, machine.Never, -1, -1
}

func (s *sender) at(id int64) *sent { return &s.ring[id&int64(len(s.ring)-1)] }

// end64 is the sequence number behind all that was sent.
func (s *subflow) end64() int64 {
	if s.unsent < s.last {
		return s.at(s.unsent).seq
	}
	return s.end
}

// assign gives data to the subflow.
func (s *subflow) assign(from int64, n int) {
	if int(s.last-s.first) == len(s.ring) {
		s.grow()
	}
	p := s.at(s.last)
	fin := !s.c.client && from+int64(n) == s.c.size
	*p = sent{seq: s.end, data: from, length: int32(n), prev: -1, next: -1, fin: fin}
	s.last++
	s.end += int64(n)
	if fin && !s.c.multi {
		s.end++
	}
	s.queued += n
}

func (s *sender) grow() {
	old := s.ring
	s.ring = make([]sent, max(2*len(old), 64))
	for id := s.first; id < s.last; id++ {
		*s.at(id) = old[id&int64(len(old)-1)]
	}
}

// window is what may be under way, bytes.
func (s *subflow) window() int {
	if !s.controlled {
		return 0
	}
	if s.limit > 0 {
		return min(s.cwnd, int(s.limit))
	}
	return s.cwnd
}

// rewindow takes the controller's window over, after the controller has been told something of the subflow.
func (s *subflow) rewindow() { s.cwnd = s.c.ctrl.Cwnd(s.control) }

// room tells whether the window has room for a new segment.
func (s *subflow) room() bool {
	if !s.usable() {
		return false
	}
	if s.flying+s.lostBytes+s.queued+s.mss > s.window() {
		s.limited = s.end
		return false
	}
	return true
}

// wants tells whether there is data to send that the window has room for.
func (s *subflow) wants() bool {
	switch {
	case s.probe:
		return true
	case s.lostBytes == 0 && s.unsent == s.last:
		return false
	}
	if s.flying == 0 || s.urgent && s.lostBytes > 0 || s.flying+s.mss <= s.window() {
		return true
	}
	s.limited = s.end64()
	return false
}

// nextToSend is the next segment to send: a probe, what is lost, what is new; nil: nothing now.
func (s *subflow) nextToSend(now machine.Time) *sent {
	if s.probe {
		s.probe = false
		if p := s.probeSegment(now); p != nil {
			return p
		}
	}
	if !s.wants() {
		return nil
	}
	for s.lostHead < len(s.lost) {
		id := s.lost[s.lostHead]
		if s.lostHead++; s.lostHead == len(s.lost) {
			s.lost, s.lostHead = s.lost[:0], 0
		}
		if id < s.first {
			continue
		}
		if p := s.at(id); p.state == lost {
			s.resend(now, id)
			return p
		}
	}
	if s.unsent < s.last {
		id := s.unsent
		s.unsent++
		p := s.at(id)
		s.queued -= int(p.length)
		s.fly(now, id)
		s.c.sum.Segments++
		return p
	}
	return nil
}

// resend sends a lost segment again.
func (s *subflow) resend(now machine.Time, id int64) {
	p := s.at(id)
	s.lostBytes -= int(p.length)
	p.resent, s.urgent = true, false
	s.fly(now, id)
	s.c.sum.Resent++
	if s.spoilt && !s.repaired {
		s.repaired, s.repairAt = true, stampOf(now)
	}
}

// fly puts a segment under way.
func (s *subflow) fly(now machine.Time, id int64) {
	p := s.at(id)
	p.state, p.at = flying, now
	s.flying += int(p.length)
	s.link(id)
	if s.lossAt == machine.Never || s.lossBy == timerPersist {
		s.setTimer(now)
	}
}

// link makes a segment the newest of those under way.
func (s *sender) link(id int64) {
	p := s.at(id)
	p.prev, p.next = s.newest, -1
	if s.newest >= 0 {
		s.at(s.newest).next = id
	} else {
		s.oldest = id
	}
	s.newest = id
}

func (s *sender) unlink(id int64) {
	p := s.at(id)
	if p.prev >= 0 {
		s.at(p.prev).next = p.next
	} else {
		s.oldest = p.next
	}
	if p.next >= 0 {
		s.at(p.next).prev = p.prev
	} else {
		s.newest = p.prev
	}
}

// sendData writes a segment with data.
func (s *subflow) sendData(now machine.Time, p *sent, buf []byte) (int, machine.ECN) {
	var g segment
	s.head(now, &g, p.seq)
	g.flags |= flagACK
	if s.c.multi {
		g.mp = mpOption{
			acked: true, dataAck: uint32(s.c.in.next), mapped: true, dsn: uint32(p.data), at: uint32(p.seq),
			length: uint16(p.length), fin: p.fin,
		}
	} else if p.fin {
		g.flags |= flagFIN
	}
	if s.cwr && !p.resent {
		g.flags |= flagCWR
		s.cwr = false
	}
	n := g.append(buf)
	size := n + int(p.length)
	if size > len(buf) {
		return -size, machine.NotECT
	}
	stamp := uint64(p.data)
	if s.c.client {
		stamp = s.c.object
	}
	if p.length >= stampSize {
		binary.BigEndian.PutUint64(buf[n:], stamp)
	}
	s.sentBytes += int64(p.length)
	s.acknowledged()
	if s.c.how.Pace {
		if rate := s.c.ctrl.PacingRate(s.control); rate > 0 {
			s.paceAt = max(now, s.paceAt) + machine.Time(float64(size)/rate*1e9)
			s.c.arm(s.paceAt)
		}
	}
	ecn := machine.NotECT
	if s.ecn && !p.resent { // RFC 3168 §6.1.5
		ecn = machine.ECT0
	}
	return size, ecn
}

// delivered is what one acknowledgement has told, for the controller.
type delivered struct {
	bytes  int
	newest machine.Time // sending time of the newest segment
	rtt    machine.Time // sample; 0: none
	end    int64        // sequence number behind the newest
}

// onAck takes an acknowledgement.
func (s *subflow) onAck(now machine.Time, g *segment) {
	ack := near(g.ack-s.own, s.una)
	if ack > s.end64() || ack < 0 {
		return
	}
	edge := s.c.edge
	s.window32(g, ack)
	if s.c.edge > edge && s.lossBy == timerPersist {
		s.lossAt, s.lossBy, s.backoff = machine.Never, timerRTO, 0
	}
	var d delivered
	before := s.flying
	advanced := ack > s.una
	if advanced {
		s.una = ack
		for s.first < s.unsent && s.at(s.first).past() <= ack {
			s.deliver(now, s.first, g, &d)
			if s.at(s.first).state == sacked {
				s.sackedCount--
			}
			s.first++
		}
	}
	for i := range g.sackCount {
		s.onSack(now, i, g, &d)
	}
	for i := g.sackCount; i < maxSacks; i++ {
		s.seen[i] = gap{}
	}
	if advanced {
		s.backoff, s.silent = 0, false
		s.undo(now, g)
		if s.una >= s.recovery {
			s.spoilt = s.spoilt && !s.repaired
		}
	}
	if d.bytes > 0 {
		s.tell(now, g, &d, advanced, before)
		s.tailRepaired(now, g)
	}
	if d.bytes > 0 || advanced {
		s.detect(now)
		s.setTimer(now)
	}
}

// tell gives the controller what an acknowledgement says.
func (s *subflow) tell(now machine.Time, g *segment, d *delivered, advanced bool, before int) {
	a := cc.Ack{Bytes: d.bytes, Sent: d.newest, RTT: d.rtt, InFlight: s.flying, AppLimited: d.end > s.limited}
	if d.rtt > 0 {
		s.sample(now, d.rtt)
	}
	if advanced && g.timed && g.echo != 0 {
		a.Delay = max(machine.Time(int32(g.time-g.echo))*machine.Microsecond, 1)
	}
	if s.ecn && g.flags&flagECE != 0 {
		a.Marked = d.bytes
		s.c.sum.Marked++
		if s.una > s.cwrEnd {
			s.cwr, s.cwrEnd = true, s.end64()
		}
	}
	s.c.ctrl.OnAck(now, s.control, a)
	s.rewindow()
	if s.limit > 0 { // a penalised window grows by a segment per round trip, as after a loss
		if s.limit += float64(float64(d.bytes) * float64(s.mss) / s.limit); s.limit >= float64(s.cwnd) {
			s.limit = 0
		}
	}
}

// onSack takes one SACK range: the first may tell of what came twice (RFC 2883).
func (s *subflow) onSack(now machine.Time, i int, g *segment, d *delivered) {
	r := gap{near(g.sacks[i].from-s.own, s.una), near(g.sacks[i].to-s.own, s.una)}
	known := gap{}
	for _, k := range s.seen {
		if k.from == r.from && k.to <= r.to && k.to > known.to {
			known = k
		}
	}
	s.seen[i] = r
	if r.to <= s.una || r.from >= r.to || r.to > s.end64() {
		if r.to <= s.una && i == 0 {
			s.rack.onTwice(s.end64(), s.una)
		}
		return
	}
	from := r.from
	if known.to > from {
		from = known.to
	}
	for id := s.find(from); id < s.unsent; id++ {
		p := s.at(id)
		if p.past() > r.to {
			return
		}
		if p.state != sacked {
			s.deliver(now, id, g, d)
			p.state = sacked
			s.sackedCount++
		}
	}
}

// find is the number of the first segment that begins at or after seq.
func (s *sender) find(seq int64) int64 {
	low, high := s.first, s.unsent
	for low < high {
		if mid := (low + high) / 2; s.at(mid).seq < seq {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// deliver counts a segment as delivered.
func (s *subflow) deliver(now machine.Time, id int64, g *segment, d *delivered) {
	p := s.at(id)
	switch p.state {
	case flying:
		s.flying -= int(p.length)
		s.unlink(id)
	case lost:
		s.lostBytes -= int(p.length)
	case sacked:
		return
	}
	d.bytes += int(p.length)
	d.end = max(d.end, p.past())
	if p.at >= d.newest {
		d.newest = p.at
		if d.rtt = now - p.at; p.resent { // Karn; the timestamp knows better
			d.rtt = 0
		}
	}
	s.rack.deliver(now, p, g.echo, s.minRTT, s.una)
}

// sample takes a sample of the round-trip time (RFC 6298 §2).
func (s *subflow) sample(_ machine.Time, rtt machine.Time) {
	if rtt <= 0 {
		return
	}
	if s.srtt == 0 {
		s.srtt, s.rttvar, s.minRTT = rtt, rtt/2, rtt
		return
	}
	off := s.srtt - rtt
	if off < 0 {
		off = -off
	}
	s.rttvar += (off - s.rttvar) / 4
	s.srtt += (rtt - s.srtt) / 8
	s.minRTT = min(s.minRTT, rtt)
}
