package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Hop repair: fragments that a neighbour doesn't acknowledge are sent again on the same hop (NDNLPv2 reliability: TxSequence and Ack).
// One lost fragment of five would cost the whole packet, and a round trip of the whole path.

const (
	// maxUnacked bounds the fragments that a face remembers for sending them again.
	maxUnacked = 4096
	// laterAcks is how many later fragments must be acknowledged before one counts as lost (RFC 9002 §6.1.1).
	laterAcks = 3
	// maxRepairs is how often one fragment is sent again: then it is for whoever asks again.
	maxRepairs = 3
	// maxAge is how old a fragment may be that is sent again: its packet waits no longer for it (reassembly), and what an Interest says
	// of an epoch grows old.
	maxAge = reassemblyTimeout
	// An acknowledgement waits for company: for ackDelay, or until there are ackBatch.
	ackDelay = 4 * machine.Millisecond
	ackBatch = 16
	// maxAcks is how many acknowledgements one packet carries.
	maxAcks = 40

	// deafAfter is how many fragments may go unacknowledged by a peer that has never acknowledged any: it runs profile `paper`.
	deafAfter = 256

	minRepairTimer = 10 * machine.Millisecond
	firstHopTrip   = 50 * machine.Millisecond
)

// fragment is one that was sent and may have to be sent again.
type fragment struct {
	p        *packet      // nil: acknowledged, or given up
	born     machine.Time // when it was sent first
	at       machine.Time // and when last
	from, to int          // of p.wire
	index    int
	count    int
	sequence uint64
	tries    int
}

// repair is the hop reliability of one face.
type repair struct {
	on    bool // the peer takes part, or may
	heard bool // it does
	deaf  bool // it doesn't
	first uint64
	ring  []fragment // unacknowledged ones and holes between them, by TxSequence from first on
	head  int
	n     int

	next    uint64 // TxSequence
	highest uint64 // that was acknowledged, plus one
	resend  []fragment
	tail    int // how many probes in a row

	srtt, vari machine.Time
	acks       []uint64
	ackAt      machine.Time // when they must leave; Never: there are none
}

func (r *repair) at(i int) *fragment { return &r.ring[(r.head+i)%len(r.ring)] }

// sent remembers a fragment under the next TxSequence.
func (r *repair) sent(f fragment, bufs *pool) {
	if !r.heard && r.n >= deafAfter {
		r.reset(bufs)
		r.deaf = true
	}
	if !r.heard && r.deaf { // of the packet that was begun
		r.next++
		return
	}
	if r.n == 0 {
		r.first = r.next
	}
	if r.n == maxUnacked {
		r.giveUp(r.at(0), bufs)
		r.trim()
	}
	if r.n == len(r.ring) {
		grown := make([]fragment, max(64, 2*len(r.ring)))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.ring, r.head = grown, 0
	}
	f.p.held++
	*r.at(r.n) = f
	if r.n++; r.n == 1 {
		r.first = r.next
	}
	r.next++
}

// giveUp forgets a fragment.
func (r *repair) giveUp(f *fragment, bufs *pool) {
	if f.p == nil {
		return
	}
	bufs.release(f.p)
	f.p = nil
}

// trim takes what is settled off the front.
func (r *repair) trim() {
	for r.n > 0 && r.at(0).p == nil {
		r.head = (r.head + 1) % len(r.ring)
		r.first++
		r.n--
	}
}

// meets notes what a datagram tells of the peer: ours is true if it is one of us.
func (r *repair) meets(p *wire.Packet, ours bool) {
	r.heard = r.heard || p.HasTxSequence || p.Acks.Len() > 0
	r.on = r.heard || ours && !r.deaf
}

// got notes that a fragment came, to be acknowledged.
func (r *repair) got(now machine.Time, sequence uint64) {
	if len(r.acks) == 0 {
		r.ackAt = now + ackDelay
	}
	r.acks = append(r.acks, sequence)
	if len(r.acks) >= ackBatch {
		r.ackAt = now
	}
	if len(r.acks) > 1024 { // nobody lets us send
		r.acks = append(r.acks[:0], r.acks[512:]...)
	}
}

// acked takes in one acknowledgement.
func (r *repair) acked(now machine.Time, sequence uint64, bufs *pool) {
	if sequence < r.first || sequence >= r.first+uint64(r.n) {
		return
	}
	f := r.at(int(sequence - r.first))
	if f.p == nil {
		return
	}
	if f.tries == 0 {
		r.onTrip(now - f.at)
	}
	r.giveUp(f, bufs)
	r.tail = 0
	r.highest = max(r.highest, sequence+1)
}

func (r *repair) onTrip(rtt machine.Time) {
	if r.srtt == 0 {
		r.srtt, r.vari = rtt, rtt/2
		return
	}
	off := rtt - r.srtt
	r.srtt += off / 8
	r.vari += (max(off, -off) - r.vari) / 4
}

// detect moves what later acknowledgements tell is lost to those to be sent again.
func (r *repair) detect(now machine.Time, bufs *pool) {
	for i := 0; i < r.n && r.first+uint64(i)+laterAcks < r.highest; i++ {
		if f := r.at(i); f.p != nil {
			r.again(now, f, bufs)
		}
	}
	r.trim()
}

// again has a fragment sent again, if it may be.
func (r *repair) again(now machine.Time, f *fragment, bufs *pool) {
	if f.tries >= maxRepairs || now-f.born > maxAge {
		r.giveUp(f, bufs)
		return
	}
	g := *f
	g.tries++
	r.resend = append(r.resend, g) // which holds it now
	f.p = nil
}

// timeout is how long the last fragments may be unacknowledged before one of them is sent again to find out.
func (r *repair) timeout() machine.Time {
	t := 2 * firstHopTrip
	if r.srtt > 0 {
		t = max(r.srtt+max(4*r.vari, r.srtt/4)+ackDelay, minRepairTimer)
	}
	return t << min(r.tail, 5)
}

// probeAt is when that is; Never: nothing is unacknowledged.
func (r *repair) probeAt() machine.Time {
	if r.n == 0 {
		return machine.Never
	}
	last := r.at(r.n - 1)
	return last.at + r.timeout()
}

// probe sends the last unacknowledged fragment again, and never more: others may be on their way still.
func (r *repair) probe(now machine.Time, bufs *pool) {
	r.tail++
	for i := r.n - 1; i >= 0; i-- {
		if f := r.at(i); f.p != nil {
			r.again(now, f, bufs)
			break
		}
	}
	r.trim()
}

// deadline is when the face is to be looked at for the sake of repair.
func (r *repair) deadline() machine.Time {
	at := r.probeAt()
	if len(r.acks) > 0 {
		at = min(at, r.ackAt)
	}
	return at
}

// carry appends acknowledgements to a header as far as room bytes go.
func (r *repair) carry(h *wire.Packet, room int) {
	n := min(len(r.acks), maxAcks, room/wire.AckLen)
	if n <= 0 {
		return
	}
	var acks wire.Acks
	for _, a := range r.acks[:n] {
		acks = acks.Add(a)
	}
	h.Acks = acks
	r.acks = append(r.acks[:0], r.acks[n:]...)
}

// reset forgets everything.
func (r *repair) reset(bufs *pool) {
	for i := range r.n {
		r.giveUp(r.at(i), bufs)
	}
	for i := range r.resend {
		r.giveUp(&r.resend[i], bufs)
	}
	next := r.next
	*r = repair{next: next, highest: next, first: next}
}

// hear takes in what a datagram says about repair; true: the face is to be looked at.
func (l *link) hear(now machine.Time, p *wire.Packet, bufs *pool) bool {
	r := &l.repair
	if l.Local || !r.on {
		return false
	}
	if p.HasTxSequence {
		r.got(now, p.TxSequence)
	}
	some := p.Acks.Len() > 0
	for {
		sequence, ok := p.NextAck()
		if !ok {
			break
		}
		r.acked(now, sequence, bufs)
	}
	if some {
		r.detect(now, bufs)
	}
	return some || p.HasTxSequence
}

// mend writes a fragment that is sent again: its length, 0 if there is none, −n if buf is too small.
func (l *link) mend(now machine.Time, buf []byte, bufs *pool) int {
	r := &l.repair
	if r.probeAt() <= now && len(r.resend) == 0 {
		r.probe(now, bufs)
	}
	if len(r.resend) == 0 {
		return 0
	}
	f := r.resend[0]
	h := wire.Packet{}
	if f.index == 0 {
		h = f.p.hdr
		h.PitToken = f.p.tok.bytes()
		h.Feedback.HasDepart = false // it would tell of the repair, not of a queue
	}
	if f.count > 1 {
		h.HasSequence, h.Sequence, h.FragIndex, h.FragCount = true, f.sequence, uint64(f.index), uint64(f.count)
	}
	h.TxSequence, h.HasTxSequence = r.next, true
	body := f.p.wire[f.from:f.to]
	n := h.HeaderLen(len(body)) + len(body)
	if n > len(buf) {
		return -n
	}
	out := h.AppendHeader(buf[:0], len(body))
	copy(buf[len(out):], body)
	r.resend = append(r.resend[:0], r.resend[1:]...)
	f.at = now
	r.sent(f, bufs)
	bufs.release(f.p)
	l.credit -= float64(n)
	l.mended++
	return n
}

// acknowledge writes an idle packet with the acknowledgements that must leave now: its length, 0 if there are none.
func (l *link) acknowledge(now machine.Time, buf []byte) int {
	r := &l.repair
	if len(r.acks) == 0 || now < r.ackAt {
		return 0
	}
	h := wire.Packet{}
	r.carry(&h, min(len(buf), l.MTU)-8)
	out := h.AppendHeader(buf[:0], 0)
	l.credit -= float64(len(out))
	return len(out)
}
