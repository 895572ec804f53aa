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
	slots []partial
	used  int      // how many of them are
	last  *partial // that a fragment was for: the next one mostly is, too
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
	hdr   wire.Packet // header of fragment 0; its PitToken is tok
	tok   token
	at    [wire.MaxFragments]uint16 // where fragment i begins in buf
	size  [wire.MaxFragments]uint16
}

// add takes one fragment. When it completes its packet, hdr and body are the packet: hdr until the next call, body a pool
// buffer that now belongs to the caller. Until then hdr is nil. drop tells why the fragment was refused.
func (r *reassembler) add(now machine.Time, p *wire.Packet, bufs *pool) (hdr *wire.Packet, body []byte, drop DropReason) {
	if !p.HasSequence {
		return nil, nil, DropFragment
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
	s.buf = append(s.buf, p.Fragment...)
	s.order = s.order && i == s.next
	s.next++
	if i == 0 {
		s.hdr, s.tok = *p, makeToken(p.PitToken)
	}
	if s.next < s.count {
		return nil, nil, 0
	}
	body = s.whole(bufs)
	s.buf = nil
	r.release(s, bufs)
	s.hdr.PitToken = s.tok.bytes()
	return &s.hdr, body, 0
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
	free.got, free.next, free.buf = 0, 0, bufs.get()
	r.used++
	r.last = free
	return free, 0
}

// whole is the packet's bytes in order, in a buffer.
func (s *partial) whole(bufs *pool) []byte {
	if s.order {
		return s.buf
	}
	body := bufs.get()
	for i := range s.count {
		body = append(body, s.buf[s.at[i]:int(s.at[i])+int(s.size[i])]...)
	}
	bufs.put(s.buf)
	return body
}

// release frees a slot.
func (r *reassembler) release(s *partial, bufs *pool) {
	bufs.put(s.buf)
	s.used, s.buf = false, nil
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
