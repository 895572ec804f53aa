package wire

import "crypto/sha256"

// Types of Data elements, in the order of the packet.
const (
	TypeData = 6

	typeMetaInfo       = 20
	typeContentType    = 24
	typeFreshness      = 25
	typeFinalBlock     = 26
	typeContent        = 21
	typeSignatureInfo  = 22
	typeSignatureType  = 27
	typeSignatureValue = 23
)

// Content types.
const (
	ContentBlob = 0
	ContentLink = 1
	ContentKey  = 2
	ContentNack = 3
)

// Data is an NDN Data packet. Slices alias the packet it was decoded from.
type Data struct {
	Name           Name
	ContentType    uint64
	Freshness      uint64 // ms; 0 when absent
	FinalBlock     []byte // one raw component element; nil if absent
	Content        []byte // nil if absent, which Append keeps apart from empty
	SignatureType  uint64
	SignatureInfo  []byte // raw value; before Append nil means {SignatureType}
	SignatureValue []byte // may be empty (null signature)
	Signed         []byte // what the signature covers: Name up to, not including, SignatureValue
	Wire           []byte // the whole element as decoded
}

// Decode reads b, which must be exactly one Data. Errors are of type Error.
func (d *Data) Decode(b []byte) error {
	*d = Data{Wire: b[:len(b):len(b)]}
	typ, start, err := whole(b)
	if err != nil {
		return err
	}
	if typ != TypeData {
		return ErrType
	}
	var last uint64
	for at := start; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		// The order is Name 7, then MetaInfo 20 … SignatureValue 23 by rising type.
		known := typ == TypeName || typ >= typeMetaInfo && typ <= typeSignatureValue
		switch {
		case last == 0 && typ != TypeName:
			return ErrName
		case !known || typ <= last:
			err = misplaced(typ, known)
		default:
			last = typ
			if typ == typeSignatureValue {
				if d.SignatureInfo == nil {
					return ErrMissing
				}
				d.Signed = b[start:at:at]
			}
			err = d.take(typ, b[from:to:to])
		}
		if err != nil {
			return err
		}
		at = to
	}
	if last != typeSignatureValue {
		return ErrMissing
	}
	return nil
}

// take reads the value of one element that is in its place.
func (d *Data) take(typ uint64, value []byte) (err error) {
	switch typ {
	case TypeName:
		d.Name = asName(value)
		_, err = checkName(value)
	case typeMetaInfo:
		err = d.takeMetaInfo(value)
	case typeContent:
		d.Content = value
	case typeSignatureInfo:
		d.SignatureInfo = value
		d.SignatureType, err = checkSignatureInfo(value)
	case typeSignatureValue:
		d.SignatureValue = value
	}
	return err
}

func (d *Data) takeMetaInfo(b []byte) error {
	var last uint64
	for at := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		known := typ >= typeContentType && typ <= typeFinalBlock
		if !known || typ <= last {
			if err := misplaced(typ, known); err != nil {
				return err
			}
			at = to
			continue
		}
		last = typ
		value, ok := b[from:to:to], true
		switch typ {
		case typeContentType:
			d.ContentType, ok = Natural(value)
		case typeFreshness:
			d.Freshness, ok = Natural(value)
		case typeFinalBlock:
			d.FinalBlock = value
			if err := checkFinalBlock(value); err != nil {
				return err
			}
		}
		if !ok {
			return ErrNumber
		}
		at = to
	}
	return nil
}

// checkFinalBlock checks that value is exactly one component.
func checkFinalBlock(value []byte) error {
	if _, _, err := whole(value); err != nil {
		return err
	}
	_, err := checkName(value)
	return err
}

// FinalSegment is the segment number in FinalBlock; false when there is none.
func (d *Data) FinalSegment() (uint64, bool) {
	c, _, ok := Name(d.FinalBlock).Next()
	if !ok || c.Type != TypeSegment {
		return 0, false
	}
	return c.Number()
}

// ImplicitDigest is SHA-256 of the whole packet as decoded.
func (d *Data) ImplicitDigest() Digest { return sha256.Sum256(d.Wire) }

// Append encodes the Data from its fields.
func (d *Data) Append(dst []byte) []byte {
	dst = AppendTL(dst, TypeData, d.SignedLen()+TLVLen(typeSignatureValue, len(d.SignatureValue)))
	return AppendTLV(d.AppendSigned(dst), typeSignatureValue, d.SignatureValue)
}

// Len is the number of bytes Append appends.
func (d *Data) Len() int {
	n := d.SignedLen() + TLVLen(typeSignatureValue, len(d.SignatureValue))
	return TLVLen(TypeData, n)
}

// AppendSigned appends what a signature covers, from the fields: to sign, call it, put the signature into
// SignatureValue, then Append.
func (d *Data) AppendSigned(dst []byte) []byte {
	dst = d.Name.AppendTLV(dst)
	if n := d.metaLen(); n > 0 {
		dst = AppendTL(dst, typeMetaInfo, n)
		if d.ContentType != 0 {
			dst = AppendNaturalTLV(dst, typeContentType, d.ContentType)
		}
		if d.Freshness != 0 {
			dst = AppendNaturalTLV(dst, typeFreshness, d.Freshness)
		}
		if d.FinalBlock != nil {
			dst = AppendTLV(dst, typeFinalBlock, d.FinalBlock)
		}
	}
	if d.Content != nil {
		dst = AppendTLV(dst, typeContent, d.Content)
	}
	if d.SignatureInfo != nil {
		return AppendTLV(dst, typeSignatureInfo, d.SignatureInfo)
	}
	dst = AppendTL(dst, typeSignatureInfo, 2+NaturalLen(d.SignatureType))
	return AppendNaturalTLV(dst, typeSignatureType, d.SignatureType)
}

// SignedLen is the number of bytes AppendSigned appends.
func (d *Data) SignedLen() int {
	n := TLVLen(TypeName, len(d.Name))
	if m := d.metaLen(); m > 0 {
		n += TLVLen(typeMetaInfo, m)
	}
	if d.Content != nil {
		n += TLVLen(typeContent, len(d.Content))
	}
	info := len(d.SignatureInfo)
	if d.SignatureInfo == nil {
		info = 2 + NaturalLen(d.SignatureType)
	}
	return n + TLVLen(typeSignatureInfo, info)
}

// metaLen is the length of MetaInfo's value; 0 leaves it out.
func (d *Data) metaLen() int {
	n := 0
	if d.ContentType != 0 {
		n += 2 + NaturalLen(d.ContentType)
	}
	if d.Freshness != 0 {
		n += 2 + NaturalLen(d.Freshness)
	}
	if d.FinalBlock != nil {
		n += TLVLen(typeFinalBlock, len(d.FinalBlock))
	}
	return n
}
