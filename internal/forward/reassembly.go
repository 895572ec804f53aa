package forward

import (
	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// Reassembly is bounded per face (interop.md): a peer that never finishes its packets costs this much and no more.
const (
	reassemblySlots   = 16
	reassemblyTimeout = 500 * machine.Millisecond
)

// reassembler puts fragmented network packets of one face together (NDNLPv2 fragmentation).
type reassembler struct {
	slots  []partial
	used   int        // how many of them are
	last   *partial   // that a fragment was for: the next one mostly is, too
	done   [64]uint64 // Sequences of fragment 0 of the latest packets that are whole: what comes for them again is no new packet
	wholes int        // how many there were
	order  bool       // the last whole packet came in order: nothing of it was sent again
}

// partial is a packet of which some fragments have come.
type partial struct {
	used  bool
	order bool   // fragments came in order, so buf is the packet already
	base  uint64 // Sequence of fragment 0
	count int
	next  int    // next index in order
	got   uint64 // bit i: fragment i is here
	since machine.Time
	buf   []byte
	lent  *machine.Lent // held, and buf is its bytes from from on; nil: buf is the pool's
	from  int
	hdr   wire.Packet // header of fragment 0; its PitToken is tok
	tok   token
	at    [wire.MaxFragments]uint16 // where fragment i begins in buf
	size  [wire.MaxFragments]uint16
}

// add takes one fragment. Its bytes may be lent. When it completes its packet that is whole, which now belongs to the caller, with the
// header hdr, which holds until the next call. Until then both are nil. drop tells why the fragment was refused.
func (r *reassembler) add(now machine.Time, p *wire.Packet, tail machine.Part, bufs *pool) (hdr *wire.Packet, whole *packet, drop DropReason) {
	if !p.HasSequence {
		return nil, nil, DropFragment
	}
	for _, base := range r.done[:min(r.wholes, len(r.done))] {
		if base == p.Sequence-p.FragIndex {
			return nil, nil, DropDuplicateFragment
		}
	}
	s, drop := r.slot(now, p.Sequence-p.FragIndex, int(p.FragCount), bufs)
	if drop != 0 {
		return nil, nil, drop
	}
	i := int(p.FragIndex)
	if s.got&(1<<i) != 0 {
		return nil, nil, DropDuplicateFragment
	}
	if len(s.buf)+len(p.Fragment) > bufferSize {
		r.release(s, bufs)
		return nil, nil, DropFragment
	}
	s.got |= 1 << i
	s.at[i], s.size[i] = uint16(len(s.buf)), uint16(len(p.Fragment))
	s.append(p.Fragment, tail, bufs)
	s.order = s.order && i == s.next
	s.next++
	if i == 0 {
		s.hdr, s.tok = *p, makeToken(p.PitToken)
	}
	if s.next < s.count {
		return nil, nil, 0
	}
	r.done[r.wholes%len(r.done)], r.order = s.base, s.order
	r.wholes++
	whole = s.whole(bufs)
	r.release(s, bufs)
	s.hdr.PitToken = s.tok.bytes()
	return &s.hdr, whole, 0
}

// slot finds the packet that a fragment belongs to, or makes room for a new one: an expired slot first, else the oldest.
func (r *reassembler) slot(now machine.Time, base uint64, count int, bufs *pool) (*partial, DropReason) {
	if s := r.last; s != nil && s.used && s.base == base && s.count == count && now-s.since <= reassemblyTimeout {
		return s, 0
	}
	if r.slots == nil {
		r.slots = make([]partial, reassemblySlots)
	}
	free := &r.slots[0]
	for i := 0; i < len(r.slots) && r.used > 0; i++ {
		s := &r.slots[i]
		if s.used && now-s.since > reassemblyTimeout {
			r.release(s, bufs)
		}
		switch {
		case s.used && (s.base == base || planted.Is(planted.FragmentMix) && s.count == count):
			if s.count != count {
				return nil, DropFragment
			}
			r.last = s
			return s, 0
		case free.used && (!s.used || s.since < free.since):
			free = s
		}
	}
	if free.used {
		r.release(free, bufs)
	}
	free.used, free.order, free.base, free.count, free.since = true, true, base, count, now
	free.got, free.next = 0, 0
	r.used++
	r.last = free
	return free, 0
}

// append puts a fragment behind the others. Lent bytes that follow each other, as those of a packet do that somebody has sent in
// pieces, stay where they are.
func (s *partial) append(fragment []byte, tail machine.Part, bufs *pool) {
	switch {
	case tail.Of != nil && s.next == 0:
		s.lent, s.from, s.buf = tail.Of.Hold(), tail.From, tail.Bytes()
		return
	case tail.Of != nil && tail.Of == s.lent && tail.From == s.from+len(s.buf):
		s.buf = s.lent.Bytes[s.from:tail.To:tail.To]
		return
	case s.next == 0:
		s.buf = bufs.get()
	case s.lent != nil:
		s.buf = append(bufs.get(), s.buf...)
		s.lent.Release()
		s.lent = nil
	}
	s.buf = append(s.buf, fragment...)
}

// whole is the packet, its bytes in order. It takes what the slot holds.
func (s *partial) whole(bufs *pool) *packet {
	if !s.order {
		body := bufs.get()
		for i := range s.count {
			body = append(body, s.buf[s.at[i]:int(s.at[i])+int(s.size[i])]...)
		}
		return bufs.packet(body)
	}
	p := bufs.packet(s.buf)
	if s.lent != nil {
		p.buf, p.lent, p.at = nil, s.lent, s.from
	}
	s.buf, s.lent = nil, nil
	return p
}

// release frees a slot.
func (r *reassembler) release(s *partial, bufs *pool) {
	if s.lent != nil {
		s.lent.Release()
	} else {
		bufs.put(s.buf)
	}
	s.used, s.buf, s.lent = false, nil, nil
	r.used--
}

// reset forgets every packet.
func (r *reassembler) reset(bufs *pool) {
	for i := range r.slots {
		if s := &r.slots[i]; s.used {
			r.release(s, bufs)
		}
	}
}
