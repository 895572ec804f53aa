package wire

import "crypto/sha256"

// Author is who answers for an object: the key that signed, what speaks for that key, and when it signed. All of it stands in
// the SignatureInfo, so that refusals, whose content is a word, tell it in the same place as metadata.
type Author struct {
	Key         []byte // Ed25519, 32 bytes
	Certificate []byte // of the key, in the operator's form; nil: none
	Time        uint64 // of signing, ms since 1970
}

// KeywordKey begins the KeyLocator's name: /32=key/<key>[/<certificate>].
const KeywordKey = "key"

const authorKeyLen = 32

// AppendSignatureInfo appends the value of the SignatureInfo of a Data that the author signs (MARS §3, "Signature").
func (a Author) AppendSignatureInfo(dst []byte) []byte {
	name := Name(nil).AppendString(TypeKeyword, KeywordKey).Append(TypeGeneric, a.Key)
	if len(a.Certificate) > 0 {
		name = name.Append(TypeGeneric, a.Certificate)
	}
	return AppendNaturalTLV(AppendSignatureInfo(dst, SignatureEd25519, name), typeSignatureTime, a.Time)
}

// Author reads who claims to have signed the Data; false: nobody in our form. The signature isn't checked. Slices alias d.
func (d *Data) Author() (a Author, ok bool) {
	if d.SignatureType != SignatureEd25519 {
		return a, false
	}
	name, _ := KeyLocator(d.SignatureInfo)
	marker, rest, ok := name.Next()
	if !ok || marker.Type != TypeKeyword || string(marker.Value) != KeywordKey {
		return a, false
	}
	key, rest, ok := rest.Next()
	if !ok || key.Type != TypeGeneric || len(key.Value) != authorKeyLen {
		return a, false
	}
	a.Key = key.Value
	if len(rest) > 0 {
		certificate, rest, ok := rest.Next()
		if !ok || certificate.Type != TypeGeneric || len(rest) > 0 {
			return Author{}, false
		}
		a.Certificate = certificate.Value
	}
	a.Time, ok = signatureTime(d.SignatureInfo)
	return a, ok
}

// signatureTime is the SignatureTime in the raw value of a SignatureInfo, ms since 1970.
func signatureTime(info []byte) (uint64, bool) {
	for len(info) > 0 {
		typ, value, rest, err := ReadTLV(info)
		if err != nil {
			return 0, false
		}
		if typ == typeSignatureTime {
			return Natural(value)
		}
		info = rest
	}
	return 0, false
}

// Whole tells whether the Data has a DigestSha256 signature that is right: it says that it came as it was sent, not by whom.
func (d *Data) Whole() bool {
	sum := sha256.Sum256(d.Signed)
	return d.SignatureType == SignatureSHA256 && string(sum[:]) == string(d.SignatureValue)
}
