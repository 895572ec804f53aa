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
}

// partial is a packet of which some fragments have come.
type partial struct {
	used  bool
	base  uint64 // Sequence of fragment 0
	count int
	got   uint64 // bit i: fragment i is here
	since machine.Time
	hdr   wire.Packet // header of fragment 0
	tok   token
	buf   []byte
	at    [wire.MaxFragments]uint16 // where fragment i begins in buf
	size  [wire.MaxFragments]uint16
	order bool // fragments came in order, so buf is the packet already
	next  int  // next index in order
}

// add takes one fragment. When it completes its packet, done is true and hdr and body are the packet; body is a pool
// buffer that now belongs to the caller. drop tells why the fragment was refused.
func (r *reassembler) add(now machine.Time, p *wire.Packet, bufs *pool) (hdr wire.Packet, tok token, body []byte, done bool, drop DropReason) {
	if !p.HasSequence {
		return hdr, tok, nil, false, DropFragment
	}
	base := p.Sequence - p.FragIndex
	s, drop := r.slot(now, base, int(p.FragCount), bufs)
	if drop != 0 {
		return hdr, tok, nil, false, drop
	}
	i := int(p.FragIndex)
	if s.got&(1<<i) != 0 {
		return hdr, tok, nil, false, DropDuplicateFragment
	}
	if len(s.buf)+len(p.Fragment) > bufferSize {
		s.release(bufs)
		return hdr, tok, nil, false, DropFragment
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
		return hdr, tok, nil, false, 0
	}
	hdr, tok = s.hdr, s.tok
	return hdr, tok, s.finish(bufs), true, 0
}

// slot finds the packet that a fragment belongs to, or makes room for a new one: an expired slot first, else the oldest.
func (r *reassembler) slot(now machine.Time, base uint64, count int, bufs *pool) (*partial, DropReason) {
	if r.slots == nil {
		r.slots = make([]partial, reassemblySlots)
	}
	var free *partial
	for i := range r.slots {
		s := &r.slots[i]
		if s.used && now-s.since > reassemblyTimeout {
			s.release(bufs)
		}
		switch {
		case s.used && (s.base == base || planted.Is(planted.FragmentMix) && s.count == count):
			if s.count != count {
				return nil, DropFragment
			}
			return s, 0
		case !s.used && (free == nil || free.used):
			free = s
		case s.used && (free == nil || free.used && s.since < free.since):
			free = s
		}
	}
	if free.used {
		free.release(bufs)
	}
	*free = partial{used: true, base: base, count: count, since: now, buf: bufs.get(), order: true}
	return free, 0
}

// finish returns the packet's bytes in order and frees the slot.
func (s *partial) finish(bufs *pool) []byte {
	body := s.buf
	if !s.order {
		body = bufs.get()
		for i := range s.count {
			body = append(body, s.buf[s.at[i]:int(s.at[i])+int(s.size[i])]...)
		}
		bufs.put(s.buf)
	}
	*s = partial{}
	return body
}

func (s *partial) release(bufs *pool) {
	bufs.put(s.buf)
	*s = partial{}
}
