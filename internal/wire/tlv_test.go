package wire

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestVarNumber(t *testing.T) {
	for _, c := range []struct {
		v    uint64
		want string
	}{
		{0, "00"},
		{252, "fc"},
		{253, "fd 00fd"},
		{65535, "fd ffff"},
		{65536, "fe 00010000"},
		{math.MaxUint32, "fe ffffffff"},
		{math.MaxUint32 + 1, "ff 0000000100000000"},
		{math.MaxUint64, "ff ffffffffffffffff"},
	} {
		b := AppendVar(nil, c.v)
		same(t, "encoded", b, unhex(t, c.want))
		if VarLen(c.v) != len(b) {
			t.Errorf("VarLen(%d) = %d, want %d", c.v, VarLen(c.v), len(b))
		}
		if v, end, err := varNumber(append(b, 0), 0); v != c.v || end != len(b) || err != nil {
			t.Errorf("%x reads as %d until %d, %v", b, v, end, err)
		}
		for n := range b {
			if _, _, err := varNumber(b[:n], 0); err != ErrTruncated {
				t.Errorf("%d bytes of %x: %v", n, b, err)
			}
		}
	}
}

func TestVarNumberShortestForm(t *testing.T) { // packet spec, "Variable-size encoding"
	for _, s := range []string{"fd 0000", "fd 00fc", "fe 0000ffff", "ff 00000000ffffffff"} {
		if _, _, err := varNumber(unhex(t, s), 0); err != ErrNumber {
			t.Errorf("%s: %v, want %v", s, err, ErrNumber)
		}
	}
}

func TestNatural(t *testing.T) {
	for _, c := range []struct {
		v    uint64
		want string
	}{
		{0, "00"},
		{255, "ff"},
		{256, "0100"},
		{65535, "ffff"},
		{65536, "00010000"},
		{math.MaxUint32, "ffffffff"},
		{math.MaxUint32 + 1, "0000000100000000"},
		{math.MaxUint64, "ffffffffffffffff"},
	} {
		b := AppendNatural(nil, c.v)
		same(t, "encoded", b, unhex(t, c.want))
		if NaturalLen(c.v) != len(b) {
			t.Errorf("NaturalLen(%d) = %d, want %d", c.v, NaturalLen(c.v), len(b))
		}
		if v, ok := Natural(b); v != c.v || !ok {
			t.Errorf("%x reads as %d, %v", b, v, ok)
		}
	}
	if v, ok := Natural(unhex(t, "00000001")); v != 1 || !ok { // longer than needed is legal
		t.Errorf("four bytes of one read as %d, %v", v, ok)
	}
	for _, n := range []int{0, 3, 5, 6, 7, 9, 16} {
		if _, ok := Natural(make([]byte, n)); ok {
			t.Errorf("%d bytes are no NonNegativeInteger", n)
		}
	}
}

func TestReadTLV(t *testing.T) {
	for _, c := range []struct {
		what, b string
		typ     uint64
		value   string
		rest    int
		err     error
	}{
		{"empty value", "0800", 8, "", 0, nil},
		{"with more behind", "0801 41 42", 8, "41", 1, nil},
		{"long type", "fd0384 01 07", 900, "07", 0, nil},
		{"largest type", "fe ffffffff 00", math.MaxUint32, "", 0, nil},
		{"nothing", "", 0, "", 0, ErrTruncated},
		{"type alone", "08", 0, "", 0, ErrTruncated},
		{"short value", "0802 41", 0, "", 0, ErrTruncated},
		{"type 0", "0000", 0, "", 0, ErrType},
		{"type past 32 bits", "ff 0000000100000000 00", 0, "", 0, ErrType},
		{"type not in shortest form", "fd0008 00", 0, "", 0, ErrNumber},
		{"length not in shortest form", "08 fd0001 41", 0, "", 0, ErrNumber},
		{"length 2^40", "08 ff 0000010000000000 41", 0, "", 0, ErrTruncated},
		{"length 2^63", "08 ff 8000000000000000 41", 0, "", 0, ErrTruncated},
		{"length 2^64-1", "08 ff ffffffffffffffff 41", 0, "", 0, ErrTruncated},
		{"length 2^31", "08 fe 80000000 41", 0, "", 0, ErrTruncated},
	} {
		t.Run(c.what, func(t *testing.T) {
			typ, value, rest, err := ReadTLV(unhex(t, c.b))
			if typ != c.typ || !bytes.Equal(value, unhex(t, c.value)) || len(rest) != c.rest || err != c.err {
				t.Errorf("type %d, value %x, %d bytes left, %v", typ, value, len(rest), err)
			}
		})
	}
}

func TestFrameLen(t *testing.T) {
	for _, c := range []struct {
		what, b string
		want    int
		err     error
	}{
		{"nothing yet", "", 0, nil},
		{"type only", "06", 0, nil},
		{"half a length", "06 fd22", 0, nil},
		{"half a type", "fd03", 0, nil},
		{"header only", "06 fd2000", 4 + 0x2000, nil},
		{"the first of two", "0601 00 0601", 3, nil},
		{"as long as allowed", "06 fd225c", 8800, nil},
		{"one byte longer", "06 fd225d", 0, ErrLength},
		{"2^63", "06 ff 8000000000000000", 0, ErrLength},
		{"2^64-1", "06 ff ffffffffffffffff", 0, ErrLength},
		{"type 0", "00", 0, ErrType},
		{"type past 32 bits", "ff 0000000100000000", 0, ErrType},
		{"length not in shortest form", "06 fd0001", 0, ErrNumber},
	} {
		t.Run(c.what, func(t *testing.T) {
			n, err := FrameLen(unhex(t, c.b), MaxPacket)
			if n != c.want || err != c.err {
				t.Errorf("%d, %v; want %d, %v", n, err, c.want, c.err)
			}
		})
	}
	if _, err := FrameLen([]byte{6, 0}, 1); err != ErrLength {
		t.Errorf("a header past the limit: %v", err)
	}
}

func TestTLVRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.OneOf(rapid.SampledFrom([]uint64{1, 252, 253, 65535, 65536, math.MaxUint32}), rapid.Uint64Range(1, math.MaxUint32)).Draw(t, "type")
		value := rapid.OneOf(octets(0, 8), octets(250, 256), octets(65534, 65537)).Draw(t, "value")
		behind := octets(0, 3).Draw(t, "behind")
		b := AppendTLV([]byte("before"), typ, value)[len("before"):]
		if len(b) != TLVLen(typ, len(value)) {
			t.Fatalf("%d bytes, TLVLen says %d", len(b), TLVLen(typ, len(value)))
		}
		gotType, gotValue, rest, err := ReadTLV(append(b, behind...))
		if gotType != typ || !bytes.Equal(gotValue, value) || !bytes.Equal(rest, behind) || err != nil {
			t.Fatalf("reads as type %d, %d bytes, %d behind, %v", gotType, len(gotValue), len(rest), err)
		}
	})
}

func FuzzTLV(f *testing.F) {
	f.Add([]byte{8, 1, 'A', 9})
	f.Add([]byte{0xfd, 0x03, 0x84, 1, 7})
	f.Add([]byte{8, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, frameErr := FrameLen(b, math.MaxInt)
		typ, value, rest, err := ReadTLV(b)
		switch {
		case err == nil:
			// There is one form only: encoding gives the bytes back.
			if got := append(AppendTLV(nil, typ, value), rest...); !bytes.Equal(got, b) {
				t.Fatalf("%x became %x", b, got)
			}
			if n != len(b)-len(rest) || frameErr != nil {
				t.Fatalf("FrameLen says %d, %v", n, frameErr)
			}
		case err == ErrTruncated:
			if n != 0 && n <= len(b) {
				t.Fatalf("truncated, but FrameLen says %d of %d", n, len(b))
			}
		case frameErr != err:
			t.Fatalf("ReadTLV says %v, FrameLen %v", err, frameErr)
		}
	})
}
