package publish

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// inquiry is an Interest that isn't answered yet. The engine reuses it, buffers and all.
type inquiry struct {
	slot, gen  uint32
	stage      stage
	prev, next *inquiry // in the list of its stage
	expiry     machine.Time

	name     wire.Name // of the Interest, and then of the Data
	token    [wire.MaxPitToken]byte
	tokenLen int
	query
	o *Object // whose bytes it waits for

	answer
}

type stage uint8

const (
	free      stage = iota
	resolving       // in waiting, and in its resolve
	reading         // in waiting; the application has a request
	late            // the application still has the request, but the Interest has expired
	replying        // in replies
	inquiring       // being received
	stages
)

// id names an inquiry in a Request.
func (q *inquiry) id() uint64 { return uint64(q.gen)<<32 | uint64(q.slot) }

// inquiries is the table of inquiries.
type inquiries struct {
	slots []*inquiry
	free  []*inquiry
}

func (s *inquiries) take() *inquiry {
	if n := len(s.free); n > 0 {
		q := s.free[n-1]
		s.free = s.free[:n-1]
		q.gen++
		q.stage = inquiring
		return q
	}
	q := &inquiry{slot: uint32(len(s.slots)), gen: 1, stage: inquiring}
	s.slots = append(s.slots, q)
	return q
}

// put gives an inquiry back.
func (s *inquiries) put(q *inquiry) {
	q.stage, q.o, q.query, q.answer = free, nil, query{}, answer{}
	s.free = append(s.free, q)
}

// byID finds the inquiry that a request was made for; nil if there is none any more.
func (s *inquiries) byID(id uint64) *inquiry {
	slot := id & 0xffffffff
	if slot >= uint64(len(s.slots)) {
		return nil
	}
	if q := s.slots[slot]; uint64(q.gen) == id>>32 && (q.stage == reading || q.stage == late) {
		return q
	}
	return nil
}

// list is a list of inquiries.
type list struct {
	first, last *inquiry
	n           int
}

func (l *list) push(q *inquiry) { l.insert(q, l.last) }

// pushByExpiry keeps the list in order of expiry. Lifetimes hardly differ, so the place is found at once.
func (l *list) pushByExpiry(q *inquiry) {
	after := l.last
	for after != nil && after.expiry > q.expiry {
		after = after.prev
	}
	l.insert(q, after)
}

// insert puts q behind after; nil: first.
func (l *list) insert(q, after *inquiry) {
	next := l.first
	if after != nil {
		next, after.next = after.next, q
	} else {
		l.first = q
	}
	if next != nil {
		next.prev = q
	} else {
		l.last = q
	}
	q.prev, q.next = after, next
	l.n++
}

func (l *list) remove(q *inquiry) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		l.first = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		l.last = q.prev
	}
	q.prev, q.next = nil, nil
	l.n--
}
