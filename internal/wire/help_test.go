package wire

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unhex reads hexadecimal digits, with any space between them and comments from # to the end of a line.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// packet is an element of type typ whose value is written in hexadecimal.
func packet(t testing.TB, typ uint64, value string) []byte {
	t.Helper()
	return AppendTLV(nil, typ, unhex(t, value))
}

// same fails unless got and want are equal, unexported fields included.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want any,
) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// wantError fails unless err is the reason want.
func wantError(t *testing.T, err error, want Error) {
	t.Helper()
	if err != want {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// wantNoSpare fails when a byte slice among the fields of the struct that v points to could grow into the packet.
func wantNoSpare(t interface {
	Helper()
	Fatalf(string, ...any)
}, v any,
) {
	t.Helper()
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		if f := s.Field(i); f.Kind() == reflect.Slice && f.Cap() != f.Len() {
			t.Fatalf("%s has %d spare bytes", s.Type().Field(i).Name, f.Cap()-f.Len())
		}
	}
}

// wantNoAllocs fails when f allocates.
func wantNoAllocs(t *testing.T, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Fatalf("%v allocations, want none", n)
	}
}

// everyCut calls decode with every proper prefix of b and with b and one more byte; all must fail.
func everyCut(t *testing.T, b []byte, decode func([]byte) error) {
	t.Helper()
	for n := range b {
		if decode(b[:n:n]) == nil {
			t.Fatalf("the first %d of %d bytes decode", n, len(b))
		}
	}
	if err := decode(append(b[:len(b):len(b)], 0)); err != ErrTrailing {
		t.Fatalf("with a trailing byte: %v, want %v", err, ErrTrailing)
	}
}

// Generators.

// number favours the borders of the forms that numbers have.
func number() *rapid.Generator[uint64] {
	return rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 252, 253, 255, 256, 1<<16 - 1, 1 << 16, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}),
		rapid.Uint64(),
	)
}

func octets(least, most int) *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.Byte(), least, most)
}

func component() *rapid.Generator[Component] {
	return rapid.Custom(func(t *rapid.T) Component {
		typ := rapid.OneOf(
			rapid.SampledFrom([]uint64{
				TypeImplicitDigest, TypeGeneric, TypeGeneric, TypeKeyword, TypeSegment, TypeByteOffset, TypeVersion, TypeTimestamp,
				TypeSequence, 3, 252, 253, maxComponentType,
			}),
			rapid.Uint64Range(3, maxComponentType),
		).Draw(t, "type")
		if typ == TypeImplicitDigest {
			return Component{typ, octets(digestLen, digestLen).Draw(t, "digest")}
		}
		return Component{typ, rapid.OneOf(
			octets(0, 20),
			rapid.Map(rapid.IntRange(0, 5), func(n int) []byte { return []byte(strings.Repeat(".", n)) }),
			rapid.Map(number(), func(v uint64) []byte { return AppendNatural(nil, v) }),
			octets(250, 260),
		).Draw(t, "value")}
	})
}

// name draws names without a parameters digest.
func name(least, most int) *rapid.Generator[Name] {
	return rapid.Custom(func(t *rapid.T) Name {
		var n Name
		for _, c := range rapid.SliceOfN(component(), least, most).Draw(t, "components") {
			n = n.Append(c.Type, c.Value)
		}
		return n
	})
}

// maybe draws nil half of the time.
func maybe(g *rapid.Generator[[]byte]) *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.Just[[]byte](nil), g)
}

// exampleName is /site/data/<src>/32=dt/object/v=…/seg=1000: the usual shape of a chunk's name.
func exampleName() Name {
	dest := MustParseName("/site/data")
	n := AppendTransmission(nil, dest, []byte("\x01\x23\x45\x67\x89\xab\xcd\xef"), MustParseName("/genome.tar"))
	return n.AppendChunk(0xfedc_ba98_7654_3210, 1000)
}
