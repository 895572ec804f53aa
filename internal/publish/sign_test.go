package publish

import (
	"crypto/ed25519"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// signer signs with a key of the tests' own, and counts.
func signer(signed *int) *Signer {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	return &Signer{
		Author: func(now machine.Time) wire.Author {
			return wire.Author{Key: key[32:], Time: 1000 + uint64(now/ms)}
		},
		Sign: func(message []byte) []byte {
			*signed++
			return ed25519.Sign(key, message)
		},
	}
}

func question(f *fixture) wire.Interest {
	return wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true, MustBeFresh: true}
}

// TestSigned: metadata is signed once in a while, whoever asks how often.
func TestSigned(t *testing.T) {
	signed := 0
	f := newFixture("/site/a", 100_000, 0, 1)
	b := newBench(t, Config{Signer: signer(&signed)}, f)
	ask := func() wire.Author {
		t.Helper()
		d := b.gets(question(f)).data
		a, ok := d.Author()
		if !ok || !ed25519.Verify(a.Key, d.Signed, d.SignatureValue) {
			t.Fatalf("signature type %d is wrong", d.SignatureType)
		}
		return a
	}
	first := ask()
	for range 100 {
		ask()
	}
	if signed != 1 || first.Time != 1000 {
		t.Errorf("%d signatures, of %d", signed, first.Time)
	}
	b.now += sealLife
	if a := ask(); signed != 2 || a.Time != 11_000 {
		t.Errorf("%d signatures, the last of %d", signed, a.Time)
	}
	f.o.MTime = 5 // of the object that is published already
	b.objects = []*fixture{{o: &Object{Name: f.o.Name, Dest: site, Manifest: f.o.Manifest, MTime: 6}, content: f.content}}
	ask()
	if signed != 3 {
		t.Error("another time of change has an old signature")
	}
}

// TestSignedAgain: a version that comes back is signed later than the one that it replaces.
func TestSignedAgain(t *testing.T) {
	signed := 0
	old, other := newFixture("/site/a", 1000, 0, 1), newFixture("/site/a", 1000, 0, 2)
	b := newBench(t, Config{Signer: signer(&signed)}, old)
	var last uint64
	for i := range 4 {
		b.objects = []*fixture{[]*fixture{old, other}[i%2]}
		b.now += ms
		d := b.gets(question(old)).data
		if a, _ := d.Author(); a.Time <= last {
			t.Errorf("turn %d is of %d, the one before of %d", i, a.Time, last)
		} else {
			last = a.Time
		}
	}
}

// TestSignedRefusal: who asks for what isn't there gets a signature, unless too many ask.
func TestSignedRefusal(t *testing.T) {
	signed := 0
	f := newFixture("/site/a", 1000, 0, 1)
	b := newBench(t, Config{Signer: signer(&signed)})
	for i := range maxSignedRefusals + 5 {
		d := b.gets(question(f)).data
		a, ok := d.Author()
		switch {
		case d.ContentType != wire.ContentNack:
			t.Fatal("no refusal")
		case i < maxSignedRefusals && (!ok || !ed25519.Verify(a.Key, d.Signed, d.SignatureValue) || string(d.Content) != CodeNotFound):
			t.Fatalf("refusal %d says %q, signed %v", i, d.Content, ok)
		case i >= maxSignedRefusals && (ok || !d.Whole() || string(d.Content) != CodeBusy):
			t.Fatalf("refusal %d says %q, signed %v", i, d.Content, ok)
		}
	}
	b.now += machine.Second
	if d := b.gets(question(f)).data; string(d.Content) != CodeNotFound {
		t.Errorf("a second later it says %q", d.Content)
	}
	if signed != maxSignedRefusals+1 {
		t.Errorf("%d signatures", signed)
	}
}
