package fetch

import (
	"encoding/binary"

	"mars/internal/machine"
	"mars/internal/wire"
)

// kind says what a pending Interest asks for.
type kind uint8

const (
	metadata kind = iota + 1
	segment       // of the manifest
	chunk
)

// item is something that a transfer asks for.
type item struct {
	kind  kind
	index int64
}

// pending is an Interest that waits for its Data. Its slot and generation are its PitToken. One for a chunk or segment is
// either in flight, in its flow's list, or lost, in its flow's agenda.
type pending struct {
	slot uint32
	gen  uint16
	t    *transfer // nil: the slot is free
	item

	nonce      uint32       // of the last transmission
	tries      int          // transmissions
	asked      machine.Time // time of the first
	sent       machine.Time // and of the last
	born, seq  uint64       // order of sending within the flow, of the first and the last transmission
	prev, next *pending

	lost      bool
	notBefore machine.Time // lost: not sent again before
	heap      int
}

func (p *pending) due() (machine.Time, uint64) { return p.notBefore, p.seq }
func (p *pending) place() *int                 { return &p.heap }

// tokenLen is the length of a PitToken: a Data packet echoes it. ndnd accepts no other length (interop.md).
const tokenLen = 6

// pendings is the table of pending Interests.
type pendings struct {
	slots []*pending
	free  []*pending
}

// take makes a pending Interest.
func (s *pendings) take(t *transfer, it item) *pending {
	var p *pending
	if n := len(s.free); n > 0 {
		p, s.free = s.free[n-1], s.free[:n-1]
	} else {
		p = &pending{slot: uint32(len(s.slots))}
		s.slots = append(s.slots, p)
	}
	*p = pending{slot: p.slot, gen: p.gen + 1, t: t, item: it}
	t.pending++
	return p
}

// byToken finds the pending Interest that a token names; nil if there is none.
func (s *pendings) byToken(tok []byte) *pending {
	if len(tok) != tokenLen {
		return nil
	}
	slot := binary.BigEndian.Uint32(tok)
	if uint64(slot) >= uint64(len(s.slots)) {
		return nil
	}
	p := s.slots[slot]
	if p.t == nil || p.gen != binary.BigEndian.Uint16(tok[4:]) {
		return nil
	}
	return p
}

// release forgets a pending Interest, wherever it is.
func (e *Engine) release(p *pending) {
	switch {
	case p.kind == metadata:
		p.t.question = nil
	case p.lost:
		p.t.flow.lost.remove(p)
	case p.tries > 0:
		p.t.flow.unlink(p)
	}
	p.t.pending--
	p.t = nil
	e.pendings.free = append(e.pendings.free, p)
}

// encode writes the Interest of p into buf, which is large enough.
func (e *Engine) encode(p *pending, i wire.Interest, size uint64, buf []byte) int {
	const hops = 64
	p.nonce = e.rand.Uint32()
	i.Nonce, i.HasNonce, i.HopLimit, i.HasHopLimit = p.nonce, true, hops, true
	var tok [tokenLen]byte
	binary.BigEndian.PutUint32(tok[:], p.slot)
	binary.BigEndian.PutUint16(tok[4:], p.gen)
	h := wire.Packet{PitToken: tok[:], SizeHint: size, Bad: p.suspects()}
	return len(i.Append(h.AppendHeader(buf[:0], i.Len())))
}
