package wire

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

const digestHex = "0102030405060708 0000000000000000 0000000000000000 0000000000000000"

// The metadata of /p/o, 16001 bytes, by hand from docs/protocol.md, "Metadata".
const (
	oursName   = "07 10 080170 08016f 3608 0102030405060708"
	oursFinal  = "1a 03 320102"
	oursChunk  = "fdf500 02 1f40"
	oursSize   = "fdf502 02 3e81"
	oursDigest = "fdf580 20" + digestHex
	oursDest   = "fdf582 05 0703 080170"
	ours       = oursName + oursFinal + oursChunk + oursSize + oursDigest + oursDest
)

func TestMetadataGolden(t *testing.T) {
	b := unhex(t, ours)
	want := Metadata{
		Name: MustParseName("/p/o").AppendNumber(TypeVersion, 0x0102030405060708), FinalChunk: 2, HasFinal: true,
		Size: 16001, HasSize: true, ChunkSize: 8000, Digest: Digest(unhex(t, digestHex)), Dest: MustParseName("/p"), HasMARS: true,
	}
	var m Metadata
	if err := m.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", m, want)
	same(t, "encoded", m.Append(nil), b)
	want.FinalChunk, want.HasFinal, want.HasSize = 0, false, false // which follow
	same(t, "encoded from less", want.Append(nil), b)
	for n := range b { // a prefix may be a stranger's, but never pass for ours
		if m.Decode(b[:n:n]) == nil && m.HasMARS {
			t.Errorf("the first %d bytes pass for the whole", n)
		}
	}
}

// TestMetadataOfSmallObject: with the time of the last change and the only leaf, in the places of their types.
func TestMetadataOfSmallObject(t *testing.T) {
	b := unhex(t, oursName+oursFinal+oursChunk+oursSize+"fdf50c 01 07"+oursDigest+oursDest+"fdf584 03 abcdef")
	var m Metadata
	if err := m.Decode(b); err != nil {
		t.Fatal(err)
	}
	if m.MTime != 7 || string(m.Leaf) != "\xab\xcd\xef" {
		t.Errorf("%+v", m)
	}
	same(t, "encoded", m.Append(nil), b)
}

func TestMetadataOfStrangers(t *testing.T) {
	v7 := MustParseName("/a/v=7")
	for _, c := range []struct {
		what, content string
		want          Metadata
	}{
		{"name only", "07 06 080161 360107", Metadata{Name: v7}},
		{"with final segment", "07 06 080161 360107 1a03 320109", Metadata{Name: v7, FinalChunk: 9, HasFinal: true}},
		{"final block of another type", "07 06 080161 360107 1a03 080109", Metadata{Name: v7}},
		{"a file server's", "07 06 080161 360107 1a03 320109 fdf500 02 1000 fdf502 02 9c40 fdf504 02 81a4 fdf50c 04 00000000", Metadata{
			Name: v7, FinalChunk: 9, HasFinal: true, ChunkSize: 4096, Size: 40000, HasSize: true,
		}},
		{"empty file", "07 06 080161 360107 fdf502 01 00", Metadata{Name: v7, HasSize: true}},
		{"chunks too large for us", "07 06 080161 360107 fdf500 02 ffff", Metadata{Name: v7}},
		{"chunks one byte too large", "07 06 080161 360107 fdf500 02 1f41", Metadata{Name: v7}},
		{"chunks of nothing", "07 06 080161 360107 fdf500 01 00", Metadata{Name: v7}},
		{"dest without digest", "07 06 080161 360107" + oursDest, Metadata{Name: v7}},
		{"out of order, but even", "07 06 080161 360107 fdf502 01 05 fdf500 02 1000", Metadata{Name: v7, Size: 5, HasSize: true}},
		{"no version", "07 03 080161", Metadata{Name: v7.Prefix(1)}},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := Metadata{FinalChunk: 1, HasFinal: true, Size: 1, HasSize: true, ChunkSize: 1, Dest: v7, HasMARS: true} // all of which goes
			if err := m.Decode(unhex(t, c.content)); err != nil {
				t.Fatal(err)
			}
			same(t, "decoded", m, c.want)
		})
	}
}

func TestMetadataRejects(t *testing.T) {
	for _, c := range []struct {
		what, content string
		err           Error
	}{
		{"empty", "", ErrMissing},
		{"no name", oursFinal + oursSize, ErrName},
		{"ignorable before the name", "2000" + oursName, ErrName},
		{"bad name", "0702 0000", ErrType},
		{"name cut", "0705 080161", ErrTruncated},
		{"two names", oursName + oursName, ErrOrder},
		{"unknown critical element", oursName + "2100", ErrCritical},
		{"empty FinalBlockId", oursName + "1a00", ErrTruncated},
		{"two FinalBlockIds", oursName + oursFinal + oursFinal, ErrOrder},
		{"size of 3 bytes", oursName + "fdf502 03 000000", ErrNumber},
		{"chunk size of 3 bytes", oursName + "fdf500 03 000000", ErrNumber},
		{"size 2^63", oursName + "fdf502 08 8000000000000000", ErrValue},
		{"short digest", oursName + oursFinal + oursChunk + oursSize + "fdf580 01 00" + oursDest, ErrLength},
		{"no final chunk", oursName + oursChunk + oursSize + oursDigest + oursDest, ErrMissing},
		{"no chunk size", oursName + oursFinal + oursSize + oursDigest + oursDest, ErrMissing},
		{"no size", oursName + oursFinal + oursChunk + oursDigest + oursDest, ErrMissing},
		{"no dest", oursName + oursFinal + oursChunk + oursSize + oursDigest, ErrMissing},
		{"empty dest", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 02 0700", ErrMissing},
		{"dest that isn't a name", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 03 080170", ErrName},
		{"dest with something behind", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 06 0703 080170 00", ErrTrailing},
		{"empty dest element", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 00", ErrTruncated},
		{"dest elsewhere", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 05 0703 080171", ErrValue},
		{"dest is the whole name", oursName + oursFinal + oursChunk + oursSize + oursDigest + "fdf582 12" + oursName, ErrValue},
		{"version of another digest", "07 10 080170 08016f 3608 0102030405060709" + oursFinal + oursChunk + oursSize + oursDigest + oursDest, ErrValue},
		{"no version", "07 06 080170 08016f" + oursFinal + oursChunk + oursSize + oursDigest + oursDest, ErrValue},
		{"empty name", "07 00" + oursFinal + oursChunk + oursSize + oursDigest + oursDest, ErrValue},
		{"final chunk of another size", oursName + "1a03 320103" + oursChunk + oursSize + oursDigest + oursDest, ErrValue},
	} {
		t.Run(c.what, func(t *testing.T) {
			var m Metadata
			wantError(t, m.Decode(unhex(t, c.content)), c.err)
		})
	}
}

func metadata() *rapid.Generator[Metadata] {
	return rapid.Custom(func(t *rapid.T) Metadata {
		l := layout(math.MaxInt64).Draw(t, "layout")
		m := Metadata{
			FinalChunk: uint64(l.Chunks() - 1), HasFinal: true, Size: l.Size, HasSize: true, ChunkSize: l.ChunkSize, HasMARS: true,
			Digest: Digest(octets(32, 32).Draw(t, "digest")), Dest: name(1, 3).Draw(t, "dest"),
		}
		object := append(m.Dest.Clone(), name(0, 3).Draw(t, "object")...)
		m.Name = object.AppendNumber(TypeVersion, VersionOf(m.Digest))
		m.MTime = rapid.Int64Min(0).Draw(t, "mtime")
		if rapid.Bool().Draw(t, "has leaf") {
			m.Leaf = octets(0, 99).Draw(t, "leaf")
		}
		return m
	})
}

func TestMetadataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := metadata().Draw(t, "metadata")
		got := metadata().Draw(t, "what the struct held before")
		if err := got.Decode(append(want.Append(nil), 0xff)[:len(want.Append(nil))]); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", got, want)
		wantNoSpare(t, &got)
		if got.Layout().Validate() != nil {
			t.Fatal("bad layout")
		}
	})
}

func TestMetadataAllocatesNothing(t *testing.T) {
	b, buf := unhex(t, ours), make([]byte, 0, 500)
	var m Metadata
	wantNoAllocs(t, func() {
		if err := m.Decode(b); err != nil {
			t.Fatal(err)
		}
		m.Append(buf)
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add(unhex(f, ours))
	f.Add(unhex(f, "07 06 080161 360107 1a03 320109 fdf500 02 1000 fdf502 02 9c40 fdf504 02 81a4"))
	f.Add(unhex(f, oursName+"fdf502 08 ffffffffffffffff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again Metadata
		if m.Decode(b) != nil {
			return
		}
		wantNoSpare(t, &m)
		if m.HasMARS {
			if err := m.Layout().Validate(); err != nil {
				t.Fatal(err)
			}
			NewManifestReader(m.Layout(), m.Digest)
		}
		encoded := m.Append(nil)
		if err := again.Decode(encoded); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		same(t, "decoded again", again, m)
		same(t, "encoded twice", again.Append(nil), encoded)
	})
}
