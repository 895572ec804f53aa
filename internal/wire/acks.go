package wire

import "encoding/binary"

// AckLen is what one acknowledgement adds to a link packet, bytes.
const AckLen = 12

// Acks is a list of acknowledged TxSequences, as the elements that stand in the packet: fields ascend, so they
// are neighbours, and numbers have one form, so each takes AckLen bytes. nil is the empty list.
//
// A sender keeps the buffer: acks = acks[:0], then acks = acks.Add(seq) and p.Acks = acks.
type Acks []byte

// Add appends one acknowledgement, like the builtin append.
func (a Acks) Add(sequence uint64) Acks {
	return binary.BigEndian.AppendUint64(AppendTL(a, typeAck, 8), sequence)
}

// Len is the number of acknowledgements.
func (a Acks) Len() int { return len(a) / AckLen }

// Next splits off the first; false at the end.
func (a Acks) Next() (sequence uint64, rest Acks, ok bool) {
	if len(a) < AckLen {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(a[AckLen-8:]), a[AckLen:], true
}

// NextAck takes the first acknowledgement off p.Acks; false when none is left.
func (p *Packet) NextAck() (sequence uint64, ok bool) {
	sequence, p.Acks, ok = p.Acks.Next()
	return sequence, ok
}

// extend adds the Ack element b[at:to], which follows those already in the list.
func (a *Acks) extend(b []byte, at, to int) {
	from := at - len(*a)
	*a = Acks(b[from:to:to])
}
