package wire

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// registerHex is what a producer asks with to be reached at /A: every field that it may set.
const registerHex = `68 1e
	07 03 080141  # Name
	69 01 07      # FaceId
	6f 01 41      # Origin 65: client
	6a 01 0a      # Cost
	6c 01 01      # Flags: child inherit
	6d 02 0e10    # ExpirationPeriod 3600 ms
	84 04 00000001 85 01 01`

func TestControlParameters(t *testing.T) {
	var c ControlParameters
	b := unhex(t, registerHex)
	if err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "name", c.Name, MustParseName("/A"))
	for p, want := range map[Parameter]uint64{
		ParamFaceID: 7, ParamOrigin: 65, ParamCost: 10, ParamFlags: 1, ParamExpiration: 3600, ParamCount: 1, ParamPersistency: 1,
	} {
		if got, ok := c.Number(p); !ok || got != want {
			t.Errorf("parameter %d is %d (%v), want %d", p, got, ok, want)
		}
	}
	if _, ok := c.Number(ParamMTU); ok || c.NumberOr(ParamMTU, 9) != 9 {
		t.Error("a parameter that isn't there was found")
	}
	everyCut(t, b, func(b []byte) error { return new(ControlParameters).Decode(b) })
}

func TestControlParametersEncode(t *testing.T) {
	c := ControlParameters{Name: MustParseName("/A"), HasName: true, URI: []byte("u"), Strategy: MustParseName("/S"), HasStrategy: true}
	c.SetNumber(ParamMTU, 1400)
	c.SetNumber(ParamExpiration, 5)
	c.SetNumber(ParamCost, 0)
	c.SetNumber(ParamFaceID, 300)
	want := unhex(t, "68 1d 0703080141 6902012c 720175 6a0100 6b050703080153 6d0105 89020578")
	same(t, "encoded", c.Append(nil), want)
}

func TestControlParametersMalformed(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        Error
	}{
		{"number of three bytes", "69 03 000001", ErrNumber},
		{"face twice", "690101 690101", ErrOrder},
		{"name twice", "0700 0700", ErrOrder},
		{"uri twice", "7200 7200", ErrOrder},
		{"strategy twice", "6b020700 6b020700", ErrOrder},
		{"strategy without a name", "6b00", ErrTruncated},
		{"strategy with another element", "6b020800", ErrName},
		{"unknown odd type", "7300", ErrCritical},
		{"unknown low type", "1e00", ErrCritical},
		{"a digest of one byte in the name", "0703 010141", ErrName},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, new(ControlParameters).Decode(packet(t, TypeControlParameters, c.value)), c.want)
		})
	}
	var p ControlParameters
	if err := p.Decode(packet(t, TypeControlParameters, "7600 6a0103 690102")); err != nil {
		t.Fatalf("an unknown even type, and any order: %v", err)
	}
	if p.NumberOr(ParamCost, 0) != 3 || p.NumberOr(ParamFaceID, 0) != 2 {
		t.Error("numbers out of order were lost")
	}
	wantError(t, p.Decode(unhex(t, "6500")), ErrType)
}

func TestControlResponse(t *testing.T) {
	r := ControlResponse{Code: 200, Text: "OK", HasBody: true}
	r.Body.SetNumber(ParamFaceID, 7)
	b := r.Append(nil)
	same(t, "encoded", b, unhex(t, "65 0c 6601c8 67024f4b 6803690107"))
	var again ControlResponse
	if err := again.Decode(b); err != nil {
		t.Fatal(err)
	}
	same(t, "decoded", again, r)
	everyCut(t, b, func(b []byte) error { return new(ControlResponse).Decode(b) })
	for value, want := range map[string]Error{
		"": ErrMissing, "6700": ErrMissing, "660164 6800": ErrMissing, "66030001": ErrTruncated, "6603000102 6700": ErrNumber,
	} {
		wantError(t, new(ControlResponse).Decode(packet(t, typeControlResponse, value)), want)
	}
}

func TestControlParametersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c, again ControlParameters
		for p := range parameters {
			if rapid.Bool().Draw(t, "has") {
				c.SetNumber(p, rapid.Uint64().Draw(t, "value"))
			}
		}
		if rapid.Bool().Draw(t, "strategy") {
			c.Strategy, c.HasStrategy = MustParseName("/localhost/nfd/strategy/x"), true
		}
		b := c.Append(nil)
		if err := again.Decode(b); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Append(nil), b) {
			t.Fatal("encoded again it differs")
		}
		same(t, "decoded", again, c)
	})
}

func FuzzControl(f *testing.F) {
	f.Add(unhex(f, registerHex))
	f.Add(unhex(f, "65 0c 6601c8 67024f4b 6803690107"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c, again ControlParameters
		if c.Decode(b) == nil {
			wantNoSpare(t, &c)
			if err := again.Decode(c.Append(nil)); err != nil {
				t.Fatalf("encoded again: %v", err)
			}
			if c.numbers != again.numbers || c.has != again.has || !c.Name.Equal(again.Name) || !c.Strategy.Equal(again.Strategy) {
				t.Fatal("encoded again it differs")
			}
		}
		var r ControlResponse
		if r.Decode(b) == nil {
			if err := new(ControlResponse).Decode(r.Append(nil)); err != nil {
				t.Fatalf("response encoded again: %v", err)
			}
		}
	})
}
