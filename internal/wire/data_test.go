package wire

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A Data by hand from the packet specification.
const dataHex = `
	06 21
	07 06 080141 320105         # Name /A/seg=5
	14 0c                       # MetaInfo
	  18 01 02                  #   ContentType KEY
	  19 02 03e8                #   FreshnessPeriod 1 s
	  1a 03 320107              #   FinalBlockId seg=7
	15 02 6869                  # Content
	16 03 1b01c8                # SignatureInfo, null
	17 00                       # SignatureValue`

func TestDataGolden(t *testing.T) {
	b := unhex(t, dataHex)
	var d Data
	if err := d.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", d, Data{
		Name: MustParseName("/A/seg=5"), ContentType: ContentKey, Freshness: 1000, FinalBlock: unhex(t, "320107"),
		Content: []byte("hi"), SignatureType: SignatureNull, SignatureInfo: unhex(t, "1b01c8"), SignatureValue: []byte{},
		Signed: b[2 : len(b)-2], Wire: b,
	})
	same(t, "encoded", d.Append(nil), b)
	same(t, "signed", d.AppendSigned(nil), d.Signed)
	if d.ImplicitDigest() != sha256.Sum256(b) {
		t.Error("wrong implicit digest")
	}
	if n, ok := d.FinalSegment(); n != 7 || !ok {
		t.Errorf("final segment %d, %v", n, ok)
	}
	d.SignatureInfo = nil
	same(t, "encoded from the type", d.Append(nil), b)
	everyCut(t, b, d.Decode)
}

func TestDataSmallest(t *testing.T) {
	d := Data{SignatureType: SignatureSHA256}
	b := d.Append(nil)
	same(t, "encoded", b, unhex(t, "06 09 0700 1603 1b0100 1700"))
	d = Data{Content: []byte{1}, Freshness: 1, ContentType: 1, FinalBlock: []byte{8, 0}} // all of which goes
	if err := d.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", d, Data{SignatureInfo: unhex(t, "1b0100"), SignatureValue: []byte{}, Signed: b[2:9], Wire: b})
}

func TestDataContent(t *testing.T) {
	for what, c := range map[string][]byte{"absent": nil, "empty": {}, "long": make([]byte, 70000)} {
		d := Data{Name: MustParseName("/A"), Content: c, SignatureType: SignatureNull}
		b := d.Append(nil)
		if err := d.Decode(b); err != nil || !bytes.Equal(d.Content, c) || (d.Content == nil) != (c == nil) {
			t.Errorf("%s: %d bytes, nil %v, %v", what, len(d.Content), d.Content == nil, err)
		}
	}
}

// trailer is a SignatureInfo and an empty SignatureValue.
const trailer = "1603 1b01c8 1700"

func TestDataAccepts(t *testing.T) {
	for what, value := range map[string]string{
		"no content":                             "0703 080141" + trailer,
		"unknown even types anywhere behind":     "0703 080141 2000 1400 2000 1500 2000 1603 1b01c8 2000 1700 2000",
		"unknown even type in MetaInfo":          "0703 080141 1405 2000 1901 05" + trailer,
		"FinalBlockId that isn't a segment":      "0703 080141 1404 1a02 0800" + trailer,
		"key locator":                            "0703 080141 160a 1b0105 1c05 0703 08014b 1700",
		"key digest":                             "0703 080141 1608 1b0103 1c03 1d0100 1700",
		"validity period of a certificate":       "0703 080141 1607 1b0103 fd00fd 00 1700",
		"non-critical element in SignatureInfo":  "0703 080141 1607 1b0103 fd0102 00 1700",
		"signature nonce, time, sequence number": "0703 080141 160c 1b0105 260101 280101 2a0101 1700",
	} {
		t.Run(what, func(t *testing.T) {
			var d, again Data
			if err := d.Decode(packet(t, TypeData, value)); err != nil {
				t.Fatal(err)
			}
			if err := again.Decode(d.Append(nil)); err != nil {
				t.Fatalf("encoded again: %v", err)
			}
			same(t, "decoded again", again.fields(), d.fields())
		})
	}
}

func TestDataRejects(t *testing.T) {
	for _, c := range []struct {
		what, value string
		err         Error
	}{
		{"empty", "", ErrMissing},
		{"no name", trailer, ErrName},
		{"something before the name", "2000 0703 080141" + trailer, ErrName},
		{"two names", "0703 080141 0703 080141" + trailer, ErrOrder},
		{"bad name", "0702 0000" + trailer, ErrType},
		{"content before MetaInfo", "0703 080141 1500 1400" + trailer, ErrOrder},
		{"two contents", "0703 080141 1500 1500" + trailer, ErrOrder},
		{"content behind the signature", "0703 080141" + trailer + "1500", ErrOrder},
		{"no signature", "0703 080141 1500", ErrMissing},
		{"no SignatureInfo", "0703 080141 1700", ErrMissing},
		{"no SignatureValue", "0703 080141 1603 1b01c8", ErrMissing},
		{"two SignatureValues", "0703 080141" + trailer + "1700", ErrOrder},
		{"empty SignatureInfo", "0703 080141 1600 1700", ErrMissing},
		{"SignatureInfo without type", "0703 080141 1605 1c03 1d0100 1700", ErrMissing},
		{"signature type of 3 bytes", "0703 080141 1605 1b03 000000 1700", ErrNumber},
		{"two signature types", "0703 080141 1606 1b0100 1b0100 1700", ErrOrder},
		{"unknown critical element in SignatureInfo", "0703 080141 1605 1b0100 1e00 1700", ErrCritical},
		{"SignatureInfo cut", "0703 080141 1602 1b01 1700", ErrTruncated},
		{"ContentType of 3 bytes", "0703 080141 1405 1803 000000" + trailer, ErrNumber},
		{"MetaInfo cut", "0703 080141 1402 1801" + trailer, ErrTruncated},
		{"empty FreshnessPeriod", "0703 080141 1402 1900" + trailer, ErrNumber},
		{"empty FinalBlockId", "0703 080141 1402 1a00" + trailer, ErrTruncated},
		{"FinalBlockId of two components", "0703 080141 1408 1a06 080141 080142" + trailer, ErrTrailing},
		{"FinalBlockId with a short digest", "0703 080141 1405 1a03 010100" + trailer, ErrName},
		{"ContentType behind FreshnessPeriod", "0703 080141 1406 1901 00 1801 00" + trailer, ErrOrder},
		{"ContentType twice", "0703 080141 1406 1801 00 1801 00" + trailer, ErrOrder},
		{"unknown critical element in MetaInfo", "0703 080141 1402 2100" + trailer, ErrCritical},
		{"unknown odd type", "0703 080141 2100" + trailer, ErrCritical},
		{"unknown type below 32", "0703 080141 1800" + trailer, ErrCritical},
		{"2^63 bytes of content", "0703 080141 15 ff8000000000000000", ErrTruncated},
	} {
		t.Run(c.what, func(t *testing.T) {
			var d Data
			wantError(t, d.Decode(packet(t, TypeData, c.value)), c.err)
		})
	}
	var d Data
	wantError(t, d.Decode(nil), ErrTruncated)
	wantError(t, d.Decode(packet(t, TypeInterest, "0703 080141")), ErrType)
}

func TestFinalSegmentAbsent(t *testing.T) {
	for _, block := range []string{"", "080107", "3203 000000"} {
		d := Data{FinalBlock: unhex(t, block)}
		if n, ok := d.FinalSegment(); ok {
			t.Errorf("%q: final segment %d", block, n)
		}
	}
}

// fields is d without what depends on its exact bytes.
func (d Data) fields() Data {
	d.Wire, d.Signed = nil, nil
	return d
}

func data() *rapid.Generator[Data] {
	return rapid.Custom(func(t *rapid.T) Data {
		d := Data{
			Name:           name(0, 6).Draw(t, "name"),
			ContentType:    number().Draw(t, "content type"),
			Freshness:      number().Draw(t, "freshness"),
			Content:        maybe(octets(0, 300)).Draw(t, "content"),
			SignatureType:  number().Draw(t, "signature type"),
			SignatureValue: octets(0, 80).Draw(t, "signature"),
		}
		if rapid.Bool().Draw(t, "has final block") {
			d.FinalBlock = name(1, 1).Draw(t, "final block")
		}
		d.SignatureInfo = AppendSignatureInfo(nil, d.SignatureType, name(0, 3).Draw(t, "key"))
		return d
	})
}

func TestDataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := data().Draw(t, "data")
		b := want.Append(nil)
		got := data().Draw(t, "what the struct held before")
		if err := got.Decode(append(b, 0xff)[:len(b)]); err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", got.fields(), want)
		same(t, "wire", got.Wire, b)
		same(t, "signed", got.Signed, want.AppendSigned(nil))
		if want.Len() != len(b) || want.SignedLen() != len(got.Signed) {
			t.Fatalf("Len says %d and %d, want %d and %d", want.Len(), want.SignedLen(), len(b), len(got.Signed))
		}
		wantNoSpare(t, &got)
	})
}

func TestDataAllocatesNothing(t *testing.T) {
	b, buf := exampleData(t, 1000), make([]byte, 0, 2000)
	var d Data
	wantNoAllocs(t, func() {
		if err := d.Decode(b); err != nil {
			t.Fatal(err)
		}
		d.Append(buf)
	})
	wantNoAllocs(t, func() {
		if d.Decode(b[:len(b)-1]) == nil {
			t.Fatal("no error")
		}
	})
}

// exampleData is a chunk of size bytes as a MARS producer sends it.
func exampleData(t testing.TB, size int) []byte {
	d := Data{
		Name: exampleName(), Freshness: 3600_000, FinalBlock: AppendNaturalTLV(nil, TypeSegment, 65535),
		Content: make([]byte, size), SignatureType: SignatureNull,
	}
	b := d.Append(nil)
	if err := d.Decode(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzData(f *testing.F) {
	f.Add(unhex(f, dataHex))
	f.Add(packet(f, TypeData, "0703 080141 2000 1405 2000 1901 05 1500 160a 1b0105 1c05 0703 08014b 1701 aa 2000"))
	f.Add(exampleData(f, 10))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again Data
		if d.Decode(b) != nil {
			return
		}
		wantNoSpare(t, &d)
		d.FinalSegment()
		KeyLocator(d.SignatureInfo)
		encoded := d.Append(nil)
		if err := again.Decode(encoded); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		same(t, "decoded again", again.fields(), d.fields())
		same(t, "encoded twice", again.Append(nil), encoded)
	})
}

var benchSizes = []int{100, 1000, 8000}

func BenchmarkDataDecode(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			wire := exampleData(b, size)
			var d Data
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDataEncode(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			wire := exampleData(b, size)
			var d Data
			if err := d.Decode(wire); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, 10000)
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				buf = d.Append(buf[:0])
			}
		})
	}
}

// BenchmarkDataCopy is what copying the content alone costs: the floor of BenchmarkDataEncode.
func BenchmarkDataCopy(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			content, buf := make([]byte, size), make([]byte, 0, 10000)
			b.SetBytes(int64(size))
			for b.Loop() {
				buf = append(buf[:0], content...)
			}
		})
	}
}
