package secure

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/curve25519"
)

func newKey(t testing.TB) PrivateKey {
	t.Helper()
	k, err := NewPrivateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyTexts(t *testing.T) {
	for range 100 {
		k := newKey(t)
		private, err := ParsePrivateKey(" " + k.Text() + "\n")
		if err != nil || private != k {
			t.Fatalf("private key of %v: %v", k, err)
		}
		public, err := ParsePublicKey(k.Public().String())
		if err != nil || public != k.Public() {
			t.Fatalf("public key %v: %v", k.Public(), err)
		}
	}
}

func TestKeyTextErrors(t *testing.T) {
	k := newKey(t)
	text := k.Public().String()
	typo := []byte(text)
	typo[7] = map[bool]byte{true: 'B', false: 'A'}[typo[7] == 'A']
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"empty", "", ErrKeyText},
		{"short", text[:47], ErrKeyText},
		{"long", text + "A", ErrKeyText},
		{"other characters", strings.Repeat("+", 48), ErrKeyText},
		{"typo", string(typo), ErrKeyTypo},
		{"private", k.Text(), ErrKeyKind},
		{"small order", keyText(publicKind, PublicKey{1}), ErrKeyText},
	} {
		if _, err := ParsePublicKey(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := ParsePrivateKey(text); !errors.Is(err, ErrKeyKind) {
		t.Errorf("a public key for a private one: %v", err)
	}
}

// TestKeyHidden: no format shows a private key.
func TestKeyHidden(t *testing.T) {
	k := newKey(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(format, k); strings.Contains(s, k.Text()) || strings.Contains(s, fmt.Sprint(k.seed[:4])) {
			t.Errorf("%s shows the key: %s", format, s)
		}
	}
}

// TestExchangeKeys: the two halves of the exchange key belong together.
func TestExchangeKeys(t *testing.T) {
	for range 20 {
		k := newKey(t)
		want, err := curve25519.X25519(k.exchange(), curve25519.Basepoint)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Public().exchange()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%x, %v; want %x", got, err, want)
		}
	}
}

func TestSign(t *testing.T) {
	k, other := newKey(t), newKey(t)
	m := []byte("a message")
	s := k.Sign(m)
	if !k.Public().Verify(m, s) || other.Public().Verify(m, s) || k.Public().Verify(m[1:], s) || k.Public().Verify(m, s[1:]) {
		t.Error("a signature is somebody else's, or of something else")
	}
}
