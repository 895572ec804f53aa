package wire

import "testing"

func TestSignatureInfo(t *testing.T) {
	same(t, "without key", AppendSignatureInfo(nil, SignatureNull, nil), unhex(t, "1b01c8"))
	b := AppendSignatureInfo(nil, SignatureEd25519, MustParseName("/K"))
	same(t, "with key", b, unhex(t, "1b0105 1c05 0703 08014b"))
	if typ, err := checkSignatureInfo(b); typ != SignatureEd25519 || err != nil {
		t.Errorf("type %d, %v", typ, err)
	}
}

func TestKeyLocator(t *testing.T) {
	for _, c := range []struct{ what, info, name, digest string }{
		{"name", "1b0105 1c05 0703 08014b", "/K", ""},
		{"digest", "1b0103 1c04 1d02 abcd", "/", "abcd"},
		{"none", "1b01c8", "/", ""},
		{"nothing at all", "", "/", ""},
		{"empty", "1b0105 1c00", "/", ""},
		{"something else", "1b0105 1c02 2000", "/", ""},
		{"bad name", "1b0105 1c05 0703 08024b", "/", ""},
		{"cut", "1b0105 1c05 0703", "/", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			name, digest := KeyLocator(unhex(t, c.info))
			if name.String() != c.name || string(digest) != string(unhex(t, c.digest)) {
				t.Errorf("name %v, digest %x", name, digest)
			}
		})
	}
}
