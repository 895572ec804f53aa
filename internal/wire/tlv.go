package wire

import (
	"encoding/binary"
	"math"
)

// MaxPacket is the largest NDN network packet, bytes (the practical limit all implementations share).
const MaxPacket = 8800

// AppendVar appends v as a VAR-NUMBER of 1, 3, 5 or 9 bytes.
func AppendVar(dst []byte, v uint64) []byte {
	switch {
	case v < 253:
		return append(dst, byte(v))
	case v <= math.MaxUint16:
		return append(dst, 253, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 254), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(dst, 255), v)
	}
}

// VarLen is the number of bytes AppendVar appends for v.
func VarLen(v uint64) int {
	switch {
	case v < 253:
		return 1
	case v <= math.MaxUint16:
		return 3
	case v <= math.MaxUint32:
		return 5
	default:
		return 9
	}
}

// AppendTL appends the type and the length of an element whose value of length bytes the caller appends next.
func AppendTL(dst []byte, typ uint64, length int) []byte {
	return AppendVar(AppendVar(dst, typ), uint64(length))
}

// AppendTLV appends a whole element.
func AppendTLV(dst []byte, typ uint64, value []byte) []byte {
	return append(AppendTL(dst, typ, len(value)), value...)
}

// TLVLen is the number of bytes of an element with length bytes of value.
func TLVLen(typ uint64, length int) int {
	return VarLen(typ) + VarLen(uint64(length)) + length
}

// AppendNatural appends v as the shortest NonNegativeInteger: 1, 2, 4 or 8 bytes.
func AppendNatural(dst []byte, v uint64) []byte {
	switch {
	case v <= math.MaxUint8:
		return append(dst, byte(v))
	case v <= math.MaxUint16:
		return append(dst, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	default:
		return binary.BigEndian.AppendUint64(dst, v)
	}
}

// NaturalLen is the number of bytes AppendNatural appends for v.
func NaturalLen(v uint64) int {
	switch {
	case v <= math.MaxUint8:
		return 1
	case v <= math.MaxUint16:
		return 2
	case v <= math.MaxUint32:
		return 4
	default:
		return 8
	}
}

// AppendNaturalTLV appends an element whose value is v as the shortest NonNegativeInteger.
func AppendNaturalTLV(dst []byte, typ, v uint64) []byte {
	return AppendNatural(AppendTL(dst, typ, NaturalLen(v)), v)
}

// Natural reads a NonNegativeInteger, which fills value. Only lengths 1, 2, 4 and 8 are legal; a longer form than
// needed is.
func Natural(value []byte) (v uint64, ok bool) {
	switch len(value) {
	case 1:
		return uint64(value[0]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(value)), true
	case 4:
		return uint64(binary.BigEndian.Uint32(value)), true
	case 8:
		return binary.BigEndian.Uint64(value), true
	default:
		return 0, false
	}
}

// ReadTLV splits the first element off b. Neither value nor rest is a copy. Errors: ErrTruncated, ErrNumber, ErrType.
func ReadTLV(b []byte) (typ uint64, value, rest []byte, err error) {
	typ, from, to, err := element(b, 0)
	if err != nil {
		return 0, nil, nil, err
	}
	return typ, b[from:to:to], b[to:], nil
}

// FrameLen is the length of the element that a stream begins with: 0 when b is too short to tell. It may exceed
// len(b). Errors: a malformed or illegal type or length, or one past limit bytes in all; the stream is then lost.
func FrameLen(b []byte, limit int) (int, error) {
	typ, at, err := varNumber(b, 0)
	if err == nil && (typ == 0 || typ > math.MaxUint32) {
		err = ErrType
	}
	var length uint64
	if err == nil {
		length, at, err = varNumber(b, at)
	}
	switch {
	case err == ErrTruncated:
		return 0, nil
	case err != nil:
		return 0, err
	case at > limit || length > uint64(limit-at):
		return 0, ErrLength
	}
	return at + int(length), nil
}

// varNumber reads the VAR-NUMBER at b[at], which must be in shortest form, and where it ends.
func varNumber(b []byte, at int) (v uint64, end int, err error) {
	if at >= len(b) {
		return 0, 0, ErrTruncated
	}
	first := b[at]
	if first < 253 {
		return uint64(first), at + 1, nil
	}
	rest := b[at+1:]
	var least uint64
	size := 2 << (first - 253)
	if len(rest) < size {
		return 0, 0, ErrTruncated
	}
	switch first {
	case 253:
		v, least = uint64(binary.BigEndian.Uint16(rest)), 253
	case 254:
		v, least = uint64(binary.BigEndian.Uint32(rest)), math.MaxUint16+1
	default:
		v, least = binary.BigEndian.Uint64(rest), math.MaxUint32+1
	}
	if v < least {
		return 0, 0, ErrNumber
	}
	return v, at + 1 + size, nil
}

// element reads the element at b[at]; its value is b[from:to]. Types are 1…2^32−1 (packet spec, "TLV").
func element(b []byte, at int) (typ uint64, from, to int, err error) {
	if at+1 < len(b) && b[at]-1 < 252 && b[at+1] < 253 { // one byte each: nearly every element
		from = at + 2
		if to = from + int(b[at+1]); to <= len(b) {
			return uint64(b[at]), from, to, nil
		}
		return 0, 0, 0, ErrTruncated
	}
	return elementBeyond(b, at, 0)
}

// elementBeyond is element where beyond more bytes follow b.
func elementBeyond(b []byte, at, beyond int) (typ uint64, from, to int, err error) {
	typ, at, err = varNumber(b, at)
	if err != nil {
		return 0, 0, 0, err
	}
	if typ == 0 || typ > math.MaxUint32 {
		return 0, 0, 0, ErrType
	}
	length, from, err := varNumber(b, at)
	if err != nil {
		return 0, 0, 0, err
	}
	if length > uint64(len(b)-from+beyond) { // compared as uint64: a length of 2^63 must not become a negative int
		return 0, 0, 0, ErrTruncated
	}
	return typ, from, from + int(length), nil
}

// whole checks that b is exactly one element and returns its type and where its value begins.
func whole(b []byte) (typ uint64, from int, err error) {
	typ, from, to, err := element(b, 0)
	if err == nil && to != len(b) {
		err = ErrTrailing
	}
	return typ, from, err
}

// misplaced judges an element that is unknown or not where it belongs (packet spec, "Packet evolvability"): critical
// types (≤ 31 or odd) are an error, others are to be ignored.
func misplaced(typ uint64, known bool) error {
	switch {
	case typ > 31 && typ&1 == 0:
		return nil
	case known:
		return ErrOrder
	default:
		return ErrCritical
	}
}
