package endpoint

import (
	"encoding/binary"

	"mars/internal/machine"
)

// receiver is the half of a subflow that takes data.
type receiver struct {
	rcvNext  int64
	later    []piece // beyond rcvNext, in order
	have     ranges  // all sequence numbers that have come
	sacks    [maxSacks]gap
	count    int // of sacks, the latest first
	twice    gap // what came twice, told first (RFC 2883); empty: nothing
	unacked  int // segments since the last acknowledgement
	quick    int // acknowledgements that aren't delayed any more
	ackNow   bool
	ackAt    machine.Time
	recent   uint32 // timestamp to echo (RFC 7323 §4.3)
	told     int64  // rcvNext of the last acknowledgement
	tellMark bool   // ECE, until CWR comes (RFC 3168 §6.1.3)
}

// piece is data that came early, and where it belongs in the stream.
type piece struct {
	from, to int64 // sequence numbers; a FIN takes one
	data     int64
	length   int
	fin      bool
}

const (
	// ackDelay is how long an acknowledgement waits for a second segment (Linux, TCP_DELACK_MIN).
	ackDelay = 40 * machine.Millisecond
	// ackEvery is how many segments are acknowledged at once (RFC 5681 §4.2).
	ackEvery = 2
	// quickAcks is how many of the first acknowledgements don't wait (Linux, TCP_MAX_QUICKACKS).
	quickAcks = 16
)

func (r *receiver) init() { r.ackAt, r.quick, r.have.next = machine.Never, quickAcks, 1 }

// echoed notes the timestamp to echo: that of the segment at the edge of what was acknowledged.
func (s *subflow) echoed(g *segment, length int) {
	if seq := near(g.seq-s.peer, s.rcvNext); seq <= s.told && (seq+int64(length) > s.told || length == 0) {
		s.recent = g.time
	}
}

// take takes the data of a segment.
func (s *subflow) take(now machine.Time, ecn machine.ECN, g *segment, payload []byte) {
	s.gotBytes += int64(len(payload))
	if g.flags&flagCWR != 0 {
		s.tellMark = false
	}
	if ecn == machine.CE && s.ecn {
		s.tellMark = true
	}
	from := near(g.seq-s.peer, s.rcvNext)
	p := piece{from: from, to: from + int64(len(payload)), data: from - 1, length: len(payload)}
	switch {
	case s.c.multi && g.mp.mapped:
		p.data = near(g.mp.dsn, s.c.in.next)
		p.fin = g.mp.fin
	case s.c.multi:
		return // data without a mapping belong nowhere
	case g.flags&flagFIN != 0:
		p.fin = true
		p.to++
	}
	if s.c.client && len(payload) >= stampSize && int64(binary.BigEndian.Uint64(payload)) != p.data {
		s.c.fail(ErrContent)
		s.c.reset()
		return
	}
	switch {
	case p.to <= s.rcvNext || p.from < s.rcvNext:
		s.twice, s.ackNow = gap{p.from, p.to}, true
	case p.from == s.rcvNext:
		s.inOrder(now, p, payload)
	default:
		s.early(p)
		s.ackNow = true // RFC 5681 §4.2
	}
}

// inOrder takes the next piece, and those behind it that had come before.
func (s *subflow) inOrder(now machine.Time, p piece, payload []byte) {
	s.pass(p, payload)
	if len(s.later) > 0 {
		n := 0
		for n < len(s.later) && s.later[n].from <= s.rcvNext {
			if s.later[n].to > s.rcvNext {
				s.pass(s.later[n], nil)
			}
			n++
		}
		s.later = append(s.later[:0], s.later[n:]...)
		s.forget()
		s.ackNow = true
	}
	s.unacked++
	switch {
	case s.unacked >= ackEvery || p.fin:
		s.ackNow = true
	case s.quick > 0:
		s.quick--
		s.ackNow = true
	case s.ackAt == machine.Never:
		s.ackAt = now + s.c.kernel(ackDelay)
		s.c.arm(s.ackAt)
	}
}

// pass hands a piece in order to the connection.
func (s *subflow) pass(p piece, payload []byte) {
	s.rcvNext = p.to
	s.have.add(p.from, p.to)
	s.c.arrived(p.data, p.length, payload)
	if p.fin {
		s.c.ends(p.data + int64(p.length))
	}
}

// early keeps a piece that came before its time.
func (s *subflow) early(p piece) {
	i := len(s.later)
	for i > 0 && s.later[i-1].from > p.from {
		i--
	}
	if i > 0 && s.later[i-1].from == p.from {
		s.twice = gap{p.from, p.to}
		return
	}
	s.later = append(s.later, piece{})
	copy(s.later[i+1:], s.later[i:])
	s.later[i] = p
	s.have.add(p.from, p.to)
	s.note(s.have.around(p.from))
}

// note makes g the first range to be told (RFC 2018 §4).
func (r *receiver) note(g gap) {
	kept := 0
	for _, k := range r.sacks[:r.count] {
		if k.from < g.from || k.to > g.to {
			r.sacks[kept] = k
			kept++
		}
	}
	kept = min(kept, maxSacks-1)
	copy(r.sacks[1:], r.sacks[:kept])
	r.sacks[0] = g
	r.count = kept + 1
}

// forget drops the ranges that are in order now.
func (r *receiver) forget() {
	kept := 0
	for _, k := range r.sacks[:r.count] {
		if k.from > r.rcvNext {
			r.sacks[kept] = k
			kept++
		}
	}
	r.count = kept
}

// selective puts the ranges that came early into an acknowledgement, as many as there is room for beside MPTCP's option.
func (s *subflow) selective(g *segment) {
	room := maxSacks
	if s.c.multi {
		room = maxSacks - 1
	}
	if s.twice.to > s.twice.from {
		g.sacks[0] = block{s.peer + uint32(s.twice.from), s.peer + uint32(s.twice.to)}
		g.sackCount = 1
		s.twice = gap{}
	}
	for _, k := range s.sacks[:s.count] {
		if g.sackCount < room {
			g.sacks[g.sackCount] = block{s.peer + uint32(k.from), s.peer + uint32(k.to)}
			g.sackCount++
		}
	}
}

// acknowledged notes that what has come is being acknowledged.
func (s *subflow) acknowledged() {
	s.ackNow, s.ackAt, s.unacked, s.receiver.told = false, machine.Never, 0, s.rcvNext
}
