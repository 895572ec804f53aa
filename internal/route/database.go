package route

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"mars/internal/machine"
)

// slot holds the newest advertisement of one node. Slots are numbered, and a number is used again when its node has
// expired; slot 0 is ours.
type slot struct {
	*advert               // nil: free
	born     machine.Time // when its origin issued it
	peers    []int32      // slots that it has a link to, and they to it
	prefixes []int32      // in the table, those that the origin is entitled to
	from     uint64       // the neighbour that brought it
}

const self int32 = 0

// age is how old the advertisement is, ms. It counts the hop that it is about to take, so that an advertisement that
// travels in circles ages too.
func (s *slot) age(now machine.Time) uint32 {
	return uint32((now-s.born)/machine.Millisecond) + 1
}

const (
	// lapse is how long an advertisement with a sequence number from highSeq on counts: its origin can't overtake a forger for
	// ever, but soon begin anew.
	lapse = 10 * machine.Second
	// farewell is how long an advertisement counts that says nothing: long enough to reach all who hold an older one.
	farewell = 60 * machine.Second
	// lapseSlack is how much longer the origin waits, for nodes far away count from when it reached them.
	lapseSlack = machine.Second
)

// life is how old an advertisement may get.
func (r *Router) life(a *advert) machine.Time {
	switch {
	case a.seq >= highSeq:
		return min(lapse, r.cfg.Expire)
	case !a.relay && len(a.prefixes) == 0:
		return min(farewell, r.cfg.Expire)
	}
	return r.cfg.Expire
}

// database is the map: what every node says of itself.
type database struct {
	slots      []slot
	slotOf     map[uint64]int32 // occupied slots, by origin
	order      []int32          // the same, ascending by origin
	free       []int32
	bytes      int            // of all advertisements
	names      int            // prefixes in all advertisements of others
	brought    map[uint64]int // of them, by the neighbour that brought them
	nextExpiry machine.Time   // not later than the next expiry
}

// place is where origin is, or would be, in order.
func (d *database) place(origin uint64) int {
	i, _ := slices.BinarySearchFunc(d.order, origin, func(s int32, id uint64) int { return cmp.Compare(d.slots[s].origin, id) })
	return i
}

// accept takes in an advertisement from n.
func (r *Router) accept(n *neighbour, c carried) {
	origin, st := binary.BigEndian.Uint64(c.body), getStamp(c.body[8:])
	if at, ok := r.slotOf[origin]; ok {
		held := &r.slots[at]
		clone := origin == r.cfg.ID && st == held.stamp && !bytes.Equal(c.body, held.body)
		if !st.newer(held.stamp) && !clone {
			r.count.Known++
			n.learn(at, st)
			n.offer(at, held.stamp)
			return
		}
	}
	age := machine.Time(c.age) * machine.Millisecond
	a, why, ok := decodeAdvert(bytes.Clone(c.body))
	switch {
	case !ok:
		r.drop(why)
	case age >= r.life(a):
		r.drop(TooOld)
	case r.cfg.Authentic != nil && !r.cfg.Authentic(a.origin, a.body):
		r.drop(Forged)
	case a.origin == r.cfg.ID:
		n.learn(self, a.stamp)
		r.challenge(a, r.now-age)
	default:
		if at, ok := r.install(a, r.now-age, n.id); ok {
			r.count.Accepted++
			n.learn(at, a.stamp)
			r.flood(at)
		}
	}
}

// flood offers the advertisement in slot to every neighbour that may lack it.
func (r *Router) flood(at int32) {
	for _, n := range r.neighbours {
		n.offer(at, r.slots[at].stamp)
	}
}

// install puts a, which a neighbour brought, in its slot; false when there is no room.
func (r *Router) install(a *advert, born machine.Time, from uint64) (int32, bool) {
	at, held := r.slotOf[a.origin]
	size := len(a.body)
	if held {
		size -= len(r.slots[at].body)
	}
	if a.origin != r.cfg.ID { // there is always room for ours
		switch {
		case !held && len(r.order) >= r.cfg.MaxNodes:
			r.drop(TooManyNodes)
			return 0, false
		case r.bytes+size > r.cfg.MaxBytes:
			r.drop(DatabaseFull)
			return 0, false
		case !r.affordsNames(at, held, a, from):
			r.drop(TooManyNames)
			return 0, false
		}
	}
	r.bytes += size
	if !held {
		at = r.occupy(a.origin)
	}
	s := &r.slots[at]
	old := s.advert
	r.credit(s, -1)
	s.advert, s.born = a, born
	if !held {
		r.order = slices.Insert(r.order, r.place(a.origin), at)
	}
	if old == nil || !slices.Equal(old.links, a.links) {
		r.relink(at)
		r.recompute()
	}
	prefixes := r.entitled(a)
	if old != nil && (old.boot != a.boot || old.relay != a.relay || !slices.Equal(s.prefixes, prefixes)) {
		r.recompute()
	}
	r.table.replace(at, s.prefixes, prefixes)
	s.prefixes, s.from = prefixes, from
	r.credit(s, 1)
	r.nextExpiry = min(r.nextExpiry, born+r.life(a))
	return at, true
}

// affordsNames tells whether the table has room for the prefixes of a: a neighbour may have brought no more than as many as are
// still free, so that others find room however many it brings.
func (r *Router) affordsNames(at int32, held bool, a *advert, from uint64) bool {
	more := len(a.prefixes)
	if held {
		more -= len(r.slots[at].prefixes)
	}
	return more <= 0 || r.brought[from]+more <= r.cfg.MaxPrefixes-r.names
}

// credit counts the prefixes of a slot, or ends that, for the neighbour that brought them.
func (r *Router) credit(s *slot, sign int) {
	if s == &r.slots[self] || len(s.prefixes) == 0 {
		return
	}
	r.names += sign * len(s.prefixes)
	if r.brought[s.from] += sign * len(s.prefixes); r.brought[s.from] == 0 {
		delete(r.brought, s.from)
	}
}

// occupy gives origin a slot.
func (r *Router) occupy(origin uint64) int32 {
	at := self
	switch {
	case origin == r.cfg.ID:
	case len(r.free) > 0:
		at = r.free[len(r.free)-1]
		r.free = r.free[:len(r.free)-1]
	default:
		at = int32(len(r.slots))
		r.slots = append(r.slots, slot{})
	}
	r.slotOf[origin] = at
	return at
}

// entitled returns the numbers of those prefixes of a that its origin may announce, ascending. The others are left
// out of the table, but the advertisement travels on: other nodes may trust others.
func (r *Router) entitled(a *advert) []int32 {
	numbers := make([]int32, 0, len(a.prefixes))
	for _, p := range a.prefixes {
		if a.origin != r.cfg.ID && r.cfg.Verify != nil && !r.cfg.Verify(a.origin, p, a.body) {
			r.drop(Unentitled)
			continue
		}
		numbers = append(numbers, r.table.number(p))
	}
	slices.Sort(numbers)
	return numbers
}

// vacate forgets the advertisement in slot at.
func (r *Router) vacate(at int32) {
	s := &r.slots[at]
	i := r.place(s.origin)
	r.order = slices.Delete(r.order, i, i+1)
	delete(r.slotOf, s.origin)
	r.bytes -= len(s.body)
	r.credit(s, -1)
	r.table.replace(at, s.prefixes, nil)
	s.advert = nil
	r.relink(at)
	*s = slot{}
	for _, n := range r.neighbours {
		if int(at) < len(n.knows) {
			n.knows[at] = stamp{}
		}
	}
	r.recompute()
	if at == self {
		r.vanished()
		return
	}
	r.free = append(r.free, at)
}

// expire forgets what was not renewed in time.
func (r *Router) expire() {
	if r.now < r.nextExpiry {
		return
	}
	r.nextExpiry = machine.Never
	for _, at := range slices.Clone(r.order) {
		if ends := r.slots[at].born + r.life(r.slots[at].advert); ends > r.now {
			r.nextExpiry = min(r.nextExpiry, ends)
			continue
		}
		r.count.Expired++
		r.vacate(at)
	}
}

// heed compares a summary of n with the database: what n lacks is offered. What we lack, n offers when it has our
// summary.
func (r *Router) heed(n *neighbour, s summary) {
	j := 0
	for i := r.place(s.lo); i < len(r.order); i++ {
		at := r.order[i]
		held := &r.slots[at]
		if held.origin > s.hi {
			break
		}
		for ; j < s.len(); j++ {
			id, st := s.at(j)
			if id == held.origin {
				n.learn(at, st)
			}
			if id >= held.origin {
				break
			}
		}
		n.offer(at, held.stamp)
	}
}

// cut splits s after limit entries.
func (d *database) cut(s span, limit int) (done, rest span, more bool) {
	end := d.place(s.lo) + limit
	if end >= len(d.order) || d.slots[d.order[end]].origin > s.hi {
		return s, span{}, false
	}
	hi := d.slots[d.order[end-1]].origin
	return span{s.lo, hi}, span{hi + 1, s.hi}, true
}

// appendSummary appends a summary record.
func (d *database) appendSummary(b []byte, s span) []byte {
	from := d.place(s.lo)
	to := from
	for to < len(d.order) && d.slots[d.order[to]].origin <= s.hi {
		to++
	}
	b = appendRecord(b, recordSummary, 16+(to-from)*summaryLen)
	b = binary.BigEndian.AppendUint64(b, s.lo)
	b = binary.BigEndian.AppendUint64(b, s.hi)
	for _, at := range d.order[from:to] {
		b = binary.BigEndian.AppendUint64(b, d.slots[at].origin)
		b = appendStamp(b, d.slots[at].stamp)
	}
	return b
}
