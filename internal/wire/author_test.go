package wire

import (
	"bytes"
	"testing"
)

func TestAuthor(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	for _, a := range []Author{
		{Key: key, Time: 1_700_000_000_123},
		{Key: key, Certificate: []byte("certificate"), Time: 0},
	} {
		d := Data{Name: MustParseName("/a"), SignatureType: SignatureEd25519, SignatureInfo: a.AppendSignatureInfo(nil), SignatureValue: make([]byte, 64)}
		var got Data
		if err := got.Decode(d.Append(nil)); err != nil {
			t.Fatal(err)
		}
		b, ok := got.Author()
		if !ok || !bytes.Equal(b.Key, a.Key) || !bytes.Equal(b.Certificate, a.Certificate) || b.Time != a.Time {
			t.Errorf("%v became %v, %v", a, b, ok)
		}
	}
}

// TestNoAuthor: what doesn't name a key in our form is signed by nobody that we know.
func TestNoAuthor(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	time := AppendNaturalTLV(nil, typeSignatureTime, 5)
	info := func(signature uint64, locator Name, more []byte) []byte {
		return append(AppendSignatureInfo(nil, signature, locator), more...)
	}
	ours := Name(nil).AppendString(TypeKeyword, KeywordKey)
	for say, i := range map[string][]byte{
		"a digest":          info(SignatureSHA256, nil, nil),
		"no locator":        info(SignatureEd25519, nil, time),
		"a stranger's name": info(SignatureEd25519, MustParseName("/site/KEY/1"), time),
		"a short key":       info(SignatureEd25519, ours.Clone().Append(TypeGeneric, key[:31]), time),
		"no key":            info(SignatureEd25519, ours, time),
		"too much":          info(SignatureEd25519, ours.Clone().Append(TypeGeneric, key).Append(TypeGeneric, key).Append(TypeGeneric, key), time),
		"no time":           info(SignatureEd25519, ours.Clone().Append(TypeGeneric, key), nil),
		"another algorithm": info(SignatureECDSA, ours.Clone().Append(TypeGeneric, key), time),
	} {
		d := Data{Name: MustParseName("/a"), SignatureInfo: i, SignatureValue: make([]byte, 64)}
		var got Data
		if err := got.Decode(d.Append(nil)); err != nil {
			t.Fatalf("%s: %v", say, err)
		}
		if a, ok := got.Author(); ok {
			t.Errorf("%s: %v", say, a)
		}
	}
}

func FuzzAuthor(f *testing.F) {
	a := Author{Key: make([]byte, 32), Certificate: []byte("c"), Time: 5}
	f.Add(a.AppendSignatureInfo(nil))
	f.Fuzz(func(t *testing.T, info []byte) {
		d := Data{SignatureInfo: info}
		var err error
		if d.SignatureType, err = checkSignatureInfo(info); err != nil {
			return
		}
		got, ok := d.Author()
		if !ok {
			return
		}
		again := Data{SignatureType: SignatureEd25519, SignatureInfo: got.AppendSignatureInfo(nil)}
		b, ok := again.Author()
		if !ok || !bytes.Equal(b.Key, got.Key) || !bytes.Equal(b.Certificate, got.Certificate) || b.Time != got.Time {
			t.Fatalf("%v became %v, %v", got, b, ok)
		}
	})
}
