package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Types of name components (packet spec, "Name"; NDN naming conventions rev. 3). Segment, byte offset, version, timestamp
// and sequence hold a NonNegativeInteger.
const (
	TypeImplicitDigest = 1
	TypeParamsDigest   = 2
	TypeGeneric        = 8
	TypeKeyword        = 32
	TypeSegment        = 50
	TypeByteOffset     = 52
	TypeVersion        = 54
	TypeTimestamp      = 56
	TypeSequence       = 58

	maxComponentType = 65535
	digestLen        = 32
)

// TypeName is the type of a Name element.
const TypeName = 7

// Name is the value of a Name element: its component elements, one after the other, valid by construction. nil is
// the empty name "/". A Name aliases the packet it was decoded from; Clone it to keep it.
//
// Since numbers on the wire have one form only, equal names are equal bytes, a prefix is a prefix of the bytes, and
// the canonical order is the order of the bytes.
type Name []byte

// Component is one component of a Name; Value aliases the name.
type Component struct {
	Type  uint64 // 1…65535
	Value []byte
}

// Number is the component's NonNegativeInteger; false when the value isn't one.
func (c Component) Number() (uint64, bool) { return Natural(c.Value) }

// DecodeName checks the value of a Name element and returns it as a Name without a copy.
func DecodeName(value []byte) (Name, error) {
	if _, err := checkName(value); err != nil {
		return nil, err
	}
	return asName(value), nil
}

// asName is value as a Name that can't grow into the bytes behind it; nil when empty.
func asName(value []byte) Name {
	if len(value) == 0 {
		return nil
	}
	return Name(value[:len(value):len(value)])
}

// checkName checks component types and digest lengths, and counts the parameters digests.
func checkName(value []byte) (params int, err error) {
	for at := 0; at < len(value); {
		typ, from, to, err := element(value, at)
		if err != nil {
			return 0, err
		}
		if typ > maxComponentType {
			return 0, ErrName
		}
		if typ <= TypeParamsDigest {
			if to-from != digestLen {
				return 0, ErrName
			}
			if typ == TypeParamsDigest {
				params++
			}
		}
		at = to
	}
	return params, nil
}

// checkNames checks that b is one or more Name elements (a ForwardingHint).
func checkNames(b []byte) error {
	if len(b) == 0 {
		return ErrMissing
	}
	for at := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		if typ != TypeName {
			if err := misplaced(typ, false); err != nil {
				return err
			}
		} else if _, err := checkName(b[from:to]); err != nil {
			return err
		}
		at = to
	}
	return nil
}

// Len is the number of components.
func (n Name) Len() int {
	count := 0
	for {
		_, rest, ok := n.Next()
		if !ok {
			return count
		}
		count, n = count+1, rest
	}
}

// Next splits off the first component; false at the end.
func (n Name) Next() (c Component, rest Name, ok bool) {
	typ, from, to, err := element(n, 0)
	if err != nil {
		return Component{}, nil, false
	}
	return Component{typ, n[from:to:to]}, n[to:], true
}

// offset is where component k begins: len(n) when there are k or fewer.
func (n Name) offset(k int) int {
	at := 0
	for ; k > 0 && at < len(n); k-- {
		_, _, to, err := element(n, at)
		if err != nil {
			return len(n)
		}
		at = to
	}
	return at
}

// Prefix is the first k components, without a copy; the whole name when it has no more than k.
func (n Name) Prefix(k int) Name { return asName(n[:n.offset(k)]) }

// At is component i, counted from 0; false when there is none.
func (n Name) At(i int) (Component, bool) {
	if i < 0 {
		return Component{}, false
	}
	c, _, ok := n[n.offset(i):].Next()
	return c, ok
}

// HasPrefix tells whether the first components of n are those of p.
func (n Name) HasPrefix(p Name) bool { return bytes.HasPrefix(n, p) }

// Equal tells whether both names have the same components.
func (n Name) Equal(o Name) bool { return bytes.Equal(n, o) }

// Compare orders names canonically: component by component, by type, then length, then bytes; a proper prefix comes
// first. The result is −1, 0 or 1.
func (n Name) Compare(o Name) int { return bytes.Compare(n, o) }

// Append appends a component, like the builtin append: the result may or may not share n's array. It panics when typ
// is not 1…65535 or a digest hasn't 32 bytes.
func (n Name) Append(typ uint64, value []byte) Name {
	if typ == 0 || typ > maxComponentType || typ <= TypeParamsDigest && len(value) != digestLen {
		panic("wire: no such name component")
	}
	return AppendTLV(n, typ, value)
}

// AppendString appends a component with the bytes of value.
func (n Name) AppendString(typ uint64, value string) Name {
	if typ <= TypeParamsDigest || typ > maxComponentType {
		panic("wire: no such name component")
	}
	return append(AppendTL(n, typ, len(value)), value...)
}

// AppendNumber appends a component that holds v as the shortest NonNegativeInteger. It panics when typ is not
// 3…65535.
func (n Name) AppendNumber(typ, v uint64) Name {
	if typ <= TypeParamsDigest || typ > maxComponentType {
		panic("wire: no such name component")
	}
	return AppendNaturalTLV(n, typ, v)
}

// Clone is a copy of n that shares nothing with it.
func (n Name) Clone() Name { return bytes.Clone(n) }

// AppendTLV appends n as a Name element.
func (n Name) AppendTLV(dst []byte) []byte { return AppendTLV(dst, TypeName, n) }

// Nothing up the sleeve: the first 64 fractional bits of √2 (made odd), √3, √5 and √7.
const (
	hash0 = 0x6a09e667f3bcc909
	hash1 = 0xbb67ae8584caa73b
	hash2 = 0x3c6ef372fe94f82b
	hash3 = 0xa54ff53a5f1d36f1
)

// Hash mixes the name with seed. It is fast, the same on every architecture, and not cryptographic: with a secret
// seed strangers can't aim at collisions. Each pair of words is keyed with the seed before it is multiplied, and what was
// mixed so far stays beside the product: no word can be chosen to erase it.
func (n Name) Hash(seed uint64) uint64 {
	b := []byte(n)
	size := uint64(len(b))
	k0, k1 := mix(seed^hash0, hash1), mix(seed^hash2, hash3)
	h := seed ^ k0
	for len(b) > 16 {
		h = bits.RotateLeft64(h, 29) ^ mix(binary.LittleEndian.Uint64(b)^k0, binary.LittleEndian.Uint64(b[8:])^k1^h)
		b = b[16:]
	}
	// The tail overlaps what was mixed rather than being padded; size tells tails of equal bytes apart.
	var x, y uint64
	switch k := len(b); {
	case k >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[k-8:])
	case k >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[k-4:]))
	case k > 0:
		x = uint64(b[0])<<16 | uint64(b[k/2])<<8 | uint64(b[k-1])
	}
	h = bits.RotateLeft64(h, 29) ^ mix(x^k0, y^k1^h)
	return mix(h^hash3, size^k1) ^ h
}

// mix folds the 128-bit product of a and b.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
