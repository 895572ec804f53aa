package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDecodeName(t *testing.T) {
	digest := "0000000000000000000000000000000000000000000000000000000000000000"
	for _, c := range []struct {
		what, value string
		err         error
	}{
		{"empty", "", nil},
		{"two components", "080141 080142", nil},
		{"empty component", "0800", nil},
		{"keyword and version", "2002 7064 36 08 ffffffffffffffff", nil},
		{"largest component type", "fdffff 00", nil},
		{"implicit digest", "0120" + digest, nil},
		{"parameters digest", "0220" + digest, nil},
		{"two parameters digests", "0220" + digest + "0220" + digest, nil}, // no Interest could have it, a Data could
		{"component type 0", "0000", ErrType},
		{"component type 65536", "fe00010000 00", ErrName},
		{"short implicit digest", "0102 0000", ErrName},
		{"long parameters digest", "0221 00" + digest, ErrName},
		{"length not in shortest form", "08 fd0001 41", ErrNumber},
		{"truncated", "0802 41", ErrTruncated},
		{"length 2^63", "08 ff8000000000000000 41", ErrTruncated},
	} {
		t.Run(c.what, func(t *testing.T) {
			value := unhex(t, c.value)
			n, err := DecodeName(value)
			if err != c.err {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil && !bytes.Equal(n, value) {
				t.Fatalf("decoded as %x", []byte(n))
			}
		})
	}
	if n, _ := DecodeName([]byte{}); n != nil {
		t.Error("the empty name isn't nil")
	}
}

func TestNameParts(t *testing.T) {
	n := MustParseName("/a/b%20c/32=pd/v=7")
	same(t, "bytes", []byte(n), unhex(t, "0801 61 0803 622063 2002 7064 3601 07"))
	if n.Len() != 4 || Name(nil).Len() != 0 {
		t.Errorf("lengths %d and %d", n.Len(), Name(nil).Len())
	}
	for i, want := range []Component{{8, []byte("a")}, {8, []byte("b c")}, {32, []byte("pd")}, {54, []byte{7}}} {
		c, ok := n.At(i)
		if !ok {
			t.Fatalf("no component %d", i)
		}
		same(t, "component", c, want)
	}
	for _, i := range []int{-1, 4, 100} {
		if c, ok := n.At(i); ok {
			t.Errorf("component %d is %v", i, c)
		}
	}
	for k, want := range []string{"/", "/a", "/a/b%20c", "/a/b%20c/32=pd", "/a/b%20c/32=pd/v=7", "/a/b%20c/32=pd/v=7"} {
		if got := n.Prefix(k); got.String() != want || cap(got) != len(got) {
			t.Errorf("prefix of %d: %v, %d spare bytes", k, got, cap(got)-len(got))
		}
	}
	if n.Prefix(-1) != nil {
		t.Error("a negative prefix has components")
	}
	last, _ := n.At(3)
	if v, ok := last.Number(); v != 7 || !ok {
		t.Errorf("version %d, %v", v, ok)
	}
	if _, ok := (Component{TypeGeneric, []byte("abc")}).Number(); ok {
		t.Error("three bytes are a number")
	}
}

func TestNameAppendDoesNotTouchThePacket(t *testing.T) {
	b := unhex(t, "0801 61 0801 62 ffff")
	n, err := DecodeName(b[:6])
	if err != nil {
		t.Fatal(err)
	}
	_ = n.AppendNumber(TypeSegment, 0)
	_ = n.Prefix(1).Append(TypeGeneric, []byte("z"))
	same(t, "packet", b, unhex(t, "0801 61 0801 62 ffff"))

	clone := n.Clone()
	b[2] = 'z'
	if clone.String() != "/a/b" || n.String() != "/z/b" {
		t.Errorf("clone %v, alias %v", clone, n)
	}
}

// TestNameBroken: a Name made of bytes that nobody checked is safe, though meaningless.
func TestNameBroken(t *testing.T) {
	for _, s := range []string{"08", "0802 61", "0801 61 0000", "08 ff8000000000000000"} {
		n := Name(unhex(t, s))
		if c, ok := n.At(5); ok {
			t.Errorf("%s has a component %v", s, c)
		}
		if k := n.Len(); n.Prefix(9).Len() != k || k > 1 {
			t.Errorf("%s has %d components, its prefix %d", s, k, n.Prefix(9).Len())
		}
		if f := SplitFlow(n); f.Kind != Plain {
			t.Errorf("%s is of kind %d", s, f.Kind)
		}
		if object, _, _, ok := n.SplitChunk(); ok {
			t.Errorf("%s is a chunk of %v", s, object)
		}
	}
}

func TestNameAppendPanics(t *testing.T) {
	for what, f := range map[string]func(){
		"type 0":           func() { Name(nil).Append(0, nil) },
		"type 65536":       func() { Name(nil).Append(65536, nil) },
		"short digest":     func() { Name(nil).Append(TypeImplicitDigest, make([]byte, 31)) },
		"number as digest": func() { Name(nil).AppendNumber(TypeParamsDigest, 1) },
		"string as digest": func() { Name(nil).AppendString(TypeImplicitDigest, "x") },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestNameOrder(t *testing.T) { // packet spec, "Canonical order"
	var digest [digestLen]byte
	ordered := []Name{
		nil,
		Name(nil).Append(TypeImplicitDigest, digest[:]),
		Name(nil).Append(TypeParamsDigest, digest[:]),
		MustParseName("/3=zzz"),
		MustParseName("/..."),
		MustParseName("/A"),
		MustParseName("/A/A"),
		MustParseName("/A/BB"),
		MustParseName("/B"),
		MustParseName("/AA"),
		MustParseName("/32=A"),
		MustParseName("/253=A"),
		MustParseName("/65535=A"),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Compare(b), cmp.Compare(i, j); got != want {
				t.Errorf("%v against %v: %d, want %d", a, b, got, want)
			}
			if a.Equal(b) != (i == j) {
				t.Errorf("%v equals %v: %v", a, b, a.Equal(b))
			}
		}
	}
}

// TestNameByComponents holds the shortcuts on bytes to what they stand for on components.
func TestNameByComponents(t *testing.T) {
	parts := func(n Name) (list []Component) {
		for {
			c, rest, ok := n.Next()
			if !ok {
				return list
			}
			list, n = append(list, c), rest
		}
	}
	order := func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(len(a.Value), len(b.Value)), bytes.Compare(a.Value, b.Value))
	}
	rapid.Check(t, func(t *rapid.T) {
		components := rapid.SliceOfN(component(), 0, 6).Draw(t, "components")
		var n Name
		for _, c := range components {
			n = n.Append(c.Type, c.Value)
		}
		if n.Len() != len(components) {
			t.Fatalf("%d components, want %d", n.Len(), len(components))
		}
		for i, want := range components {
			if got, ok := n.At(i); !ok || got.Type != want.Type || !bytes.Equal(got.Value, want.Value) {
				t.Fatalf("component %d is %v", i, got)
			}
		}
		o := rapid.OneOf(
			name(0, 4),
			rapid.Map(rapid.IntRange(0, len(components)), n.Prefix),
			rapid.Just(n.AppendNumber(TypeSegment, 0)),
		).Draw(t, "other")
		if got, want := n.Compare(o), slices.CompareFunc(parts(n), parts(o), order); got != want {
			t.Fatalf("%v against %v: %d, want %d", n, o, got, want)
		}
		k := o.Len()
		want := k <= len(components) && n.Prefix(k).Equal(o)
		if n.HasPrefix(o) != want {
			t.Fatalf("%v has prefix %v: %v", n, o, !want)
		}
		decoded, err := DecodeName(n)
		if err != nil || !decoded.Equal(n) {
			t.Fatalf("%v decodes as %v, %v", n, decoded, err)
		}
		if n.Hash(1) != n.Clone().Hash(1) || n.Equal(o) != (n.Hash(1) == o.Hash(1)) {
			t.Fatalf("hashes of %v and %v: %x, %x", n, o, n.Hash(1), o.Hash(1))
		}
	})
}

// TestHashFixed pins the hash: two nodes compute the same labels (MARS §5.2) on any architecture and in any version.
func TestHashFixed(t *testing.T) {
	for _, c := range []struct {
		uri  string
		seed uint64
		want uint64
	}{
		{"/", 0, 0xf44f0d6cdc688e6},
		{"/a", 0, 0x5b555a38b2562430},
		{"/a", 1, 0x1e399549a1fcd11e},
		{"/ab", 0, 0xf918c405662b712c},
		{"/abcdef", 0, 0xccdfa70d284355a4},
		{"/abcdefghijkl", 0, 0x9c52bcb54b618d4f},
		{"/abcdefghijklmn", 0, 0x3057515bf6cb2dd5},
		{"/abcdefghijklmnopqrstuvwxyz/seg=7", 2, 0x1508f784c5492b7e},
	} {
		if got := MustParseName(c.uri).Hash(c.seed); got != c.want {
			t.Errorf("%s with seed %d: %#x, want %#x", c.uri, c.seed, got, c.want)
		}
	}
}

// TestHashChosenWords: no word of a name takes the seed out of its hash, the constants of the code included. Names that have
// the same hash for one seed then have others for another, so nobody who doesn't know the seed can make them collide.
func TestHashChosenWords(t *testing.T) {
	words := []uint64{0, 1<<64 - 1, hash0, hash1, hash2, hash3, mix(hash0, hash1), mix(hash2, hash3)}
	for _, word := range words {
		for at := range 6 {
			seen := map[uint64]bool{}
			for seed := range uint64(50) {
				for k := range byte(20) {
					b := bytes.Repeat([]byte{k}, 48)
					binary.LittleEndian.PutUint64(b[8*at:], word)
					h := Name(b).Hash(seed * 0x9e3779b97f4a7c15)
					if seen[h] {
						t.Fatalf("word %#x at %d: two names or seeds have the hash %#x", word, 8*at, h)
					}
					seen[h] = true
				}
			}
		}
	}
}

// TestHashAvalanche: flipping any input bit flips each output bit about half of the time.
func TestHashAvalanche(t *testing.T) {
	for _, size := range []int{3, 5, 8, 12, 16, 17, 40} {
		const rounds = 400
		x := uint64(size)
		for bit := range size * 8 {
			var flips [64]int
			for range rounds {
				b := make([]byte, size)
				for i := range b {
					x = x*6364136223846793005 + 1442695040888963407
					b[i] = byte(x >> 56)
				}
				h := Name(b).Hash(x)
				b[bit/8] ^= 1 << (bit % 8)
				for d := h ^ Name(b).Hash(x); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, n := range flips { // 200 expected, σ = 10
				if n < 140 || n > 260 {
					t.Fatalf("%d bytes: input bit %d flips output bit %d in %d of %d", size, bit, out, n, rounds)
				}
			}
		}
	}
}

// TestHashSpread: names as they occur fill buckets as evenly as chance would, by low and by high bits.
func TestHashSpread(t *testing.T) {
	const names, buckets = 1 << 16, 1 << 12
	var low, high [buckets]int
	for i := range uint64(names) {
		h := exampleName().Prefix(6).AppendNumber(TypeSegment, i).Hash(7)
		low[h%buckets]++
		high[h>>(64-12)]++
	}
	for _, counts := range [][buckets]int{low, high} {
		chi := 0.0
		for _, n := range counts {
			d := float64(n) - names/buckets
			chi += d * d / (names / buckets)
		}
		if chi < buckets*0.85 || chi > buckets*1.15 { // mean 4095, σ = 90
			t.Errorf("χ² %.0f, want about %d", chi, buckets)
		}
	}
}

func TestNameAllocatesNothing(t *testing.T) {
	n, buf := exampleName(), make(Name, 0, 200)
	wantNoAllocs(t, func() {
		if _, err := DecodeName(n); err != nil || n.Len() != 7 || n.Hash(1) == n.Prefix(3).Hash(1) {
			t.Fatal("wrong name")
		}
		_ = append(buf, n.Prefix(4)...).AppendNumber(TypeSegment, 70000).Append(TypeGeneric, n[:3])
	})
}

func BenchmarkNameHash(b *testing.B) {
	n := exampleName()
	b.SetBytes(int64(len(n)))
	b.ReportAllocs()
	var sum uint64
	for b.Loop() {
		sum += n.Hash(sum)
	}
}

func BenchmarkNameDecode(b *testing.B) {
	n := exampleName()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeName(n); err != nil {
			b.Fatal(err)
		}
	}
}
