package wire

import "math"

// Types of metadata elements, in the order of the content, which is that of the types. Segment size and size are those
// of file servers elsewhere, and so is the time; the last three are ours.
const (
	typeSegmentSize    = 0xF500
	typeSize           = 0xF502
	typeManifestDigest = 0xF580
	typeDest           = 0xF582
	typeOnlyLeaf       = 0xF584
)

// Metadata is the content of the reply to /<name>/32=metadata: which version is newest, and how to fetch it.
type Metadata struct {
	Name       Name   // the object's name with its version
	FinalChunk uint64 // number of the last chunk
	HasFinal   bool
	Size       int64 // bytes
	HasSize    bool
	ChunkSize  int // bytes, 1…8000; 0 when absent
	Digest     Digest
	Dest       Name   // the producer prefix, a prefix of Name
	HasMARS    bool   // Digest and Dest are there, and with them all the rest, consistent
	MTime      int64  // ns since 1970; 0: not known
	Leaf       []byte // with HasMARS, of a small object: the manifest's only leaf, not checked; nil: absent
}

// Append encodes the metadata. With HasMARS, FinalChunk follows from Size and ChunkSize, which must be a valid Layout.
func (m *Metadata) Append(dst []byte) []byte {
	dst = m.Name.AppendTLV(dst)
	final, hasFinal := m.FinalChunk, m.HasFinal
	if m.HasMARS {
		final, hasFinal = uint64(m.Layout().Chunks()-1), true
	}
	if hasFinal {
		dst = AppendTL(dst, typeFinalBlock, 2+NaturalLen(final))
		dst = AppendNaturalTLV(dst, TypeSegment, final)
	}
	if m.HasMARS || m.ChunkSize > 0 {
		dst = AppendNaturalTLV(dst, typeSegmentSize, uint64(m.ChunkSize))
	}
	if m.HasMARS || m.HasSize {
		dst = AppendNaturalTLV(dst, typeSize, uint64(m.Size))
	}
	if m.MTime > 0 {
		dst = AppendNaturalTLV(dst, typeMTime, uint64(m.MTime))
	}
	if m.HasMARS {
		dst = AppendTLV(dst, typeManifestDigest, m.Digest[:])
		dst = m.Dest.AppendTLV(AppendTL(dst, typeDest, TLVLen(TypeName, len(m.Dest))))
		if m.Leaf != nil {
			dst = AppendTLV(dst, typeOnlyLeaf, m.Leaf)
		}
	}
	return dst
}

// Layout is the object's shape.
func (m *Metadata) Layout() Layout { return Layout{m.Size, m.ChunkSize} }

// Decode reads b, the whole content. Name, Dest and Leaf alias it. It begins with the name; of the rest a stranger may leave
// out anything. Unknown even types ≥ 32 are ignored, as is a FinalBlockId that isn't a segment. With a manifest digest
// everything must be there and agree. Errors are of type Error.
func (m *Metadata) Decode(b []byte) error {
	*m = Metadata{}
	var last uint64
	for at := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		known := false
		switch typ {
		case TypeName, typeFinalBlock, typeSegmentSize, typeSize, typeMTime, typeManifestDigest, typeDest, typeOnlyLeaf:
			known = true
		}
		switch {
		case at == 0 && typ != TypeName:
			return ErrName
		case !known || typ <= last:
			err = misplaced(typ, known)
		default:
			last = typ
			err = m.take(typ, b[from:to:to])
		}
		if err != nil {
			return err
		}
		at = to
	}
	if last == 0 {
		return ErrMissing
	}
	return m.check()
}

// take reads the value of one element that is in its place.
func (m *Metadata) take(typ uint64, value []byte) (err error) {
	switch typ {
	case TypeName:
		m.Name, err = DecodeName(value)
	case typeFinalBlock:
		if err = checkFinalBlock(value); err != nil {
			return err
		}
		if c, _, _ := Name(value).Next(); c.Type == TypeSegment {
			m.FinalChunk, m.HasFinal = c.Number()
		}
	case typeSegmentSize:
		v, ok := Natural(value)
		if !ok {
			return ErrNumber
		}
		if v >= 1 && v <= ChunkSize { // another chunk size is a stranger's, and no use to us
			m.ChunkSize = int(v)
		}
	case typeSize:
		v, ok := Natural(value)
		if !ok {
			return ErrNumber
		}
		if v > math.MaxInt64 {
			return ErrValue
		}
		m.Size, m.HasSize = int64(v), true
	case typeMTime:
		if v, ok := Natural(value); ok && v <= math.MaxInt64 { // another form is a stranger's, and no use to us
			m.MTime = int64(v)
		}
	case typeOnlyLeaf:
		m.Leaf = value
	case typeManifestDigest:
		if len(value) != digestLen {
			return ErrLength
		}
		m.Digest, m.HasMARS = Digest(value), true
	case typeDest:
		typ, from, err := whole(value)
		if err != nil {
			return err
		}
		if typ != TypeName {
			return ErrName
		}
		m.Dest, err = DecodeName(value[from:])
		return err
	}
	return err
}

// check judges MARS's elements, which are of use only together.
func (m *Metadata) check() error {
	if !m.HasMARS {
		m.Dest, m.Leaf = nil, nil
		return nil
	}
	if !m.HasFinal || !m.HasSize || m.ChunkSize == 0 || len(m.Dest) == 0 {
		return ErrMissing
	}
	version, ok := m.Name.At(m.Name.Len() - 1)
	number, isNumber := version.Number()
	switch {
	case !ok || version.Type != TypeVersion || !isNumber || number != VersionOf(m.Digest):
		return ErrValue // MARS §2: the version is the digest's beginning
	case m.FinalChunk != uint64(m.Layout().Chunks()-1):
		return ErrValue
	case !m.Name.HasPrefix(m.Dest) || m.Dest.Len() == m.Name.Len():
		return ErrValue // the object is named beneath its producer
	}
	return nil
}
