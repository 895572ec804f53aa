package secure

import (
	"bytes"
	"strings"
	"testing"

	"mars/internal/wire"
)

// keyOf is the key that a seed makes: the same every time.
func keyOf(t testing.TB, seed byte) PrivateKey {
	t.Helper()
	k, err := NewPrivateKey(constant(seed))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func name(t testing.TB, s string) wire.Name {
	t.Helper()
	n, err := wire.ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// certificate is a good one, of the key of seed 1, by the operator of seed 9.
func certificate(t testing.TB) Certificate {
	return Certificate{
		Subject: keyOf(t, 1).Public(), Name: "site-a", Relay: true, Prefixes: []wire.Name{name(t, "/b"), name(t, "/a/x"), name(t, "/b")},
		NotBefore: 1000, NotAfter: 2000, Serial: 0xabc,
	}
}

func signed(t testing.TB, c Certificate, operator byte) []byte {
	t.Helper()
	b, err := c.Sign(keyOf(t, operator))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCertificate(t *testing.T) {
	b := signed(t, certificate(t), 9)
	c, err := DecodeCertificate(b)
	if err != nil {
		t.Fatal(err)
	}
	if c.Subject != keyOf(t, 1).Public() || c.Operator != keyOf(t, 9).Public() || c.Name != "site-a" || !c.Relay || c.Serial != 0xabc ||
		c.NotBefore != 1000 || c.NotAfter != 2000 || len(c.Prefixes) != 2 || c.Prefixes[0].String() != "/a/x" || c.Prefixes[1].String() != "/b" {
		t.Errorf("%+v", c)
	}
	for s, covered := range map[string]bool{"/b": true, "/b/c/d": true, "/a/x/1": true, "/a": false, "/a/xy": false, "/": false} {
		if c.Covers(name(t, s)) != covered {
			t.Errorf("%s is covered: %v", s, !covered)
		}
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := DecodeCertificate(bad); err == nil {
			t.Errorf("byte %d of %d may be altered", i, len(b))
		}
		if _, err := DecodeCertificate(b[:i]); err == nil {
			t.Errorf("%d bytes are enough", i)
		}
	}
	clear(b) // nothing of it is kept
	if c.Prefixes[0].String() != "/a/x" {
		t.Error("the certificate changes with the bytes it came from")
	}
}

func TestNoCertificate(t *testing.T) {
	for _, s := range []struct {
		says  string
		spoil func(*Certificate)
	}{
		{"is not a name", func(c *Certificate) { c.Name = "" }},
		{"is not a name", func(c *Certificate) { c.Name = "a b" }},
		{"is not a name", func(c *Certificate) { c.Name = strings.Repeat("a", MaxCertificateName+1) }},
		{"never be valid", func(c *Certificate) { c.NotAfter = 999 }},
		{"never be valid", func(c *Certificate) { c.NotBefore = -1 }},
		{"never be valid", func(c *Certificate) { c.NotAfter = maxDate + 1 }},
		{"no serial", func(c *Certificate) { c.Serial = 0 }},
		{"more than 512", func(c *Certificate) { c.Prefixes = []wire.Name{name(t, "/"+strings.Repeat("x", 400))} }},
		{"more than 16", func(c *Certificate) {
			for i := range 17 {
				c.Prefixes = append(c.Prefixes, name(t, "/p"+string(rune('a'+i))))
			}
		}},
	} {
		c := certificate(t)
		s.spoil(&c)
		if _, err := c.Sign(keyOf(t, 9)); err == nil || !strings.Contains(err.Error(), s.says) {
			t.Errorf("%q: %v", s.says, err)
		}
	}
}

func TestCertificateText(t *testing.T) {
	b := signed(t, certificate(t), 9)
	c, err := DecodeCertificate(b)
	if err != nil {
		t.Fatal(err)
	}
	text := CertificateText(&c, b)
	again, encoded, err := ParseCertificateText(text)
	if err != nil || !bytes.Equal(encoded, b) || again.Serial != c.Serial {
		t.Fatalf("%v\n%s", err, text)
	}
	for says, bad := range map[string]string{
		"holds 0":    "hello",
		"holds 2":    string(text) + string(text),
		"damaged":    string(text[:len(text)-10]),
		"is wanted":  string(RevocationsText(b)),
		"no certifi": strings.ReplaceAll(string(RevocationsText([]byte{1, 2})), armourRevocations, armourCertificate),
	} {
		if _, _, err := ParseCertificateText([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// FuzzCertificate: whatever decodes has one form, that of what it says.
func FuzzCertificate(f *testing.F) {
	f.Add(signed(f, certificate(f), 9))
	f.Add(signed(f, Certificate{Name: "x", NotAfter: maxDate, Serial: 1<<64 - 1}, 8))
	operator := keyOf(f, 9)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeCertificate(b)
		c, signature, err := parseCertificate(b)
		if err != nil {
			return
		}
		by, want := c.Operator, bytes.Clone(b)
		again, err := c.Sign(operator)
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		// All but who signed it, and how.
		tail := wire.TLVLen(typeSignature, len(signature)) + wire.TLVLen(typeOperator, KeyLen)
		if len(again) != len(want) || !bytes.Equal(again[:len(again)-tail], want[:len(want)-tail]) {
			t.Fatalf("%x by %v becomes %x", want, by, again)
		}
	})
}
