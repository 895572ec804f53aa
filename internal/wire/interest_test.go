package wire

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"
)

// A full Interest by hand from the packet specification.
const interestHex = `
	05 1d
	07 03 080141                # Name /A
	21 00                       # CanBePrefix
	12 00                       # MustBeFresh
	1e 05 0703 080148           # ForwardingHint /H
	0a 04 01020304              # Nonce
	0c 02 2710                  # InterestLifetime 10 s
	22 01 dc                    # HopLimit 220`

func TestInterestGolden(t *testing.T) {
	b := unhex(t, interestHex)
	var i Interest
	if err := i.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", i, Interest{
		Name: MustParseName("/A"), CanBePrefix: true, MustBeFresh: true, ForwardingHint: unhex(t, "0703 080148"),
		Nonce: 0x01020304, HasNonce: true, Lifetime: 10000, HopLimit: 220, HasHopLimit: true,
		Wire: b, nonceAt: 20, hopLimitAt: 30,
	})
	same(t, "encoded", i.Append(nil), b)
	everyCut(t, b, i.Decode)
}

func TestInterestSmallest(t *testing.T) {
	i := Interest{Name: MustParseName("/A")}
	b := i.Append([]byte{0xee})
	same(t, "encoded", b, unhex(t, "ee 0505 0703 080141"))
	i = Interest{Nonce: 1, HasNonce: true, CanBePrefix: true, Parameters: []byte{1}, HasParameters: true} // all of which goes
	if err := i.Decode(b[1:]); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", i, Interest{Name: MustParseName("/A"), Lifetime: DefaultLifetime, Wire: b[1:]})
}

func TestInterestLifetime(t *testing.T) {
	for _, c := range []struct {
		value string
		want  uint64
	}{{"0c01 00", 1}, {"0c01 01", 1}, {"0c02 0fa0", 4000}, {"0c08 0000000000000fa0", 4000}, {"0c08 ffffffffffffffff", 1<<64 - 1}} {
		var i Interest
		if err := i.Decode(packet(t, TypeInterest, "0703 080141"+c.value)); err != nil || i.Lifetime != c.want {
			t.Errorf("%s: %d ms, %v; want %d", c.value, i.Lifetime, err, c.want)
		}
	}
	for _, ms := range []uint64{0, DefaultLifetime} {
		i := Interest{Name: MustParseName("/A"), Lifetime: ms}
		same(t, "encoded", i.Append(nil), unhex(t, "0505 0703 080141"))
	}
}

const zeroDigest = "0220 0000000000000000000000000000000000000000000000000000000000000000"

// name36 is a Name element /A/params-sha256=0….
const name36 = "0725 080141" + zeroDigest

func TestInterestAccepts(t *testing.T) {
	for what, value := range map[string]string{
		"unknown even type":                      "0703 080141 fd0100 01 ff",
		"unknown even type between":              "0703 080141 2000 0a04 00000000",
		"HopLimit out of order, which is even":   "0703 080141 2201 05 2201 06",
		"parameters":                             name36 + "2400",
		"a digest without parameters":            name36,
		"parameters digest not at the end":       "0728 080141" + zeroDigest + "080142 2401 00",
		"HopLimit behind parameters":             name36 + "2400 2201 05",
		"signature without parameters":           "0703 080141 2c03 1b0100 2e00",
		"signature value without signature info": name36 + "2400 2e00",
		"two hints":                              "0703 080141 1e0a 0703 080148 0703 080149",
		"unknown type behind the signature":      name36 + "2400 2c03 1b0100 2e01 aa 3200",
	} {
		t.Run(what, func(t *testing.T) {
			var i, again Interest
			if err := i.Decode(packet(t, TypeInterest, value)); err != nil {
				t.Fatal(err)
			}
			if err := again.Decode(i.Append(nil)); err != nil {
				t.Fatalf("encoded again: %v", err)
			}
			same(t, "decoded again", again.fields(), i.fields())
		})
	}
	var i Interest
	if err := i.Decode(packet(t, TypeInterest, "0703 080141 2201 05 2201 06")); err != nil || i.HopLimit != 5 {
		t.Errorf("hop limit %d, %v; the first counts", i.HopLimit, err)
	}
	if err := i.Decode(packet(t, TypeInterest, "0703 080141 2c03 1b0100 2e00")); err != nil || i.SignatureInfo != nil || i.SignatureValue != nil {
		t.Errorf("a signature of nothing is there: %+v, %v", i, err)
	}
}

func TestInterestRejects(t *testing.T) {
	for _, c := range []struct {
		what, value string
		err         Error
	}{
		{"empty", "", ErrName},
		{"no name", "0a04 00000000", ErrName},
		{"something before the name", "2000 0703 080141", ErrName},
		{"empty name", "0700", ErrName},
		{"bad component", "0703 fd0041", ErrNumber},
		{"component cut", "0703 080241", ErrTruncated},
		{"two names", "0703 080141 0703 080141", ErrOrder},
		{"CanBePrefix with a value", "0703 080141 2101 00", ErrLength},
		{"MustBeFresh with a value", "0703 080141 1201 00", ErrLength},
		{"MustBeFresh before CanBePrefix", "0703 080141 1200 2100", ErrOrder},
		{"CanBePrefix twice", "0703 080141 2100 2100", ErrOrder},
		{"Nonce behind Lifetime", "0703 080141 0c01 01 0a04 00000000", ErrOrder},
		{"Nonce behind HopLimit", "0703 080141 2201 01 0a04 00000000", ErrOrder},
		{"Nonce of 3 bytes", "0703 080141 0a03 000000", ErrLength},
		{"Nonce of 5 bytes", "0703 080141 0a05 0000000000", ErrLength},
		{"Lifetime of 3 bytes", "0703 080141 0c03 000000", ErrNumber},
		{"empty Lifetime", "0703 080141 0c00", ErrNumber},
		{"HopLimit of 2 bytes", "0703 080141 2202 0001", ErrLength},
		{"empty HopLimit", "0703 080141 2200", ErrLength},
		{"unknown odd type", "0703 080141 fd0101 00", ErrCritical},
		{"unknown even type below 32", "0703 080141 1400", ErrCritical},
		{"type 0", "0703 080141 0000", ErrType},
		{"parameters without digest", "0703 080141 2400", ErrMissing},
		{"two digests", "0747 080141" + zeroDigest + zeroDigest + "2400", ErrName},
		{"short digest", "0705 0203 000000 2400", ErrName},
		{"empty hint", "0703 080141 1e00", ErrMissing},
		{"hint that isn't names", "0703 080141 1e03 080148", ErrCritical},
		{"hint cut", "0703 080141 1e02 0703", ErrTruncated},
		{"hint with a bad name", "0703 080141 1e05 0703 080248", ErrTruncated},
		{"signature info without type", name36 + "2400 2c00 2e00", ErrMissing},
		{"element past the end", "0703 080141 0a05 00000000", ErrTruncated},
		{"2^40 bytes", "0703 080141 24 ff0000010000000000", ErrTruncated},
	} {
		t.Run(c.what, func(t *testing.T) {
			var i Interest
			wantError(t, i.Decode(packet(t, TypeInterest, c.value)), c.err)
		})
	}
	var i Interest
	wantError(t, i.Decode(nil), ErrTruncated)
	wantError(t, i.Decode(packet(t, TypeData, "0703 080141")), ErrType)
	wantError(t, i.Decode(unhex(t, "05 fd0005 0703 080141")), ErrNumber)
	wantError(t, i.Decode(unhex(t, "05 ff8000000000000000 0703 080141")), ErrTruncated)
}

func TestInterestParameters(t *testing.T) {
	// SHA-256 of the bytes 24 00, from another implementation.
	empty := Interest{HasParameters: true}
	digest := empty.ParametersDigest()
	same(t, "digest", digest[:], unhex(t, "33b67cb5385ceddad93d0ee960679041613bed34b8b4a5e6362fe7539ba2d3ce"))

	i := Interest{
		Parameters: []byte("hello"), HasParameters: true,
		SignatureInfo: AppendSignatureInfo(nil, SignatureEd25519, MustParseName("/key")), SignatureValue: []byte{1, 2, 3},
	}
	digest = i.ParametersDigest()
	i.Name = MustParseName("/cmd").Append(TypeParamsDigest, digest[:])
	b := i.Append(nil)
	var got Interest
	if err := got.Decode(b); err != nil {
		t.Fatal(err)
	}
	if !got.CheckParameters() {
		t.Error("the digest of what Append wrote doesn't match")
	}
	for at := len(b) - len("hello") - 20; at < len(b); at++ { // any change behind the name shows
		bad := append([]byte(nil), b...)
		bad[at] ^= 1
		if err := got.Decode(bad); err == nil && got.CheckParameters() {
			t.Errorf("byte %d may change", at)
		}
	}

	// Elements that we ignore are covered as well (packet spec, "ParametersSha256DigestComponent").
	tail := unhex(t, "2401 07 3201 08")
	sum := sha256.Sum256(tail)
	value := append(AppendTLV(nil, TypeName, Name(nil).Append(TypeParamsDigest, sum[:])), tail...)
	if err := got.Decode(AppendTLV(nil, TypeInterest, value)); err != nil || !got.CheckParameters() {
		t.Errorf("with an ignored element: %v", err)
	}

	for what, want := range map[string]bool{"0703 080141": true, name36: false, name36 + "2400": false} {
		if err := got.Decode(packet(t, TypeInterest, what)); err != nil || got.CheckParameters() != want {
			t.Errorf("%s: %v, error %v", what, got.CheckParameters(), err)
		}
	}
}

func TestInterestPatch(t *testing.T) {
	b := unhex(t, interestHex)
	var i, got Interest
	if err := i.Decode(b); err != nil {
		t.Fatal(err)
	}
	patched := append([]byte(nil), b...)
	if !i.PatchNonce(patched, 0xa1b2c3d4) || !i.PatchHopLimit(patched, 7) {
		t.Fatal("not patched")
	}
	if err := got.Decode(patched); err != nil {
		t.Fatal(err)
	}
	want := i
	want.Nonce, want.HopLimit, want.Wire = 0xa1b2c3d4, 7, patched
	same(t, "patched", got, want)
	same(t, "original", b, unhex(t, interestHex))

	if i.PatchNonce(patched[1:], 0) || i.PatchHopLimit(append(patched, 0), 0) || i.PatchNonce(append(patched, 0), 0) || i.PatchHopLimit(nil, 0) {
		t.Error("patched something of another length")
	}
	bare := Interest{Name: MustParseName("/A"), HasNonce: true, HasHopLimit: true}
	if bare.PatchNonce(nil, 0) || bare.PatchHopLimit(nil, 0) {
		t.Error("patched what was never decoded")
	}
	if err := i.Decode(packet(t, TypeInterest, "0703 080141")); err != nil {
		t.Fatal(err)
	}
	if i.PatchNonce(i.Wire, 0) || i.PatchHopLimit(i.Wire, 0) {
		t.Error("patched what is absent")
	}
}

// fields is i without what depends on its exact bytes.
func (i Interest) fields() Interest {
	i.Wire, i.nonceAt, i.hopLimitAt, i.tail = nil, 0, 0, 0
	return i
}

func interest() *rapid.Generator[Interest] {
	return rapid.Custom(func(t *rapid.T) Interest {
		i := Interest{
			Name:        name(1, 6).Draw(t, "name"),
			CanBePrefix: rapid.Bool().Draw(t, "prefix"),
			MustBeFresh: rapid.Bool().Draw(t, "fresh"),
			Lifetime:    max(1, number().Draw(t, "lifetime")),
		}
		if rapid.Bool().Draw(t, "has hint") {
			i.ForwardingHint = name(0, 2).Draw(t, "hint").AppendTLV(nil)
		}
		if i.HasNonce = rapid.Bool().Draw(t, "has nonce"); i.HasNonce {
			i.Nonce = rapid.Uint32().Draw(t, "nonce")
		}
		if i.HasHopLimit = rapid.Bool().Draw(t, "has hop limit"); i.HasHopLimit {
			i.HopLimit = rapid.Uint8().Draw(t, "hop limit")
		}
		if i.HasParameters = rapid.Bool().Draw(t, "has parameters"); i.HasParameters {
			i.Parameters = octets(0, 300).Draw(t, "parameters")
			if rapid.Bool().Draw(t, "signed") {
				i.SignatureInfo = AppendSignatureInfo(nil, number().Draw(t, "type"), name(0, 3).Draw(t, "key"))
				i.SignatureValue = maybe(octets(0, 80)).Draw(t, "signature")
			}
			digest := i.ParametersDigest()
			i.Name = i.Name.Append(TypeParamsDigest, digest[:])
		}
		return i
	})
}

func TestInterestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := interest().Draw(t, "interest")
		b := want.Append(nil)
		got := interest().Draw(t, "what the struct held before")
		if err := got.Decode(append(b, 0xff)[:len(b)]); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", got.fields(), want)
		same(t, "wire", got.Wire, b)
		if want.Len() != len(b) {
			t.Fatalf("Len says %d, want %d", want.Len(), len(b))
		}
		wantNoSpare(t, &got)
		if !got.CheckParameters() {
			t.Fatal("parameters digest doesn't match")
		}
	})
}

func TestInterestAllocatesNothing(t *testing.T) {
	b, buf := exampleInterest(t), make([]byte, 0, 500)
	var i Interest
	wantNoAllocs(t, func() {
		if err := i.Decode(b); err != nil {
			t.Fatal(err)
		}
		i.Append(buf)
	})
	wantNoAllocs(t, func() {
		if i.Decode(b[:len(b)-1]) == nil {
			t.Fatal("no error")
		}
	})
}

func exampleInterest(t testing.TB) []byte {
	i := Interest{
		Name: exampleName(), MustBeFresh: true, Nonce: 0x12345678, HasNonce: true, Lifetime: 2000, HopLimit: 9, HasHopLimit: true,
	}
	b := i.Append(nil)
	if err := i.Decode(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzInterest(f *testing.F) {
	f.Add(unhex(f, interestHex))
	f.Add(packet(f, TypeInterest, name36+"2400 2c03 1b0100 2e01 aa"))
	f.Add(packet(f, TypeInterest, "0703 080141 2201 05 2201 06 fd0100 00"))
	f.Add(exampleInterest(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		var i, again Interest
		if i.Decode(b) != nil {
			return
		}
		wantNoSpare(t, &i)
		i.CheckParameters()
		encoded := i.Append(nil)
		if err := again.Decode(encoded); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		same(t, "decoded again", again.fields(), i.fields())
		same(t, "encoded twice", again.Append(nil), encoded)
		patched := append([]byte(nil), b...)
		if i.PatchNonce(patched, ^i.Nonce) != i.HasNonce || i.PatchHopLimit(patched, ^i.HopLimit) != i.HasHopLimit {
			t.Fatal("patch without field or the other way round")
		}
		if err := again.Decode(patched); err != nil {
			t.Fatalf("patched: %v", err)
		}
		if i.HasNonce && again.Nonce != ^i.Nonce || i.HasHopLimit && again.HopLimit != ^i.HopLimit {
			t.Fatal("patched in the wrong place")
		}
	})
}

func BenchmarkInterestDecode(b *testing.B) {
	wire := exampleInterest(b)
	var i Interest
	b.ReportAllocs()
	for b.Loop() {
		if err := i.Decode(wire); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInterestEncode(b *testing.B) {
	var i Interest
	if err := i.Decode(exampleInterest(b)); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 500)
	b.ReportAllocs()
	for b.Loop() {
		buf = i.Append(buf[:0])
	}
}

// TestSignDigest: the signature is the SHA-256 of the name without the digest and of what stands before the signature's value,
// and the digest in the name is right.
func TestSignDigest(t *testing.T) {
	i := Interest{Name: MustParseName("/A/b"), Parameters: []byte{7}, Nonce: 1, HasNonce: true}
	i.SignDigest()
	want := sha256.Sum256(unhex(t, "080141 080162 240107 2c03 1b0100"))
	if !bytes.Equal(i.SignatureValue, want[:]) {
		t.Errorf("signature %x, want %x", i.SignatureValue, want)
	}
	var got Interest
	if err := got.Decode(i.Append(nil)); err != nil || !got.CheckParameters() || got.Name.Len() != 3 {
		t.Errorf("%v, %v", got.Name, err)
	}
}
