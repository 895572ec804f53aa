package wire

import "encoding/binary"

// Types and lengths of MARS's link header fields (doc.go, "Hop header").
const (
	typeFeedback    = 900
	typeConvergence = 904
	typeLabel       = 908
	typePathTag     = 912
	typeSizeHint    = 916
	typeBad         = 920

	feedbackLen       = 24
	feedbackDepartLen = 28
	convergenceLen    = 1
	labelLen          = 18
	pathTagLen        = 4
)

// Feedback is what the sending forwarder tells about its queues, raw: the receiver normalises (MARS §3).
type Feedback struct {
	InterestItems    uint32 // this flow's Interest queue, packets
	InterestCapacity uint32 // packets
	InterestSojourn  uint32 // age of its head, µs
	DataItems        uint32 // the Data queue toward the receiver, packets
	DataCapacity     uint32 // packets
	DataSojourn      uint32 // age of its head, µs
	Depart           uint32 // the sender's clock when the first fragment left, µs mod 2^32
	HasDepart        bool
}

// Convergence is the state of discovery above the sender of a PD Data (MARS §5.1).
type Convergence struct {
	Tier, Node bool
}

// Label is the sender's place in an epoch of a flow (MARS §5.2).
type Label struct {
	Boot  uint32 // boot nonce of the flow's source
	Epoch uint32 // counts up from one boot of the source
	Hops  uint16 // routed hops to dest
	Hash  uint64 // breaks ties
}

// Less orders labels of one epoch by hops, then hash. Boot and Epoch don't matter.
func (l Label) Less(o Label) bool {
	return l.Hops < o.Hops || l.Hops == o.Hops && l.Hash < o.Hash
}

// takeHop reads the value of one of MARS's fields.
func (p *Packet) takeHop(typ uint64, v []byte) error {
	ok := true
	switch typ {
	case typeFeedback:
		if len(v) != feedbackLen && len(v) != feedbackDepartLen {
			return ErrLength
		}
		p.Feedback, p.HasFeedback = Feedback{
			InterestItems:    binary.BigEndian.Uint32(v[0:]),
			InterestCapacity: binary.BigEndian.Uint32(v[4:]),
			InterestSojourn:  binary.BigEndian.Uint32(v[8:]),
			DataItems:        binary.BigEndian.Uint32(v[12:]),
			DataCapacity:     binary.BigEndian.Uint32(v[16:]),
			DataSojourn:      binary.BigEndian.Uint32(v[20:]),
		}, true
		if len(v) == feedbackDepartLen {
			p.Feedback.Depart, p.Feedback.HasDepart = binary.BigEndian.Uint32(v[24:]), true
		}
	case typeConvergence:
		if len(v) != convergenceLen {
			return ErrLength
		}
		if v[0] > 3 {
			return ErrValue
		}
		p.Convergence, p.HasConvergence = Convergence{Tier: v[0]&1 != 0, Node: v[0]&2 != 0}, true
	case typeLabel:
		if len(v) != labelLen {
			return ErrLength
		}
		p.Label, p.HasLabel = Label{
			Boot:  binary.BigEndian.Uint32(v[0:]),
			Epoch: binary.BigEndian.Uint32(v[4:]),
			Hops:  binary.BigEndian.Uint16(v[8:]),
			Hash:  binary.BigEndian.Uint64(v[10:]),
		}, true
	case typePathTag:
		if len(v) != pathTagLen {
			return ErrLength
		}
		p.PathTag, p.HasPathTag = binary.BigEndian.Uint32(v), true
	case typeSizeHint:
		if p.SizeHint, ok = Natural(v); !ok {
			return ErrNumber
		}
	case typeBad:
		if len(v) != 0 {
			return ErrLength
		}
		p.Bad = true
	}
	return nil
}

// appendHop appends MARS's fields.
func (p *Packet) appendHop(dst []byte) []byte {
	be := binary.BigEndian
	if p.HasFeedback {
		f := &p.Feedback
		dst = AppendTL(dst, typeFeedback, f.len())
		dst = be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, f.InterestItems), f.InterestCapacity), f.InterestSojourn)
		dst = be.AppendUint32(be.AppendUint32(be.AppendUint32(dst, f.DataItems), f.DataCapacity), f.DataSojourn)
		if f.HasDepart {
			dst = be.AppendUint32(dst, f.Depart)
		}
	}
	if p.HasConvergence {
		var v byte
		if p.Convergence.Tier {
			v |= 1
		}
		if p.Convergence.Node {
			v |= 2
		}
		dst = append(AppendTL(dst, typeConvergence, convergenceLen), v)
	}
	if p.HasLabel {
		dst = AppendTL(dst, typeLabel, labelLen)
		dst = be.AppendUint32(be.AppendUint32(dst, p.Label.Boot), p.Label.Epoch)
		dst = be.AppendUint64(be.AppendUint16(dst, p.Label.Hops), p.Label.Hash)
	}
	if p.HasPathTag {
		dst = be.AppendUint32(AppendTL(dst, typePathTag, pathTagLen), p.PathTag)
	}
	if p.SizeHint != 0 {
		dst = AppendNaturalTLV(dst, typeSizeHint, p.SizeHint)
	}
	if p.Bad {
		dst = AppendTL(dst, typeBad, 0)
	}
	return dst
}

// hopLen is the number of bytes appendHop appends.
func (p *Packet) hopLen() int {
	const tl = 3 + 1 // types of 253…65535, values shorter than 253
	n := 0
	if p.HasFeedback {
		n += tl + p.Feedback.len()
	}
	if p.HasConvergence {
		n += tl + convergenceLen
	}
	if p.HasLabel {
		n += tl + labelLen
	}
	if p.HasPathTag {
		n += tl + pathTagLen
	}
	if p.SizeHint != 0 {
		n += tl + NaturalLen(p.SizeHint)
	}
	if p.Bad {
		n += tl
	}
	return n
}

func (f *Feedback) len() int {
	if f.HasDepart {
		return feedbackDepartLen
	}
	return feedbackLen
}
