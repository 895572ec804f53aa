package endpoint

import (
	"testing"

	"pgregory.net/rapid"
)

// TestVarint: the examples of RFC 9000 §A.1, and any number comes back.
func TestVarint(t *testing.T) {
	for _, c := range []struct {
		b []byte
		v uint64
	}{
		{[]byte{0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c}, 151288809941952652},
		{[]byte{0x9d, 0x7f, 0x3e, 0x7d}, 494878333},
		{[]byte{0x7b, 0xbd}, 15293},
		{[]byte{0x25}, 37},
		{[]byte{0x40, 0x25}, 37},
	} {
		if v, n := varint(c.b); v != c.v || n != len(c.b) {
			t.Errorf("% x is %d in %d bytes", c.b, v, n)
		}
		for short := range c.b {
			if _, n := varint(c.b[:short]); n != 0 {
				t.Errorf("% x is a number", c.b[:short])
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, maxVarint).Draw(t, "v")
		b := appendVarint(nil, v)
		if got, n := varint(b); got != v || n != len(b) || n != varintSize(v) {
			t.Fatalf("%d became %d in %d of %d bytes", v, got, n, len(b))
		}
	})
}

// TestPacketNumber: the example of RFC 9000 §A.3, and no number under way is taken for another.
func TestPacketNumber(t *testing.T) {
	if n := fullNumber([]byte{0x9b, 0x32}, 0xa82f30ea); n != 0xa82f9b32 {
		t.Errorf("%x", n)
	}
	if n := numberSize(0xac5c02, 0xabe8b3); n != 2 { // §A.2
		t.Errorf("%d bytes", n)
	}
	if n := numberSize(0xace8fe, 0xabe8b3); n != 3 {
		t.Errorf("%d bytes", n)
	}
	rapid.Check(t, func(t *rapid.T) {
		acked := rapid.Int64Range(-1, 1<<40).Draw(t, "acked")
		number := acked + rapid.Int64Range(1, 1<<20).Draw(t, "ahead")
		largest := rapid.Int64Range(acked, number).Draw(t, "largest") // what the receiver has seen
		b := appendNumber(nil, number, numberSize(number, acked))
		if got := fullNumber(b, largest); got != number {
			t.Fatalf("%d became %d", number, got)
		}
	})
}
