package wire

import "encoding/binary"

// Types of link packet elements (NDNLPv2), by rising type as in the packet, but Fragment comes last.
const (
	TypeLinkPacket = 100

	typeFragment       = 80
	typeSequence       = 81
	typeFragIndex      = 82
	typeFragCount      = 83
	typePitToken       = 98
	typeNack           = 800
	typeNackReason     = 801
	typeNextHopFaceID  = 816
	typeCongestionMark = 832
	typeAck            = 836
	typeTxSequence     = 840
)

// MaxFragments is the largest FragCount we accept or send: 64 fragments carry MaxPacket at an MTU of 200.
const MaxFragments = 64

// MaxPitToken is the longest PitToken, bytes (NDNLPv2).
const MaxPitToken = 32

// NackReason tells why a Nack was sent.
type NackReason uint64

// The reasons for a Nack. NackLoop is ours (MARS §5.3).
const (
	NackNone       NackReason = 0 // no reason given
	NackCongestion NackReason = 50
	NackDuplicate  NackReason = 100
	NackNoRoute    NackReason = 150
	NackLoop       NackReason = 900
)

// Packet is an NDNLPv2 link packet, or a bare Interest or Data seen as one without header fields. Slices alias the
// packet it was decoded from.
type Packet struct {
	Sequence       uint64
	HasSequence    bool
	FragIndex      uint64 // < FragCount
	FragCount      uint64 // 0 or 1: not fragmented (Decode says 0); else ≤ MaxFragments, and HasSequence
	PitToken       []byte // 1…MaxPitToken bytes; nil if absent
	Nack           bool
	NackReason     NackReason
	NextHop        uint64 // NextHopFaceId: the face that an application wants its Interest to leave by; 0: absent
	CongestionMark uint64 // 0: absent
	Acks           Acks
	TxSequence     uint64
	HasTxSequence  bool
	Feedback       Feedback
	HasFeedback    bool
	Convergence    Convergence
	HasConvergence bool
	Label          Label
	HasLabel       bool
	PathTag        uint32
	HasPathTag     bool
	SizeHint       uint64 // expected bytes of the Data; 0: absent
	Bad            bool   // on Interests: the Data that came last by this name was false
	Fragment       []byte // nil: an idle packet
}

// Decode reads b, which must be exactly one LpPacket, Interest or Data; the last two become the Fragment. A Fragment
// that is whole must itself be exactly one Interest or Data element; its inside is not looked at. Fields of others that
// NDNLPv2 lets us ignore are ignored. Errors are of type Error.
func (p *Packet) Decode(b []byte) error {
	*p = Packet{}
	typ, at, err := whole(b)
	if err != nil {
		return err
	}
	if typ == TypeInterest || typ == TypeData {
		p.Fragment = b[:len(b):len(b)]
		return nil
	}
	if typ != TypeLinkPacket {
		return ErrType
	}
	var last uint64
	for at < len(b) {
		typ, from, to, err := element(b, at)
		switch {
		case err != nil:
			return err
		case typ == typeFragment && to != len(b): // ndn-cxx insists, too
			return ErrOrder
		case typ < last && typ != typeFragment, typ == last && typ != typeAck:
			return ErrOrder
		}
		if err := p.take(typ, b, at, from, to); err != nil {
			return err
		}
		last, at = typ, to
	}
	return p.check()
}

// DecodeParts is Decode of a link packet of which only the head is in one piece: the value of its Fragment, which must be there and
// be all that is missing, is fragment.
func (p *Packet) DecodeParts(head, fragment []byte) error {
	*p = Packet{}
	typ, at, to, err := elementBeyond(head, 0, len(fragment))
	switch {
	case err != nil:
		return err
	case typ != TypeLinkPacket:
		return ErrType
	case to != len(head)+len(fragment):
		return ErrTrailing
	}
	var last uint64
	for at < len(head) {
		if head[at] == typeFragment {
			_, from, to, err := elementBeyond(head, at, len(fragment))
			if err != nil {
				return err
			}
			if from != len(head) || to != len(head)+len(fragment) {
				return ErrOrder
			}
			p.Fragment = fragment[:len(fragment):len(fragment)]
			return p.check()
		}
		typ, from, to, err := element(head, at)
		if err != nil {
			return err
		}
		if typ < last || typ == last && typ != typeAck {
			return ErrOrder
		}
		if err := p.take(typ, head, at, from, to); err != nil {
			return err
		}
		last, at = typ, to
	}
	return ErrTruncated
}

// check judges fields that depend on each other.
func (p *Packet) check() error {
	if p.FragIndex >= max(p.FragCount, 1) || p.FragCount > 1 && !p.HasSequence {
		return ErrFragment
	}
	if p.FragCount > 1 {
		return nil
	}
	p.FragCount = 0
	if p.Fragment == nil {
		return nil
	}
	typ, _, err := whole(p.Fragment)
	if err != nil {
		return err
	}
	if typ != TypeInterest && typ != TypeData {
		return ErrFragment
	}
	return nil
}

// take reads one element, b[at:to], with its value from from on.
func (p *Packet) take(typ uint64, b []byte, at, from, to int) (err error) {
	value, ok := b[from:to:to], true
	switch typ {
	case typeFragment:
		if len(value) > 0 { // an empty one says no more than none
			p.Fragment = value
		}
	case typeSequence:
		p.Sequence, err = fixed64(value)
		p.HasSequence = true
	case typeFragIndex:
		p.FragIndex, ok = Natural(value)
	case typeFragCount:
		if p.FragCount, ok = Natural(value); ok && (p.FragCount == 0 || p.FragCount > MaxFragments) {
			err = ErrFragment
		}
	case typePitToken:
		p.PitToken = value
		if len(value) == 0 || len(value) > MaxPitToken {
			err = ErrLength
		}
	case typeNack:
		p.Nack = true
		p.NackReason, err = decodeNack(value)
	case typeNextHopFaceID:
		p.NextHop, ok = Natural(value)
	case typeCongestionMark:
		p.CongestionMark, ok = Natural(value)
	case typeAck:
		_, err = fixed64(value)
		p.Acks.extend(b, at, to)
	case typeTxSequence:
		p.TxSequence, err = fixed64(value)
		p.HasTxSequence = true
	case typeFeedback, typeConvergence, typeLabel, typePathTag, typeSizeHint, typeBad:
		err = p.takeHop(typ, value)
	default:
		if !ignorable(typ) {
			err = ErrCritical
		}
	}
	if !ok {
		return ErrNumber
	}
	return err
}

// ignorable tells whether an unknown header field may be ignored (NDNLPv2, "Header fields").
func ignorable(typ uint64) bool { return typ >= 800 && typ <= 959 && typ%4 == 0 }

// fixed64 reads an integer that always takes 8 bytes.
func fixed64(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, ErrLength
	}
	return binary.BigEndian.Uint64(value), nil
}

// decodeNack reads the value of a Nack field: nothing, or the reason first.
func decodeNack(b []byte) (reason NackReason, err error) {
	for at := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return 0, err
		}
		if typ == typeNackReason && at == 0 {
			v, ok := Natural(b[from:to])
			if !ok {
				return 0, ErrNumber
			}
			reason = NackReason(v)
		} else if !ignorable(typ) {
			return 0, ErrCritical
		}
		at = to
	}
	return reason, nil
}

// Append encodes the packet from its fields. Without header fields it is the bare Fragment.
func (p *Packet) Append(dst []byte) []byte {
	return append(p.AppendHeader(dst, len(p.Fragment)), p.Fragment...)
}

// AppendHeader appends the packet up to the first byte of a Fragment of fragmentLen bytes, which the caller appends
// next; p.Fragment is ignored. Without header fields it appends nothing. A fragmentLen of 0 makes an idle packet.
func (p *Packet) AppendHeader(dst []byte, fragmentLen int) []byte {
	fields := p.fieldsLen()
	if fields == 0 && fragmentLen > 0 {
		return dst
	}
	inner := fields
	if fragmentLen > 0 {
		inner += TLVLen(typeFragment, fragmentLen)
	}
	dst = p.appendFields(AppendTL(dst, TypeLinkPacket, inner))
	if fragmentLen > 0 {
		dst = AppendTL(dst, typeFragment, fragmentLen)
	}
	return dst
}

// HeaderLen is the number of bytes that AppendHeader appends.
func (p *Packet) HeaderLen(fragmentLen int) int {
	fields := p.fieldsLen()
	switch {
	case fragmentLen == 0:
		return TLVLen(TypeLinkPacket, fields)
	case fields == 0:
		return 0
	}
	return TLVLen(TypeLinkPacket, fields+TLVLen(typeFragment, fragmentLen)) - fragmentLen
}

func (p *Packet) appendFields(dst []byte) []byte {
	be := binary.BigEndian
	if p.HasSequence {
		dst = be.AppendUint64(append(dst, typeSequence, 8), p.Sequence)
	}
	if p.FragCount > 1 {
		dst = AppendNaturalTLV(dst, typeFragIndex, p.FragIndex)
		dst = AppendNaturalTLV(dst, typeFragCount, p.FragCount)
	}
	if len(p.PitToken) > 0 {
		dst = AppendTLV(dst, typePitToken, p.PitToken)
	}
	if p.Nack {
		dst = AppendTL(dst, typeNack, p.nackLen())
		if p.NackReason != NackNone {
			dst = AppendNaturalTLV(dst, typeNackReason, uint64(p.NackReason))
		}
	}
	if p.NextHop != 0 {
		dst = AppendNaturalTLV(dst, typeNextHopFaceID, p.NextHop)
	}
	if p.CongestionMark != 0 {
		dst = AppendNaturalTLV(dst, typeCongestionMark, p.CongestionMark)
	}
	dst = append(dst, p.Acks...)
	if p.HasTxSequence {
		dst = be.AppendUint64(AppendTL(dst, typeTxSequence, 8), p.TxSequence)
	}
	return p.appendHop(dst)
}

// fieldsLen is the number of bytes appendFields appends.
func (p *Packet) fieldsLen() int {
	n := len(p.Acks) + p.hopLen()
	if p.HasSequence {
		n += 2 + 8
	}
	if p.FragCount > 1 {
		n += 2 + NaturalLen(p.FragIndex) + 2 + NaturalLen(p.FragCount)
	}
	if len(p.PitToken) > 0 {
		n += TLVLen(typePitToken, len(p.PitToken))
	}
	if p.Nack {
		n += TLVLen(typeNack, p.nackLen())
	}
	if p.NextHop != 0 {
		n += 4 + NaturalLen(p.NextHop)
	}
	if p.CongestionMark != 0 {
		n += 4 + NaturalLen(p.CongestionMark)
	}
	if p.HasTxSequence {
		n += 4 + 8
	}
	return n
}

func (p *Packet) nackLen() int {
	if p.NackReason == NackNone {
		return 0
	}
	return 4 + NaturalLen(uint64(p.NackReason))
}
