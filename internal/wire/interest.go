package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Types of Interest elements, in the order of the packet.
const (
	TypeInterest = 5

	typeCanBePrefix            = 33
	typeMustBeFresh            = 18
	typeForwardingHint         = 30
	typeNonce                  = 10
	typeLifetime               = 12
	typeHopLimit               = 34
	typeApplicationParameters  = 36
	typeInterestSignatureInfo  = 44
	typeInterestSignatureValue = 46
)

// DefaultLifetime is the lifetime of an Interest that doesn't say, ms.
const DefaultLifetime = 4000

// Interest is an NDN Interest. Slices alias the packet it was decoded from.
type Interest struct {
	Name                      Name
	CanBePrefix, MustBeFresh  bool
	ForwardingHint            []byte // the raw value, Name elements; nil if absent
	Nonce                     uint32
	HasNonce                  bool
	Lifetime                  uint64 // ms; after Decode never 0, before Append 0 means DefaultLifetime
	HopLimit                  uint8
	HasHopLimit               bool
	Parameters                []byte // the value of ApplicationParameters, may be empty
	HasParameters             bool
	SignatureInfo             []byte // raw value; nil if absent, and absent without parameters
	SignatureValue            []byte // raw value; nil if absent, and absent without SignatureInfo
	Wire                      []byte // the whole element as decoded
	nonceAt, hopLimitAt, tail int    // offsets into Wire: value, value, ApplicationParameters element
}

// interestRank is the place of an element in the packet, from 1; 0 is unknown.
func interestRank(typ uint64) int {
	switch typ {
	case TypeName:
		return 1
	case typeCanBePrefix:
		return 2
	case typeMustBeFresh:
		return 3
	case typeForwardingHint:
		return 4
	case typeNonce:
		return 5
	case typeLifetime:
		return 6
	case typeHopLimit:
		return 7
	case typeApplicationParameters:
		return 8
	case typeInterestSignatureInfo:
		return 9
	case typeInterestSignatureValue:
		return 10
	}
	return 0
}

// Decode reads b, which must be exactly one Interest. The name must have a component, one parameters digest if there are
// parameters, and never two; whether the digest is right is left to CheckParameters. Errors are of type Error.
func (i *Interest) Decode(b []byte) error {
	*i = Interest{Lifetime: DefaultLifetime, Wire: b[:len(b):len(b)]}
	typ, at, err := whole(b)
	if err != nil {
		return err
	}
	if typ != TypeInterest {
		return ErrType
	}
	for last := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return err
		}
		rank := interestRank(typ)
		switch {
		case last == 0 && rank != 1: // nothing precedes the name, not even what could be ignored
			return ErrName
		case rank <= last || rank >= 9 && last < rank-1: // a signature needs what it signs
			err = misplaced(typ, rank > 0)
		default:
			last = rank
			err = i.take(typ, b, at, from, to)
		}
		if err != nil {
			return err
		}
		at = to
	}
	return i.checkDigests()
}

// take reads one element that is in its place: b[at:to], with its value from from on.
func (i *Interest) take(typ uint64, b []byte, at, from, to int) error {
	value := b[from:to:to]
	switch typ {
	case TypeName:
		i.Name = asName(value)
	case typeCanBePrefix, typeMustBeFresh:
		if len(value) != 0 {
			return ErrLength
		}
		if typ == typeCanBePrefix {
			i.CanBePrefix = true
		} else {
			i.MustBeFresh = true
		}
	case typeForwardingHint:
		i.ForwardingHint = value
		return checkNames(value)
	case typeNonce:
		if len(value) != 4 {
			return ErrLength
		}
		i.Nonce, i.HasNonce, i.nonceAt = binary.BigEndian.Uint32(value), true, from
	case typeLifetime:
		v, ok := Natural(value)
		if !ok {
			return ErrNumber
		}
		i.Lifetime = max(v, 1) // 0 ms is legal and pointless; here 0 would read as the default
	case typeHopLimit:
		if len(value) != 1 {
			return ErrLength
		}
		i.HopLimit, i.HasHopLimit, i.hopLimitAt = value[0], true, from
	case typeApplicationParameters:
		i.Parameters, i.HasParameters, i.tail = value, true, at
	case typeInterestSignatureInfo:
		i.SignatureInfo = value
		_, err := checkSignatureInfo(value)
		return err
	case typeInterestSignatureValue:
		i.SignatureValue = value
	}
	return nil
}

// checkDigests checks the name (packet spec, "Interest", Name and ApplicationParameters).
func (i *Interest) checkDigests() error {
	params, err := checkName(i.Name)
	switch {
	case err != nil:
		return err
	case len(i.Name) == 0, params > 1:
		return ErrName
	case i.HasParameters && params == 0:
		return ErrMissing
	}
	return nil
}

// CheckParameters tells whether the digest in the name of a decoded Interest is that of its parameters: SHA-256 from
// ApplicationParameters to the end. An Interest with neither passes; one with a digest alone doesn't.
func (i *Interest) CheckParameters() bool {
	for n := i.Name; ; {
		c, rest, ok := n.Next()
		if !ok {
			return !i.HasParameters
		}
		if c.Type == TypeParamsDigest {
			return i.HasParameters && sha256.Sum256(i.Wire[i.tail:]) == [digestLen]byte(c.Value)
		}
		n = rest
	}
}

// ParametersDigest is the digest that the name needs as its parameters component, of the parameters and signature
// in the fields, as Append writes them.
func (i *Interest) ParametersDigest() Digest { return sha256.Sum256(i.appendTail(nil)) }

// SignDigest makes i a signed Interest (NDN packet specification 0.3, "Signed Interest") with DigestSha256, and appends the
// digest of the parameters to its name. Call it last.
func (i *Interest) SignDigest() {
	i.HasParameters = true
	i.SignatureInfo, i.SignatureValue = AppendNaturalTLV(nil, typeSignatureType, SignatureSHA256), nil
	sum := sha256.Sum256(i.appendTail(slices.Clone([]byte(i.Name))))
	i.SignatureValue = sum[:]
	digest := i.ParametersDigest()
	i.Name = i.Name.Clone().Append(TypeParamsDigest, digest[:])
}

// Len is the number of bytes Append appends.
func (i *Interest) Len() int { return TLVLen(TypeInterest, i.valueLen()) }

// Append encodes the Interest from its fields. A Lifetime of 0 or DefaultLifetime is left out. The name must already
// hold the digest that parameters require.
func (i *Interest) Append(dst []byte) []byte {
	dst = AppendTL(dst, TypeInterest, i.valueLen())
	dst = i.Name.AppendTLV(dst)
	if i.CanBePrefix {
		dst = append(dst, typeCanBePrefix, 0)
	}
	if i.MustBeFresh {
		dst = append(dst, typeMustBeFresh, 0)
	}
	if i.ForwardingHint != nil {
		dst = AppendTLV(dst, typeForwardingHint, i.ForwardingHint)
	}
	if i.HasNonce {
		dst = binary.BigEndian.AppendUint32(append(dst, typeNonce, 4), i.Nonce)
	}
	if i.saysLifetime() {
		dst = AppendNaturalTLV(dst, typeLifetime, i.Lifetime)
	}
	if i.HasHopLimit {
		dst = append(dst, typeHopLimit, 1, i.HopLimit)
	}
	return i.appendTail(dst)
}

func (i *Interest) saysLifetime() bool { return i.Lifetime != 0 && i.Lifetime != DefaultLifetime }

// appendTail appends ApplicationParameters and what follows.
func (i *Interest) appendTail(dst []byte) []byte {
	if !i.HasParameters {
		return dst
	}
	dst = AppendTLV(dst, typeApplicationParameters, i.Parameters)
	if i.SignatureInfo == nil {
		return dst
	}
	dst = AppendTLV(dst, typeInterestSignatureInfo, i.SignatureInfo)
	if i.SignatureValue == nil {
		return dst
	}
	return AppendTLV(dst, typeInterestSignatureValue, i.SignatureValue)
}

// valueLen is the length of what Append writes after the outer type and length.
func (i *Interest) valueLen() int {
	n := TLVLen(TypeName, len(i.Name))
	if i.CanBePrefix {
		n += 2
	}
	if i.MustBeFresh {
		n += 2
	}
	if i.ForwardingHint != nil {
		n += TLVLen(typeForwardingHint, len(i.ForwardingHint))
	}
	if i.HasNonce {
		n += 2 + 4
	}
	if i.saysLifetime() {
		n += 2 + NaturalLen(i.Lifetime)
	}
	if i.HasHopLimit {
		n += 2 + 1
	}
	if !i.HasParameters {
		return n
	}
	n += TLVLen(typeApplicationParameters, len(i.Parameters))
	if i.SignatureInfo != nil {
		n += TLVLen(typeInterestSignatureInfo, len(i.SignatureInfo))
		if i.SignatureValue != nil {
			n += TLVLen(typeInterestSignatureValue, len(i.SignatureValue))
		}
	}
	return n
}

// PatchNonce writes nonce into wire, a copy of Wire; false when the Interest has no Nonce or wire isn't as long as Wire.
func (i *Interest) PatchNonce(wire []byte, nonce uint32) bool {
	if !i.HasNonce || i.nonceAt == 0 || len(wire) != len(i.Wire) {
		return false
	}
	binary.BigEndian.PutUint32(wire[i.nonceAt:], nonce)
	return true
}

// PatchHopLimit writes hop into wire, a copy of Wire; false when the Interest has no HopLimit or wire isn't as long as
// Wire.
func (i *Interest) PatchHopLimit(wire []byte, hop uint8) bool {
	if !i.HasHopLimit || i.hopLimitAt == 0 || len(wire) != len(i.Wire) {
		return false
	}
	wire[i.hopLimitAt] = hop
	return true
}
