package secure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mars/internal/wire"
)

func TestTrust(t *testing.T) {
	key := func(b byte) (k PublicKey) { k[0] = b; return k }
	name := wire.MustParseName
	errRevoked := errors.New("it was revoked")
	trust := Trust{
		Rules: []TrustRule{
			{Prefix: name("/lab"), Keys: []PublicKey{key(1), key(2)}},
			{Prefix: name("/lab/open"), Unsigned: true},
			{Prefix: name("/lab/strict"), Keys: []PublicKey{key(3)}},
			{Prefix: name("/org"), Operators: []PublicKey{key(100), key(101)}},
			{Prefix: name("/nobody")},
		},
		Keys: []PublicKey{key(9)}, Operators: []PublicKey{key(100)},
		Certified: func(operator PublicKey, name wire.Name, k PublicKey, certificate []byte, wall int64) error {
			if string(certificate) == fmt.Sprintf("%d certifies %d below %s until 50", operator[0], k[0], name.Prefix(1)) && wall < 50 {
				return nil
			}
			return errRevoked
		},
	}
	for _, c := range []struct {
		name, certificate string
		key               byte
		wall              int64
		ok                bool
	}{
		{name: "/lab/a", key: 1, ok: true},
		{name: "/lab/a", key: 2, ok: true},
		{name: "/lab", key: 1, ok: true},
		{name: "/labs/a", key: 1},
		{name: "/lab/a", key: 3},
		{name: "/lab/a", key: 9}, // a neighbour's key doesn't count where something is configured
		{name: "/lab/a", key: 0},
		{name: "/lab/strict/a", key: 3, ok: true},
		{name: "/lab/strict/a", key: 1}, // the longest prefix decides alone
		{name: "/lab/open/a", key: 0, ok: true},
		{name: "/lab/open/a", key: 77, ok: true},
		{name: "/elsewhere", key: 9, ok: true},
		{name: "/elsewhere", key: 1},
		{name: "/elsewhere", key: 0},
		{name: "/elsewhere", key: 5, certificate: "100 certifies 5 below /elsewhere until 50", ok: true},
		{name: "/elsewhere", key: 5, certificate: "101 certifies 5 below /elsewhere until 50"},
		{name: "/org/a", key: 5, certificate: "101 certifies 5 below /org until 50", ok: true},
		{name: "/org/a", key: 5, certificate: "101 certifies 5 below /org until 50", wall: 50},
		{name: "/org/a", key: 6, certificate: "101 certifies 5 below /org until 50"},
		{name: "/org/a", key: 5, certificate: "101 certifies 5 below /lab until 50"},
		{name: "/lab/a", key: 5, certificate: "100 certifies 5 below /lab until 50"},
		{name: "/org/a", key: 9},
		{name: "/nobody/a", key: 9},
	} {
		err := trust.Verify(name(c.name), key(c.key), []byte(c.certificate), c.wall)
		if (err == nil) != c.ok {
			t.Errorf("%s by %d with %q at %d: %v", c.name, c.key, c.certificate, c.wall, err)
		}
		u, isUntrusted := errors.AsType[*Untrusted](err)
		switch {
		case err == nil:
		case c.key == 0 && err != ErrUnsigned:
			t.Errorf("%s, unsigned: %v", c.name, err)
		case c.key != 0 && (!isUntrusted || u.Key != key(c.key) || !strings.Contains(err.Error(), u.Key.String())):
			t.Errorf("%s by %d: %v doesn't tell who signed", c.name, c.key, err)
		}
	}
	none := Trust{}
	if err := none.Verify(name("/a"), key(1), []byte("certificate"), 0); err == nil {
		t.Error("who trusts nobody trusts a certificate")
	}
}
