package route

import (
	"cmp"
	"encoding/binary"
	"slices"

	"mars/internal/machine"
)

// neighbour is a node that hears us and that we hear, on one face or several. What it lacks goes to it by one face at
// a time and again until it is acknowledged; a retransmission takes the next face.
type neighbour struct {
	id    uint64
	boot  uint32
	faces []*face // by id
	turn  int     // of faces

	spans  []span  // still to be summarised
	queue  []int32 // slots that it may lack
	queued []bool  // by slot
	knows  []stamp // by slot: newest that it is known to hold
	flight []sent  // not acknowledged yet

	topics  []uint64          // of notices that it may lack
	noticed map[uint64]uint64 // numbers of those that it is known to hold, by topic

	owed  []uint32 // numbers to acknowledge
	ackAt machine.Time
	ack   bool // ackAt has come

	srtt, rttvar machine.Time // RFC 6298; srtt 0: no sample yet
	backoff      int          // doublings of the timeout

	hops []uint16 // through it, by prefix; 0: doesn't reach it
}

// sent is a message on its way.
type sent struct {
	number      uint32
	at, expires machine.Time
	spans       []span
	items       []item
	notices     []Notice // without content
}

// item is an advertisement in a message.
type item struct {
	slot   int32
	origin uint64
	stamp
}

const (
	window      = 8 // messages in flight to one neighbour
	ackDelay    = 5 * machine.Millisecond
	maxOwed     = 64
	firstRTO    = 250 * machine.Millisecond
	minRTO      = 20 * machine.Millisecond // beyond what was measured
	maxRTO      = 2 * machine.Second
	maxBackoff  = 6
	spanEntries = (MaxMessage/2 - 16) / summaryLen // of one summary: half a message, so that other things fit too
)

// neighbour finds a neighbour. Two nodes with one id differ by boot nonce: they are two neighbours.
func (r *Router) neighbour(id uint64, boot uint32) (i int, ok bool) {
	return slices.BinarySearchFunc(r.neighbours, &neighbour{id: id, boot: boot}, func(a, b *neighbour) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.boot, b.boot))
	})
}

// via is the face that carries what is for n.
func (n *neighbour) via() *face { return n.faces[n.turn%len(n.faces)] }

// summarise has s summarised to n.
func (n *neighbour) summarise(s span) {
	if !slices.Contains(n.spans, s) {
		n.spans = append(n.spans, s)
	}
}

// offer queues the advertisement in slot, unless n is known to hold it.
func (n *neighbour) offer(slot int32, s stamp) {
	n.grow(slot)
	if s.newer(n.knows[slot]) && !n.queued[slot] {
		n.queued[slot] = true
		n.queue = append(n.queue, slot)
	}
}

// learn notes that n holds s.
func (n *neighbour) learn(slot int32, s stamp) {
	n.grow(slot)
	if s.newer(n.knows[slot]) {
		n.knows[slot] = s
	}
}

// grow makes room for slot.
func (n *neighbour) grow(slot int32) {
	if need := int(slot) + 1 - len(n.knows); need > 0 {
		n.knows = append(n.knows, make([]stamp, need)...)
		n.queued = append(n.queued, make([]bool, need)...)
	}
}

// pending tells whether n has something to say now, beside hellos.
func (n *neighbour) pending() bool {
	return n.ack || len(n.flight) < window && (len(n.topics) > 0 || len(n.spans) > 0 || len(n.queue) > 0)
}

// compose appends records for n to b, up to limit bytes of b, and notes what is in flight under number. need > 0: the
// next record takes that many bytes by itself; nothing was done.
func (r *Router) compose(n *neighbour, b []byte, limit int, number uint32) (_ []byte, reliable bool, need int) {
	send := len(n.flight) < window
	if send {
		if need := len(b) + n.first(r); need > limit {
			return b, false, need
		}
	}
	if need := len(b) + recordLen + 4; len(n.owed) > 0 && need > limit {
		return b, false, need
	}
	if k := min(len(n.owed), (limit-len(b)-recordLen)/4); k > 0 {
		b = appendRecord(b, recordAck, 4*k)
		for _, v := range n.owed[:k] {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		n.owed = slices.Delete(n.owed, 0, k)
		n.ack = n.ack && len(n.owed) > 0
	}
	if !send {
		return b, false, 0
	}
	s := sent{number: number, at: r.now, expires: r.now + n.rto()}
	b = n.composeNotices(r, b, limit, &s)
	for len(n.spans) > 0 {
		room := (limit - len(b) - recordLen - 16) / summaryLen
		if limit-len(b) < recordLen+16+summaryLen {
			break
		}
		done, rest, more := r.cut(n.spans[0], min(room, spanEntries))
		b = r.appendSummary(b, done)
		s.spans = append(s.spans, done)
		if n.spans = n.spans[1:]; more {
			n.spans = append(n.spans, rest)
		}
	}
	for n.skip(r) {
		slot := n.queue[0]
		e := &r.slots[slot]
		size := ageLen + len(e.body)
		if len(b)+recordLen+size > limit {
			break
		}
		b = appendRecord(b, recordAdvert, size)
		b = binary.BigEndian.AppendUint32(b, e.age(r.now))
		b = append(b, e.body...)
		s.items = append(s.items, item{slot, e.origin, e.stamp})
		n.queue, n.queued[slot] = n.queue[1:], false
	}
	if len(s.spans)+len(s.items)+len(s.notices) == 0 {
		return b, false, 0
	}
	n.flight = append(n.flight, s)
	return b, true, 0
}

// skip drops from the head of the queue what n turned out to hold; false when the queue is empty.
func (n *neighbour) skip(r *Router) bool {
	for len(n.queue) > 0 {
		slot := n.queue[0]
		if e := &r.slots[slot]; e.advert != nil && e.newer(n.knows[slot]) {
			return true
		}
		n.queue, n.queued[slot] = n.queue[1:], false
	}
	n.queue = nil
	return false
}

// first is the size of the next record of n that is to be acknowledged; 0: there is none.
func (n *neighbour) first(r *Router) int {
	if next := n.nextNotice(r); next != nil {
		return recordLen + len(next.Content)
	}
	if len(n.spans) > 0 {
		return recordLen + 16 + summaryLen
	}
	if n.skip(r) {
		return recordLen + ageLen + len(r.slots[n.queue[0]].body)
	}
	return 0
}

// owe notes that number is to be acknowledged.
func (r *Router) owe(n *neighbour, number uint32) {
	if len(n.owed) >= maxOwed {
		return // it will come again
	}
	if len(n.owed) == 0 {
		n.ackAt = r.now + ackDelay
	}
	n.owed = append(n.owed, number)
}

// acknowledged takes in that n has received the message called number.
func (r *Router) acknowledged(n *neighbour, number uint32) {
	i := slices.IndexFunc(n.flight, func(s sent) bool { return s.number == number })
	if i < 0 {
		return // after a retransmission, which has a number of its own
	}
	for _, it := range n.flight[i].items {
		if e := &r.slots[it.slot]; e.advert != nil && e.origin == it.origin {
			n.learn(it.slot, it.stamp)
		}
	}
	for _, it := range n.flight[i].notices {
		n.noted(it.Topic, it.Number)
	}
	n.sample(r.now - n.flight[i].at)
	n.flight = slices.Delete(n.flight, i, i+1)
}

// sample takes in a round trip (RFC 6298 §2, in integers).
func (n *neighbour) sample(rtt machine.Time) {
	n.backoff = 0
	if n.srtt == 0 {
		n.srtt, n.rttvar = rtt, rtt/2
		return
	}
	n.rttvar = (3*n.rttvar + max(n.srtt-rtt, rtt-n.srtt)) / 4
	n.srtt = (7*n.srtt + rtt) / 8
}

// rto is how long to wait for an acknowledgement.
func (n *neighbour) rto() machine.Time {
	rto := firstRTO
	if n.srtt > 0 {
		rto = n.srtt + 4*n.rttvar + ackDelay + minRTO
	}
	return min(rto<<n.backoff, maxRTO)
}

// advanceNeighbour fires the timers of n.
func (r *Router) advanceNeighbour(n *neighbour) {
	n.ack = n.ack || len(n.owed) > 0 && r.now >= n.ackAt
	late := false
	n.flight = slices.DeleteFunc(n.flight, func(s sent) bool {
		if r.now < s.expires {
			return false
		}
		late = true
		r.count.Retransmitted++
		for _, sp := range s.spans {
			n.summarise(sp)
		}
		for _, it := range s.items {
			if e := &r.slots[it.slot]; e.advert != nil && e.origin == it.origin {
				n.offer(it.slot, e.stamp)
			}
		}
		for _, it := range s.notices {
			n.tell(r, it.Topic)
		}
		return true
	})
	if late {
		n.backoff = min(n.backoff+1, maxBackoff)
		n.turn++
	}
}

// deadline is when n has a timer to fire.
func (n *neighbour) deadline() machine.Time {
	at := machine.Never
	if len(n.owed) > 0 && !n.ack {
		at = n.ackAt
	}
	for i := range n.flight {
		at = min(at, n.flight[i].expires)
	}
	return at
}
