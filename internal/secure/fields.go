package secure

import (
	"crypto/ed25519"
	"errors"

	"mars/internal/wire"
)

// Types of the elements of certificates and revocation lists, in the order in which they stand. All are critical: whoever
// doesn't know what a certificate says can't trust it.
const (
	typeCertificate = 0xF5A1
	typeRevocations = 0xF5A3

	typeSubject   = 0x81
	typeLabel     = 0x83
	typeRole      = 0x85
	typePrefix    = 0x87
	typeNotBefore = 0x89
	typeNotAfter  = 0x8b
	typeSerial    = 0x8d
	typeKey       = 0x8f
	typeNumber    = 0x91
	typeIssued    = 0x93
	typeOperator  = 0x95
	typeSignature = 0x97
)

// What is signed begins with what it is, so that no signature of one kind passes for another's.
const (
	domainCertificate = "mars certificate 1\x00"
	domainRevocations = "mars revocations 1\x00"
)

var errForm = errors.New("malformed")

// maxDate is the last second of the year 9999.
const maxDate = 253402300799

// fields reads elements that stand in a fixed order, each in its only form. After the first error all it returns is zero.
type fields struct {
	rest []byte
	bad  bool
}

// next is the type of the next element; 0 at the end.
func (f *fields) next() uint64 {
	typ, _, _, err := wire.ReadTLV(f.rest)
	if f.bad || err != nil {
		return 0
	}
	return typ
}

func (f *fields) bytes(typ uint64) []byte {
	got, value, rest, err := wire.ReadTLV(f.rest)
	if f.bad || err != nil || got != typ {
		f.bad = true
		return nil
	}
	f.rest = rest
	return value
}

// number reads a number of at most limit in its shortest form.
func (f *fields) number(typ, limit uint64) uint64 {
	value := f.bytes(typ)
	v, ok := wire.Natural(value)
	if !ok || len(value) != wire.NaturalLen(v) || v > limit {
		f.bad = true
		return 0
	}
	return v
}

func (f *fields) key(typ uint64) (k PublicKey) {
	value := f.bytes(typ)
	if len(value) != KeyLen {
		f.bad = true
		return k
	}
	return PublicKey(value)
}

func (f *fields) signature() (s [ed25519.SignatureSize]byte) {
	value := f.bytes(typeSignature)
	if len(value) != len(s) || len(f.rest) > 0 {
		f.bad = true
		return s
	}
	return [ed25519.SignatureSize]byte(value)
}

// unwrap returns what is in the one element that b is.
func unwrap(b []byte, want uint64, limit int) (fields, error) {
	typ, value, rest, err := wire.ReadTLV(b)
	if err != nil || typ != want || len(rest) > 0 || len(b) > limit {
		return fields{}, errForm
	}
	return fields{rest: value}, nil
}

// sign completes an element: body, the signer and its signature.
func sign(typ uint64, domain string, operator PrivateKey, body []byte) []byte {
	public := operator.Public()
	body = wire.AppendTLV(body, typeOperator, public[:])
	body = wire.AppendTLV(body, typeSignature, operator.Sign(append([]byte(domain), body...)))
	return wire.AppendTLV(nil, typ, body)
}

// signedPart is what the signature of a whole element covers, without the domain.
func signedPart(b []byte) []byte {
	_, value, _, err := wire.ReadTLV(b)
	if err != nil {
		return nil
	}
	return value[:len(value)-wire.TLVLen(typeSignature, ed25519.SignatureSize)]
}
