package route

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestForms holds the encoder to docs/routing.md, byte for byte.
func TestForms(t *testing.T) {
	h := header{ask: true, ack: true, id: 0x0102030405060708, boot: 0x11121314, session: 0x21222324, heardBoot: 0x31323334, heardSession: 0x41424344, number: 0x51525354}
	hello := make([]byte, headerLen)
	h.put(hello)
	a := &advert{origin: 0x61, stamp: stamp{0x62, 0x63}, relay: true, links: []uint64{0x64, 0x65}, prefixes: []wire.Name{name("/a")}}
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"hello", hello, "01 03 0102030405060708 11121314 21222324 31323334 41424344 51525354"},
		{"acks", acks(1, 2), "01 0008 00000001 00000002"},
		{"summary", lists(a), "02 0024 0000000000000000 ffffffffffffffff 0000000000000061 0000000000000062 00000063"},
		{
			"advertisement", says(a, 1000),
			"03 0034 000003e8 0000000000000061 0000000000000062 00000063 01 0002 0000000000000064 0000000000000065 0001 0003 080161 0000",
		},
	} {
		if want := strings.ReplaceAll(c.want, " ", ""); hex.EncodeToString(c.got) != want {
			t.Errorf("%s:\n got %x\nwant %s", c.what, c.got, want)
		}
	}
}

func TestMalformedMessages(t *testing.T) {
	s := &script{header: header{id: 2, session: 1}}
	patch := func(b []byte, at int, v byte) []byte {
		b = slices.Clone(b)
		b[at] = v
		return b
	}
	whole := s.encode()
	swapped := lists(node(5, 1, nil), node(4, 1, nil))
	narrow := patch(lists(node(5, 1, nil)), recordLen+15, 4) // hi ends in …04
	for i := range 7 {
		narrow[recordLen+8+i] = 0
	}
	for _, c := range []struct {
		what string
		b    []byte
		want Drop
	}{
		{"empty", nil, Malformed},
		{"cut", whole[:headerLen-1], Malformed},
		{"another version", patch(whole, 0, 2), OtherVersion},
		{"reserved flag", patch(whole, 1, 4), Malformed},
		{"session 0", patch(whole, 17, 0), Malformed},
		{"half a record header", s.encode([]byte{1, 0}), Malformed},
		{"record beyond the end", s.encode([]byte{9, 0, 1}), Malformed},
		{"acks of 5 bytes", s.encode([]byte{1, 0, 5, 0, 0, 0, 0, 0}), Malformed},
		{"summary without span", s.encode([]byte{2, 0, 1, 0}), Malformed},
		{"summary descending", s.encode(swapped), Malformed},
		{"summary twice the same", s.encode(lists(node(5, 1, nil), node(5, 1, nil))), Malformed},
		{"summary beyond its span", s.encode(narrow), Malformed},
		{"advertisement of 5 bytes", s.encode([]byte{3, 0, 5, 0, 0, 0, 0, 0}), Malformed},
		{"too long", s.encode(make([]byte, MaxMessage)), TooLong},
	} {
		var m message
		if why, ok := m.decode(c.b); ok || why != c.want {
			t.Errorf("%s: %v, %v", c.what, why, ok)
		}
	}
	var m message
	if _, ok := m.decode(s.encode([]byte{200, 0, 1, 0}, acks(3))); !ok || len(m.acks) != 1 {
		t.Error("a record of unknown type isn't skipped")
	}
}

func TestMalformedAdvertisements(t *testing.T) {
	good := node(9, 5, []uint64{2, 3}, "/a", "/b")
	change := func(f func(*advert)) []byte {
		a := *good
		a.links, a.prefixes = slices.Clone(a.links), slices.Clone(a.prefixes)
		f(&a)
		return a.encoded()
	}
	many := make([]uint64, MaxLinks+1)
	for i := range many {
		many[i] = uint64(i + 100)
	}
	b := good.encoded()
	for _, c := range []struct {
		what string
		b    []byte
		want Drop
	}{
		{"cut", b[:len(b)-1], BadAdvertisement},
		{"a byte more", append(slices.Clone(b), 0), BadAdvertisement},
		{"no sequence number", change(func(a *advert) { a.seq = 0 }), BadAdvertisement},
		{"impossible sequence number", change(func(a *advert) { a.seq = 1 << 62 }), BadSequence},
		{"link to itself", change(func(a *advert) { a.links[1] = 9 }), BadAdvertisement},
		{"links descending", change(func(a *advert) { a.links[0] = 4 }), BadAdvertisement},
		{"a link twice", change(func(a *advert) { a.links[0] = 3 }), BadAdvertisement},
		{"too many links", change(func(a *advert) { a.links = many }), OverBounds},
		{"prefixes descending", change(func(a *advert) { slices.Reverse(a.prefixes) }), BadAdvertisement},
		{"a prefix twice", change(func(a *advert) { a.prefixes[0] = a.prefixes[1] }), BadAdvertisement},
		{"not a name", change(func(a *advert) { a.prefixes[1] = wire.Name{8, 9, 9} }), BadAdvertisement},
		{"long name", change(func(a *advert) { a.prefixes[1] = name("/" + strings.Repeat("n", MaxName)) }), OverBounds},
		{"too many prefixes", change(func(a *advert) { a.prefixes = make([]wire.Name, MaxPrefixes+1) }), OverBounds},
		{"long signature", append(b[:len(b)-2:len(b)-2], make([]byte, 2+MaxSignature+1)...), BadAdvertisement},
	} {
		if _, why, ok := decodeAdvert(c.b); ok || why != c.want {
			t.Errorf("%s: %v, %v", c.what, why, ok)
		}
	}
	role := slices.Clone(b)
	role[stampEnd] = 2
	if _, _, ok := decodeAdvert(role); ok {
		t.Error("role 2 passes")
	}
}

// anyAdvert draws advertisements within the bounds.
func anyAdvert(t *rapid.T) *advert {
	a := &advert{
		origin: rapid.Uint64().Draw(t, "origin"),
		stamp:  stamp{rapid.Uint64Range(1, maxSeq-1).Draw(t, "seq"), rapid.Uint32().Draw(t, "boot")},
		relay:  rapid.Bool().Draw(t, "relay"),
		links:  rapid.SliceOfNDistinct(rapid.Uint64(), 0, 20, rapid.ID[uint64]).Draw(t, "links"),
	}
	a.links = slices.DeleteFunc(a.links, func(id uint64) bool { return id == a.origin })
	slices.Sort(a.links)
	for _, s := range rapid.SliceOfNDistinct(rapid.StringMatching(`(/[a-z]{1,9}){0,3}`), 0, 20, rapid.ID[string]).Draw(t, "prefixes") {
		a.prefixes = append(a.prefixes, name(s))
	}
	slices.SortFunc(a.prefixes, wire.Name.Compare)
	return a
}

func TestAdvertisementRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAdvert(t)
		signature := rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "signature")
		signed := appendAdvert(nil, a)
		b := appendSignature(slices.Clone(signed), signature)
		got, why, ok := decodeAdvert(b)
		if !ok {
			t.Fatalf("%v", why)
		}
		if diff := cmp.Diff(signed, appendAdvert(nil, got)); diff != "" {
			t.Fatal(diff)
		}
		if s, sig, ok := Split(b); !ok || !bytes.Equal(s, signed) || !bytes.Equal(sig, signature) {
			t.Fatalf("Split: %x %x %v", s, sig, ok)
		}
	})
}

// TestLargest: the largest advertisement fits one message beside the header.
func TestLargest(t *testing.T) {
	a := &advert{origin: 1, stamp: stamp{maxSeq - 1, 1}}
	for i := range MaxLinks {
		a.links = append(a.links, uint64(i+2))
	}
	body := appendAdvert(nil, a)
	if size := headerLen + recordLen + ageLen + len(body) + MaxNames + 2 + MaxSignature; size > MaxMessage {
		t.Errorf("%d bytes", size)
	}
}

// FuzzAdvertisement: what decodes is canonical.
func FuzzAdvertisement(f *testing.F) {
	f.Add(node(9, 5, []uint64{2, 3}, "/a", "/b/c").encoded())
	f.Add(node(9, 5, nil).encoded())
	f.Fuzz(func(t *testing.T, b []byte) {
		signed, signature, ok := Split(b)
		if !ok {
			return
		}
		a, _, _ := decodeAdvert(b)
		if !bytes.Equal(appendAdvert(nil, a), signed) || !bytes.Equal(appendSignature(slices.Clone(signed), signature), b) {
			t.Errorf("%x isn't canonical", b)
		}
	})
}

// FuzzReceive: nothing that a neighbour sends breaks the Router, makes it grow beyond its bounds or send what it
// couldn't read itself.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add(slices.Concat(says(node(5, 1, []uint64{2, 6}, "/a"), 1), says(node(6, 1, []uint64{5}, "/b"), 1), acks(1, 2)), true)
	f.Add(slices.Concat(lists(node(1, 1, nil), node(2, 9, nil)), says(node(1, 99, []uint64{2}), 0)), true)
	f.Add((&script{header: header{id: 3, boot: 1, session: 4}}).encode(), false)
	f.Fuzz(func(t *testing.T, b []byte, records bool) {
		rig := newRig(t, Config{ID: 1, Boot: 1, Relay: true, MaxNodes: 4, MaxBytes: 500})
		rig.r.Announce(0, name("/me"))
		s, other := rig.linked(1, 2), rig.linked(2, 3)
		if records {
			s.send(b)
		} else {
			rig.r.Receive(rig.now, 1, b)
		}
		s.send(says(node(2, 1, []uint64{1}, "/n"), 0))
		for range 5 {
			s.drain() // checks what it sends
			other.drain()
			rig.run(100 * machine.Millisecond)
			rig.r.Changes(nil)
		}
		if rig.r.bytes > 500+MaxMessage || len(rig.r.order) > 5 {
			t.Errorf("%d bytes, %d nodes", rig.r.bytes, len(rig.r.order))
		}
		rig.r.Topology()
	})
}
