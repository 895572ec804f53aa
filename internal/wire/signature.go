package wire

// Signature types (packet spec, "Signature"; 200 is NDN's null signature, with an empty value).
const (
	SignatureSHA256  = 0
	SignatureRSA     = 1
	SignatureECDSA   = 3
	SignatureHMAC    = 4
	SignatureEd25519 = 5
	SignatureNull    = 200
)

// Types of SignatureInfo elements, beside typeSignatureType.
const (
	typeKeyLocator      = 28
	typeKeyDigest       = 29
	typeSignatureNonce  = 38
	typeSignatureTime   = 40
	typeSignatureSeqNum = 42
	typeValidityPeriod  = 253 // certificates (NDN certificate format v2); odd, so it must be known
)

// checkSignatureInfo checks the value of a SignatureInfo of Data or Interest and returns its SignatureType.
func checkSignatureInfo(b []byte) (signatureType uint64, err error) {
	var last uint64
	for at := 0; at < len(b); {
		typ, from, to, err := element(b, at)
		if err != nil {
			return 0, err
		}
		if last == 0 {
			var ok bool
			if typ != typeSignatureType {
				return 0, ErrMissing
			}
			if signatureType, ok = Natural(b[from:to]); !ok {
				return 0, ErrNumber
			}
		}
		known := false
		switch typ {
		case typeSignatureType, typeKeyLocator, typeSignatureNonce, typeSignatureTime, typeSignatureSeqNum, typeValidityPeriod:
			known = true // the order is that of the types
		}
		if known && typ > last {
			last = typ
		} else if err := misplaced(typ, known); err != nil {
			return 0, err
		}
		at = to
	}
	if last == 0 {
		return 0, ErrMissing
	}
	return signatureType, nil
}

// KeyLocator finds the signer in the raw value of a SignatureInfo: a name or, without one, a key digest. Both are nil
// when it has no KeyLocator or a malformed one.
func KeyLocator(signatureInfo []byte) (name Name, digest []byte) {
	for len(signatureInfo) > 0 {
		typ, value, rest, err := ReadTLV(signatureInfo)
		if err != nil {
			return nil, nil
		}
		if typ != typeKeyLocator {
			signatureInfo = rest
			continue
		}
		typ, value, _, err = ReadTLV(value)
		if err == nil && typ == TypeName {
			name, _ = DecodeName(value)
		} else if err == nil && typ == typeKeyDigest {
			digest = value
		}
		return name, digest
	}
	return nil, nil
}

// AppendSignatureInfo appends the value of a SignatureInfo: the type and, when key isn't empty, a KeyLocator with it.
func AppendSignatureInfo(dst []byte, signatureType uint64, key Name) []byte {
	dst = AppendNaturalTLV(dst, typeSignatureType, signatureType)
	if len(key) == 0 {
		return dst
	}
	return key.AppendTLV(AppendTL(dst, typeKeyLocator, TLVLen(TypeName, len(key))))
}
