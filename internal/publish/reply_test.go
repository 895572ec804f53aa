package publish

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestChunks: every chunk of an object comes, under the name that was asked for, as a dt name or a plain one; the version
// being known or not.
func TestChunks(t *testing.T) {
	for _, size := range []int{0, 1, 8000, 8001, 100_000} {
		f := newFixture("/site/a/b", size, 0, 1)
		b := newBench(t, Config{}, f)
		for i := range f.o.Manifest.Chunks() {
			s := b.gets(wire.Interest{Name: f.dt("", f.version(), uint64(i))})
			d := s.data
			if string(d.Content) != string(f.chunk(i)) || d.ContentType != 0 || d.SignatureType != wire.SignatureNull || d.FinalBlock != nil {
				t.Errorf("chunk %d of %d bytes: %d bytes, type %d, signature %d", i, size, len(d.Content), d.ContentType, d.SignatureType)
			}
			d = b.gets(wire.Interest{Name: f.name("", f.version(), uint64(i))}).data
			last, ok := d.FinalSegment()
			if string(d.Content) != string(f.chunk(i)) || d.SignatureType != wire.SignatureSHA256 || !ok || last != uint64(f.o.Manifest.Chunks()-1) {
				t.Errorf("plain chunk %d of %d bytes: %d bytes, signature %d, last %d", i, size, len(d.Content), d.SignatureType, last)
			}
		}
		if b.resolves != 1 {
			t.Errorf("resolved %d times", b.resolves)
		}
	}
}

// TestManifest: what comes as the manifest is the manifest.
func TestManifest(t *testing.T) {
	f := newFixture("/site/a", 1000, 1, 1)
	b := newBench(t, Config{}, f)
	for _, plain := range []bool{false, true} {
		r := wire.NewManifestReader(f.o.Manifest.Layout, f.o.Manifest.Digest())
		for i := range f.o.Manifest.Segments() {
			name := f.dt("32=manifest", f.version(), uint64(i))
			if plain {
				name = f.name("32=manifest", f.version(), uint64(i))
			}
			d := b.gets(wire.Interest{Name: name}).data
			if err := r.Add(i, d.Content); err != nil {
				t.Errorf("segment %d: %v", i, err)
			}
			last, ok := d.FinalSegment()
			if ok != plain || ok && last != uint64(f.o.Manifest.Segments()-1) {
				t.Errorf("last segment %d, %v", last, ok)
			}
		}
	}
	if b.reads != 0 {
		t.Error("the application was asked for chunks")
	}
}

// TestMetadata (interop.md: versioned name, last block, size; protocol.md §2: manifest and prefix).
func TestMetadata(t *testing.T) {
	f := newFixture("/site/a/b", 100_000, 0, 1)
	f.o.MTime = 77
	b := newBench(t, Config{Freshness: 2000}, f)
	d := b.gets(wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true, MustBeFresh: true}).data
	if want := f.name("32=metadata", f.version(), 0); !d.Name.Equal(want) {
		t.Errorf("named %v, want %v", d.Name, want)
	}
	if last, ok := d.FinalSegment(); d.Freshness != 2000 || d.SignatureType != wire.SignatureSHA256 || !ok || last != 0 {
		t.Errorf("%+v", d)
	}
	var m wire.Metadata
	if err := m.Decode(d.Content); err != nil {
		t.Fatal(err)
	}
	if !m.HasMARS || !m.Name.Equal(f.name("", f.version())) || m.Layout() != f.o.Manifest.Layout || m.FinalChunk != 12 ||
		!m.Dest.Equal(site) || m.Digest != f.o.Manifest.Digest() {
		t.Errorf("%+v", m)
	}
	if m.MTime != 77 || !bytes.Equal(m.Leaf, f.o.Manifest.Segment(1)) {
		t.Errorf("time %d, leaf %x", m.MTime, m.Leaf)
	}
	large := newFixture("/site/a/b", (maxInline+1)*100, 100, 1)
	b = newBench(t, Config{}, large)
	d = b.gets(wire.Interest{Name: large.name("32=metadata"), CanBePrefix: true, MustBeFresh: true}).data
	if err := m.Decode(d.Content); err != nil || m.Leaf != nil {
		t.Errorf("%v; the digests of %d chunks go along", err, large.o.Manifest.Chunks())
	}
}

// TestPrefixForms: an Interest for the beginning of a name gets the first chunk or segment, under its whole name.
func TestPrefixForms(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	for _, known := range []bool{false, true} {
		b := newBench(t, Config{}, f)
		if known {
			b.gets(wire.Interest{Name: f.name("", f.version(), 0)})
		}
		for _, c := range []struct {
			asked, want wire.Name
			content     []byte
		}{
			{f.name(""), f.name("", f.version(), 0), f.chunk(0)},
			{f.name("", f.version()), f.name("", f.version(), 0), f.chunk(0)},
			{f.name("32=manifest", f.version()), f.name("32=manifest", f.version(), 0), f.o.Manifest.Segment(0)},
		} {
			d := b.gets(wire.Interest{Name: c.asked, CanBePrefix: true}).data
			if !d.Name.Equal(c.want) || string(d.Content) != string(c.content) {
				t.Errorf("%v: %v with %d bytes, want %v", c.asked, d.Name, len(d.Content), c.want)
			}
		}
	}
}

// TestRefusals: who asks for what isn't there learns why.
func TestRefusals(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	v := f.version()
	long := wire.MustParseName("/site").Append(wire.TypeGeneric, make([]byte, maxObject))
	for _, c := range []struct {
		say  string
		i    wire.Interest
		want string // "": Nack(NoRoute)
	}{
		{"past the last chunk", wire.Interest{Name: f.dt("", v, 3)}, CodeNotFound},
		{"past the last segment", wire.Interest{Name: f.dt("32=manifest", v, 2)}, CodeNotFound},
		{"far past", wire.Interest{Name: f.name("", v, 1<<62)}, CodeNotFound},
		{"another version", wire.Interest{Name: f.dt("", v+1, 0)}, CodeGone},
		{"another version's manifest", wire.Interest{Name: f.name("32=manifest", v+1, 0)}, CodeGone},
		{"no such object", wire.Interest{Name: wire.MustParseName("/site/b/v=1/seg=0")}, CodeNotFound},
		{"no such object's metadata", wire.Interest{Name: wire.MustParseName("/site/b/32=metadata"), CanBePrefix: true}, CodeNotFound},
		{"an object whose chunks fit into no packet", wire.Interest{Name: long, CanBePrefix: true}, CodeNotFound},
		{"a name that is too long", wire.Interest{Name: long.Clone().Append(wire.TypeGeneric, make([]byte, 8000)), CanBePrefix: true}, ""},
		{"another producer", wire.Interest{Name: wire.MustParseName("/other/a/v=1/seg=0")}, ""},
		{"discovery", wire.Interest{Name: wire.MustParseName("/site/me/32=pd/%01/seq=3")}, ""},
		{"not a name of ours", wire.Interest{Name: wire.MustParseName("/site/a/seg=0")}, ""},
	} {
		t.Run(c.say, func(t *testing.T) {
			b := newBench(t, Config{}, f)
			s := b.gets(c.i)
			if c.want == "" {
				if !s.Nack || s.NackReason != wire.NackNoRoute {
					t.Errorf("%+v", s.Packet)
				}
			} else if s.Nack || s.says() != c.want || s.data.Freshness != refusalFreshness {
				t.Errorf("%q, %+v", s.says(), s.Packet)
			}
			if plain := wire.SplitFlow(c.i.Name).Kind == wire.Plain; !s.Nack && plain != (s.data.SignatureType == wire.SignatureSHA256) {
				t.Errorf("signature type %d", s.data.SignatureType)
			}
			if c.i.Name.Equal(long) && b.resolves != 0 {
				t.Error("the application is asked for it")
			}
			if n := b.e.Counters(); n.Nacks != 1 || n.Data != 0 || n.Interests != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestLongestNames: what is answered at all fits into a packet, with the longest names there may be.
func TestLongestNames(t *testing.T) {
	f := newFixture("/site/a", 16_000, 0, 1)
	f.o.Name = wire.MustParseName("/site").Append(wire.TypeGeneric, make([]byte, maxObject-6-4))
	if len(f.o.Name) != maxObject {
		t.Fatal(len(f.o.Name))
	}
	b := newBench(t, Config{}, f)
	for _, i := range []wire.Interest{
		{Name: f.name("", f.version(), 1)},
		{Name: f.name("32=manifest", f.version(), 0)},
		{Name: f.name("32=metadata"), CanBePrefix: true},
		{Name: f.dt("32=manifest", f.version(), 0)},
		{Name: f.dt("", f.version(), 0)},
		{Name: wire.AppendTransmission(nil, site, make([]byte, maxName-maxObject-2-4-20), f.o.Name[len(site):]).AppendChunk(f.version(), 0)},
	} {
		if s := b.gets(i); s.Nack || s.says() != "" {
			t.Errorf("%d bytes of name: %q, %v", len(i.Name), s.says(), s.Nack)
		}
	}
}

// TestSmallBuffer: a packet that doesn't fit is kept, and the length that it needs is told.
func TestSmallBuffer(t *testing.T) {
	f := newFixture("/site/a", 16_000, 0, 1)
	b := newBench(t, Config{}, f)
	for _, name := range []wire.Name{f.dt("", f.version(), 0), f.name("", f.version(), 0), wire.MustParseName("/other")} {
		b.asks(wire.Interest{Name: name})
		n, _ := b.e.Transmit(0, Face, nil)
		if n >= 0 {
			t.Fatalf("%d", n)
		}
		if m, _ := b.e.Transmit(0, Face, make([]byte, -n-1)); m != n {
			t.Errorf("%d, then %d", n, m)
		}
		if m, _ := b.e.Transmit(0, Face, make([]byte, -n)); m != -n {
			t.Errorf("%d, then %d", n, m)
		}
		b.silent()
	}
}

// TestMalformed: what is no Interest gets no answer.
func TestMalformed(t *testing.T) {
	b := newBench(t, Config{})
	i := wire.Interest{Name: site, HasNonce: true}
	d := wire.Data{Name: site, SignatureType: wire.SignatureNull}
	for _, datagram := range [][]byte{
		nil, []byte("noise"), d.Append(nil),
		{5, 0},
		(&wire.Packet{PitToken: []byte{1}}).Append(nil),
		(&wire.Packet{Nack: true, Fragment: i.Append(nil)}).Append(nil),
		(&wire.Packet{HasSequence: true, FragCount: 2, Fragment: i.Append(nil)}).Append(nil),
	} {
		b.e.Receive(0, Face, machine.NotECT, datagram)
		b.silent()
	}
	if n := b.e.Counters(); n.Malformed != 7 || n.Interests != 0 || len(b.e.inquiries.slots) != 0 {
		t.Errorf("%+v", n)
	}
}

// TestWithoutToken: an Interest without a PitToken is answered without one, and the longest one is echoed.
func TestTokens(t *testing.T) {
	f := newFixture("/site/a", 10, 0, 1)
	for _, token := range [][]byte{nil, {9}, make([]byte, wire.MaxPitToken)} {
		b := newBench(t, Config{}, f)
		i := wire.Interest{Name: f.dt("", f.version(), 0), HasNonce: true}
		h := wire.Packet{PitToken: token, Fragment: i.Append(nil)}
		b.e.Receive(0, Face, machine.NotECT, h.Append(nil))
		b.serve()
		if s := b.next(); string(s.PitToken) != string(token) {
			t.Errorf("token %x, want %x", s.PitToken, token)
		}
	}
}

// TestDigestCoversTheName: another name gives another digest.
func TestDigestCoversTheName(t *testing.T) {
	f := newFixture("/site/a", 16_000, 0, 1)
	b := newBench(t, Config{}, f)
	d := b.gets(wire.Interest{Name: f.name("", f.version(), 1)}).data
	d.Name = f.name("", f.version(), 0)
	if sum := sha256.Sum256(d.AppendSigned(nil)); string(sum[:]) == string(d.SignatureValue) {
		t.Error("the digest doesn't cover the name")
	}
}
