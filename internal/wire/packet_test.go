package wire

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A first fragment with every field of NDNLPv2 that we know but Nack, by hand.
const packetHex = `
	64 3c
	51 08 0102030405060708      # Sequence
	52 01 00                    # FragIndex
	53 01 03                    # FragCount
	62 04 aabbccdd              # PitToken
	fd0340 01 01                # CongestionMark
	fd0344 08 000000000000000a  # Ack
	fd0348 08 0000000000000009  # TxSequence
	50 07 06fd2000 070441       # Fragment: the beginning of a Data`

func TestPacketGolden(t *testing.T) {
	b := unhex(t, packetHex)
	var p Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", p, Packet{
		Sequence: 0x0102030405060708, HasSequence: true, FragCount: 3, PitToken: unhex(t, "aabbccdd"), CongestionMark: 1,
		Acks: Acks(nil).Add(10), TxSequence: 9, HasTxSequence: true, Fragment: unhex(t, "06fd2000 070441"),
	})
	same(t, "encoded", p.Append(nil), b)
	everyCut(t, b, p.Decode)
}

// bareInterest is the smallest Interest, /A.
const bareInterest = "0505 0703 080141"

func TestPacketNack(t *testing.T) {
	for _, c := range []struct {
		what, value string
		want        NackReason
	}{
		{"congestion", "fd0320 05 fd0321 01 32", NackCongestion},
		{"duplicate", "fd0320 05 fd0321 01 64", NackDuplicate},
		{"no route", "fd0320 05 fd0321 01 96", NackNoRoute},
		{"loop", "fd0320 06 fd0321 02 0384", NackLoop},
		{"no reason", "fd0320 00", NackNone},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := packet(t, TypeLinkPacket, c.value+"5007"+bareInterest)
			var p Packet
			if err := p.Decode(b); err != nil {
				t.Fatal(err)
			}
			same(t, "decoded", p, Packet{Nack: true, NackReason: c.want, Fragment: unhex(t, bareInterest)})
			same(t, "encoded", p.Append(nil), b)
		})
	}
}

// TestPacketNextHop: an application chooses the face.
func TestPacketNextHop(t *testing.T) {
	b := packet(t, TypeLinkPacket, "fd0330 02 0123"+"5007"+bareInterest)
	var p Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", p, Packet{NextHop: 0x123, Fragment: unhex(t, bareInterest)})
	same(t, "encoded", p.Append(nil), b)
	if n := p.HeaderLen(len(p.Fragment)); n != len(b)-len(p.Fragment) {
		t.Errorf("a header of %d bytes", n)
	}
	everyCut(t, b, p.Decode)
}

func TestPacketBare(t *testing.T) {
	for _, s := range []string{bareInterest, "06 09 0700 1603 1b0100 1700"} {
		b := unhex(t, s)
		p := Packet{Sequence: 1, HasSequence: true, Nack: true, PitToken: []byte{1}, SizeHint: 5} // all of which goes
		if err := p.Decode(b); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", p, Packet{Fragment: b})
		same(t, "encoded", p.Append(nil), b)
		if n := p.HeaderLen(len(b)); n != 0 {
			t.Errorf("a header of %d bytes", n)
		}
		everyCut(t, b, p.Decode)
	}
}

func TestPacketIdle(t *testing.T) {
	for _, s := range []string{"64 00", "64 02 5000"} {
		p := Packet{Fragment: []byte{1}}
		if err := p.Decode(unhex(t, s)); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", p, Packet{})
		same(t, "encoded", p.Append(nil), unhex(t, "64 00"))
	}
}

func TestPacketIgnores(t *testing.T) {
	for what, value := range map[string]string{
		"IncomingFaceId":          "fd032c 01 05",
		"NextHopFaceId":           "fd0330 01 05",
		"CachePolicy":             "fd0334 05 fd0335 01 01",
		"NonDiscovery":            "fd034c 00",
		"PrefixAnnouncement":      "fd0350 03 060100",
		"the last ignorable type": "fd03bc 00",
		"one FragCount":           "5201 00 5301 01",
		"an empty Nack extension": "fd0320 04 fd0324 00",
	} {
		t.Run(what, func(t *testing.T) {
			var p, again Packet
			if err := p.Decode(packet(t, TypeLinkPacket, value+"5007"+bareInterest)); err != nil {
				t.Fatal(err)
			}
			same(t, "fragment", p.Fragment, unhex(t, bareInterest))
			if err := again.Decode(p.Append(nil)); err != nil {
				t.Fatal(err)
			}
			same(t, "decoded again", again, p)
		})
	}
}

func TestPacketRejects(t *testing.T) {
	const sequence = "5108 0000000000000000"
	for _, c := range []struct {
		what, value string
		err         Error
	}{
		{"Sequence of 4 bytes", "5104 00000000", ErrLength},
		{"two Sequences", sequence + sequence, ErrOrder},
		{"FragIndex = FragCount", sequence + "5201 03 5301 03 5001 00", ErrFragment},
		{"FragIndex without FragCount", sequence + "5201 01 5001 00", ErrFragment},
		{"FragCount 0", sequence + "5301 00", ErrFragment},
		{"FragCount 65", sequence + "5301 41 5001 00", ErrFragment},
		{"FragCount 2^40", sequence + "5308 0000010000000000 5001 00", ErrFragment},
		{"FragIndex 2^64-1", sequence + "5208 ffffffffffffffff 5301 02 5001 00", ErrFragment},
		{"FragCount of 3 bytes", sequence + "5303 000002 5001 00", ErrNumber},
		{"fragmented without Sequence", "5301 02 5001 00", ErrFragment},
		{"FragCount before FragIndex", sequence + "5301 03 5201 01 5001 00", ErrOrder},
		{"empty PitToken", "6200", ErrLength},
		{"PitToken of 33 bytes", "6221 000000000000000000000000000000000000000000000000000000000000000000", ErrLength},
		{"Nack reason of 3 bytes", "fd0320 07 fd0321 03 000000", ErrNumber},
		{"two Nack reasons", "fd0320 0a fd0321 01 00 fd0321 01 00", ErrCritical},
		{"something critical in Nack", "fd0320 02 2100", ErrCritical},
		{"Nack cut", "fd0320 04 fd0321 01", ErrTruncated},
		{"empty CongestionMark", "fd0340 00", ErrNumber},
		{"Ack of 4 bytes", "fd0344 04 00000000", ErrLength},
		{"TxSequence of 4 bytes", "fd0348 04 00000000", ErrLength},
		{"two TxSequences", "fd0348 08 0000000000000000 fd0348 08 0000000000000000", ErrOrder},
		{"Ack behind TxSequence", "fd0348 08 0000000000000000 fd0344 08 0000000000000000", ErrOrder},
		{"an ignored field twice", "fd032c 00 fd032c 00", ErrOrder},
		{"field cut", "fd0340 02 01", ErrTruncated},
		{"something behind Fragment", "5007" + bareInterest + "fd0340 01 01", ErrOrder},
		{"two Fragments", "5007" + bareInterest + "5007" + bareInterest, ErrOrder},
		{"unknown field 801", "fd0321 01 00", ErrCritical},
		{"unknown field 902", "fd0386 00", ErrCritical},
		{"unknown field 796", "fd031c 00", ErrCritical},
		{"unknown field 960", "fd03c0 00", ErrCritical},
		{"unknown field 84", "5400", ErrCritical},
		{"a Name among the fields", "0703 080141", ErrCritical},
		{"a whole Fragment that is a link packet", "5002 6400", ErrFragment},
		{"a whole Fragment that is a Name", "5005 0703 080141", ErrFragment},
		{"a whole Fragment that is cut", "5006 0505 0703 0801", ErrTruncated},
		{"a whole Fragment with bytes behind", "5008" + bareInterest + "00", ErrTrailing},
	} {
		t.Run(c.what, func(t *testing.T) {
			var p Packet
			wantError(t, p.Decode(packet(t, TypeLinkPacket, c.value)), c.err)
		})
	}
	var p Packet
	wantError(t, p.Decode(nil), ErrTruncated)
	wantError(t, p.Decode(unhex(t, "0700")), ErrType)
	wantError(t, p.Decode(unhex(t, "64 ff8000000000000000 00")), ErrTruncated)
	wantError(t, p.Decode(unhex(t, "64 fd0000")), ErrNumber)
}

// TestPacketCrossingForms takes the packet's own length over the border where it needs two more bytes.
func TestPacketCrossingForms(t *testing.T) {
	for size := 180; size < 300; size++ {
		p := Packet{CongestionMark: 1, Fragment: AppendTLV(nil, TypeData, make([]byte, size))}
		b := p.Append(nil)
		if got, want := p.HeaderLen(len(p.Fragment)), len(b)-len(p.Fragment); got != want {
			t.Fatalf("fragment of %d: HeaderLen says %d, want %d", len(p.Fragment), got, want)
		}
		var again Packet
		if err := again.Decode(b); err != nil {
			t.Fatalf("fragment of %d: %v", len(p.Fragment), err)
		}
		same(t, "decoded", again, p)
	}
}

func linkPacket() *rapid.Generator[Packet] {
	return rapid.Custom(func(t *rapid.T) Packet {
		var p Packet
		if p.HasSequence = rapid.Bool().Draw(t, "has sequence"); p.HasSequence {
			p.Sequence = number().Draw(t, "sequence")
		}
		if p.HasSequence && rapid.Bool().Draw(t, "fragmented") {
			p.FragCount = rapid.Uint64Range(2, MaxFragments).Draw(t, "count")
			p.FragIndex = rapid.Uint64Range(0, p.FragCount-1).Draw(t, "index")
			p.Fragment = octets(1, 300).Draw(t, "fragment")
		} else if rapid.Bool().Draw(t, "has fragment") {
			typ := rapid.SampledFrom([]uint64{TypeInterest, TypeData}).Draw(t, "type")
			p.Fragment = AppendTLV(nil, typ, octets(0, 300).Draw(t, "inside"))
		}
		p.PitToken = maybe(octets(1, MaxPitToken)).Draw(t, "token")
		if p.Nack = rapid.Bool().Draw(t, "nack"); p.Nack {
			p.NackReason = NackReason(number().Draw(t, "reason"))
		}
		p.CongestionMark = number().Draw(t, "mark")
		for range rapid.IntRange(0, 4).Draw(t, "acks") {
			p.Acks = p.Acks.Add(number().Draw(t, "ack"))
		}
		if p.HasTxSequence = rapid.Bool().Draw(t, "has tx"); p.HasTxSequence {
			p.TxSequence = number().Draw(t, "tx")
		}
		drawHop(t, &p)
		return p
	})
}

func TestPacketRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := linkPacket().Draw(t, "packet")
		b := want.Append([]byte("before"))[len("before"):]
		if n := want.HeaderLen(len(want.Fragment)); n != len(b)-len(want.Fragment) {
			t.Fatalf("HeaderLen says %d, want %d", n, len(b)-len(want.Fragment))
		}
		same(t, "header", want.AppendHeader(nil, len(want.Fragment)), b[:len(b)-len(want.Fragment)])
		got := linkPacket().Draw(t, "what the struct held before")
		if err := got.Decode(append(b, 0xff)[:len(b)]); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", got, want)
		wantNoSpare(t, &got)
	})
}

func TestPacketAllocatesNothing(t *testing.T) {
	b, buf := examplePacket(t), make([]byte, 0, 2000)
	var p Packet
	wantNoAllocs(t, func() {
		if err := p.Decode(b); err != nil {
			t.Fatal(err)
		}
		p.Append(buf)
		p.HeaderLen(1000)
	})
	wantNoAllocs(t, func() {
		if p.Decode(b[:len(b)-1]) == nil {
			t.Fatal("no error")
		}
	})
}

// examplePacket is the first of several fragments of a chunk between two MARS nodes, 1400 bytes of it.
func examplePacket(t testing.TB) []byte {
	p := Packet{
		Sequence: 1 << 40, HasSequence: true, FragCount: 6, PitToken: []byte("123456"), TxSequence: 1 << 41, HasTxSequence: true,
		Acks:        Acks(nil).Add(1 << 42).Add(1<<42 + 1),
		HasFeedback: true, Feedback: Feedback{InterestItems: 10, InterestCapacity: 1000, Depart: 1, HasDepart: true},
		HasPathTag: true, PathTag: 1, Fragment: make([]byte, 1400),
	}
	b := p.Append(nil)
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzPacket(f *testing.F) {
	f.Add(unhex(f, packetHex))
	f.Add(unhex(f, hopHex))
	f.Add(unhex(f, bareInterest))
	f.Add(packet(f, TypeLinkPacket, "fd0320 06 fd0321 02 0384 fd032c 01 05 5007"+bareInterest))
	f.Add(packet(f, TypeLinkPacket, "5301 01 fd0344 08 0000000000000001 fd0344 08 0000000000000002"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Packet
		if p.Decode(b) != nil {
			return
		}
		wantNoSpare(t, &p)
		encoded := p.Append(nil)
		if n := p.HeaderLen(len(p.Fragment)); n != len(encoded)-len(p.Fragment) {
			t.Fatalf("HeaderLen says %d, want %d", n, len(encoded)-len(p.Fragment))
		}
		if err := again.Decode(encoded); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		same(t, "decoded again", again, p)
		same(t, "encoded twice", again.Append(nil), encoded)
		for range p.Acks.Len() {
			if _, ok := p.NextAck(); !ok {
				t.Fatal("fewer acks than counted")
			}
		}
	})
}

func BenchmarkPacketDecode(b *testing.B) {
	wire := examplePacket(b)
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Decode(wire); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPacketHeader(b *testing.B) {
	var p Packet
	if err := p.Decode(examplePacket(b)); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 2000)
	b.ReportAllocs()
	for b.Loop() {
		buf = p.AppendHeader(buf[:0], 1400)
	}
}

// TestDecodeParts: a link packet in two pieces means what it means in one, wherever the cut is taken to be.
func TestDecodeParts(t *testing.T) {
	body := (&Data{Name: MustParseName("/a"), Content: make([]byte, 700), SignatureType: SignatureNull}).Append(nil)
	for _, p := range []Packet{
		{PitToken: []byte{1, 2, 3, 4, 5, 6}, Fragment: body},
		{Sequence: 7, HasSequence: true, FragIndex: 1, FragCount: 3, Fragment: body[300:]},
		{PathTag: 9, HasPathTag: true, Feedback: Feedback{DataItems: 3}, HasFeedback: true, Fragment: body},
	} {
		encoded := p.Append(nil)
		head := len(encoded) - len(p.Fragment)
		var whole, parts Packet
		if err := whole.Decode(encoded); err != nil {
			t.Fatal(err)
		}
		if err := parts.DecodeParts(encoded[:head], encoded[head:]); err != nil || !reflect.DeepEqual(whole, parts) {
			t.Errorf("%v: %+v instead of %+v", err, parts, whole)
		}
		for cut := range len(encoded) {
			if cut != head && parts.DecodeParts(encoded[:cut:cut], encoded[cut:]) == nil {
				t.Errorf("cut at %d instead of %d: decoded", cut, head)
			}
		}
		if parts.DecodeParts(encoded[:head], append(encoded[head:len(encoded):len(encoded)], 0)) == nil {
			t.Error("a byte too many: decoded")
		}
	}
}
