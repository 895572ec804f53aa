package wire

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseName(t *testing.T) {
	zeros := strings.Repeat("00", digestLen)
	for _, c := range []struct{ uri, bytes, canonical string }{
		{"/", "", "/"},
		{"ndn:/", "", "/"},
		{"/a", "0801 61", "/a"},
		{"ndn:/a/b", "0801 61 0801 62", "/a/b"},
		{"/a/", "0801 61", "/a"},
		{"/b%20c", "0803 622063", "/b%20c"},
		{"/b c", "0803 622063", "/b%20c"},
		{"/%2f%2F", "0802 2f2f", "/%2F%2F"},
		{"/-._~", "0804 2d2e5f7e", "/-._~"},
		{"/é", "0802 c3a9", "/%C3%A9"},
		{"/a%3Db", "0803 613d62", "/a%3Db"},
		{"/8=a", "0801 61", "/a"},
		{"/...", "0800", "/..."},
		{"/....", "0801 2e", "/...."},
		{"/......", "0803 2e2e2e", "/......"},
		{"/%2E%2e.", "0800", "/..."},
		{"/.a", "0802 2e61", "/.a"},
		{"/a.", "0802 612e", "/a."},
		{"/32=pd", "2002 7064", "/32=pd"},
		{"/32=", "2000", "/32=..."},
		{"/32=...", "2000", "/32=..."},
		{"/32=a=b", "2003 613d62", "/32=a%3Db"},
		{"/v=7", "3601 07", "/v=7"},
		{"/54=%07", "3601 07", "/v=7"},
		{"/54=7", "3601 37", "/v=55"}, // the byte '7', as the specification has it
		{"/54=%00%07", "3602 0007", "/54=%00%07"},
		{"/seg=256", "3202 0100", "/seg=256"},
		{"/off=0", "3401 00", "/off=0"},
		{"/t=4294967296", "3808 0000000100000000", "/t=4294967296"},
		{"/seq=18446744073709551615", "3a08 ffffffffffffffff", "/seq=18446744073709551615"},
		{"/65535=x", "fdffff 01 78", "/65535=x"},
		{"/sha256digest=" + zeros, "0120" + zeros, "/sha256digest=" + zeros},
		{"/params-sha256=" + zeros, "0220" + zeros, "/params-sha256=" + zeros},
		{"/2=" + strings.Repeat("%00", digestLen), "0220" + zeros, "/params-sha256=" + zeros},
	} {
		t.Run(c.uri, func(t *testing.T) {
			n, err := ParseName(c.uri)
			if err != nil {
				t.Fatal(err)
			}
			if got := n.String(); got != c.canonical {
				t.Errorf("canonical %q, want %q", got, c.canonical)
			}
			if !n.Equal(unhex(t, c.bytes)) {
				t.Errorf("bytes %x, want %s", []byte(n), c.bytes)
			}
		})
	}
}

func TestParseNameRejects(t *testing.T) {
	for _, c := range []struct{ uri, component string }{
		{"", ""},
		{"a/b", ""},
		{"http:/a", ""},
		{"//a", ""},
		{"/a//b", ""},
		{"/.", "."},
		{"/a/..", ".."},
		{"/%2e", "%2e"},
		{"/%", "%"},
		{"/%4", "%4"},
		{"/%4x", "%4x"},
		{"/foo=bar", "foo=bar"},
		{"/=a", "=a"},
		{"/0=a", "0=a"},
		{"/65536=a", "65536=a"},
		{"/08=a", "08=a"},
		{"/+8=a", "+8=a"},
		{"/v=", "v="},
		{"/v=x", "v=x"},
		{"/v=07", "v=07"},
		{"/v=+7", "v=+7"},
		{"/v=-1", "v=-1"},
		{"/v=18446744073709551616", "v=18446744073709551616"},
		{"/sha256digest=00", "sha256digest=00"},
		{"/params-sha256=zz", "params-sha256=zz"},
		{"/1=abc", "1=abc"},
	} {
		t.Run(c.uri, func(t *testing.T) {
			n, err := ParseName(c.uri)
			var e *NameError
			if !errors.As(err, &e) {
				t.Fatalf("parsed as %v, error %v", n, err)
			}
			if e.URI != c.uri || e.Component != c.component || e.Reason == "" || !strings.Contains(err.Error(), e.Reason) {
				t.Errorf("error %#v: %v", e, err)
			}
		})
	}
}

func TestComponentString(t *testing.T) {
	for want, c := range map[string]Component{"a%2Fb": {TypeGeneric, []byte("a/b")}, "seg=3": {TypeSegment, []byte{3}}} {
		if c.String() != want {
			t.Errorf("%v, want %s", c, want)
		}
	}
}

func TestMustParseNamePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustParseName("a")
}

func TestURIRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := name(0, 6).Draw(t, "name")
		got, err := ParseName(n.String())
		if err != nil || !got.Equal(n) {
			t.Fatalf("%x is %q, which is %x, %v", []byte(n), n.String(), []byte(got), err)
		}
	})
}

func FuzzName(f *testing.F) {
	f.Add("/a/b%20c/32=pd/v=7", []byte{8, 1, 'a', 54, 1, 7})
	f.Add("ndn:/.../seg=1/sha256digest=00", []byte{32, 0, 0xfd, 0xff, 0xff, 1, '.'})
	f.Add("/32=.../8=%2e/54=%00", []byte{1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, uri string, value []byte) {
		if n, err := ParseName(uri); err == nil {
			again(t, n)
		}
		n, err := DecodeName(value)
		if err == nil {
			again(t, n)
		}
		// What isn't a valid name must at least be safe.
		bad := Name(value)
		_, _ = bad.At(bad.Len())
		_, _ = bad.Prefix(2).String(), bad.Hash(0)
		SplitFlow(bad)
		bad.SplitChunk()
	})
}

// again fails unless n survives its URI and its bytes.
func again(t *testing.T, n Name) {
	t.Helper()
	if parsed, err := ParseName(n.String()); err != nil || !parsed.Equal(n) {
		t.Fatalf("%x is %q, which is %x, %v", []byte(n), n.String(), []byte(parsed), err)
	}
	if decoded, err := DecodeName(n); err != nil || !decoded.Equal(n) {
		t.Fatalf("%x decodes as %x, %v", []byte(n), []byte(decoded), err)
	}
	if n.Prefix(n.Len()).Compare(n) != 0 {
		t.Fatalf("%v isn't its own longest prefix", n)
	}
}
