package publish

import (
	"errors"
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestBusy: while an object is looked up, whoever asks again is told that somebody works on it, and those who ask for
// something else of it wait with the first.
func TestBusy(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	b := newBench(t, Config{}, f)
	b.left = true
	question := wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true}
	b.asks(question)
	b.silent()
	again := b.asks(question)
	s := b.next()
	answers(t, question, again, s)
	if s.says() != CodeBusy || s.data.SignatureType != wire.SignatureSHA256 {
		t.Errorf("asked again: %q, signature %d", s.says(), s.data.SignatureType)
	}
	third := b.asks(question) // its first Interest was answered by "busy", so this one waits
	chunk := wire.Interest{Name: f.dt("", f.version(), 1)}
	chunkToken := b.asks(chunk)
	segment := wire.Interest{Name: f.name("32=manifest", f.version(), 0)}
	segmentToken := b.asks(segment)
	gone := wire.Interest{Name: f.dt("", f.version()+1, 1)}
	goneToken := b.asks(gone)
	b.silent()
	if len(b.asked) != 1 {
		t.Fatalf("the application is asked %d times", len(b.asked))
	}
	b.release()
	for _, want := range []struct {
		i     wire.Interest
		token []byte
		says  string
	}{{question, third, ""}, {segment, segmentToken, ""}, {gone, goneToken, CodeGone}, {chunk, chunkToken, ""}} {
		s := b.next()
		answers(t, want.i, want.token, s)
		if s.says() != want.says {
			t.Errorf("%v: %q, want %q", want.i.Name, s.says(), want.says)
		}
	}
	b.silent()
}

// TestResolveFails: all who wait learn it.
func TestResolveFails(t *testing.T) {
	f := newFixture("/site/a", 10, 0, 1)
	for err, want := range map[error]string{ErrNotFound: CodeNotFound, errors.New("disk"): CodeFailed, nil: CodeFailed} {
		b := newBench(t, Config{})
		b.left = true
		b.asks(wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true})
		b.asks(wire.Interest{Name: f.dt("", 1, 1)})
		b.e.Resolved(0, b.asked[0].ID, nil, err)
		b.e.Resolved(0, b.asked[0].ID, f.o, nil) // a second answer is none
		for range 2 {
			if s := b.next(); s.says() != want {
				t.Errorf("%v: %q, want %q", err, s.says(), want)
			}
		}
		b.silent()
		b.e.Resolved(0, 99, f.o, nil) // nor is one to what wasn't asked
		if len(b.e.objects) != 0 {
			t.Errorf("%v: something is published", err)
		}
	}
}

// TestResolvesAreBounded, and so are those who wait for one; the rest are told to ask again.
func TestResolvesAreBounded(t *testing.T) {
	b := newBench(t, Config{})
	b.left = true
	for i := range maxResolves + 1 {
		b.asks(wire.Interest{Name: wire.MustParseName(fmt.Sprintf("/site/o%d/32=metadata", i)), CanBePrefix: true})
	}
	if s := b.next(); s.says() != CodeBusy || len(b.asked) != maxResolves {
		t.Errorf("%q, asked %d times", s.says(), len(b.asked))
	}
	b.silent()
	for i := range maxWaiters {
		b.asks(wire.Interest{Name: wire.MustParseName("/site/o0").AppendChunk(1, uint64(i))})
	}
	if s := b.next(); s.says() != CodeBusy {
		t.Errorf("of one object: %q", s.says())
	}
	b.silent()
	for i := 1; b.e.count[resolving] < maxWaiting; i++ {
		for k := range maxWaiters - 1 {
			b.asks(wire.Interest{Name: wire.MustParseName(fmt.Sprintf("/site/o%d", i)).AppendChunk(1, uint64(k))})
			if len(b.e.Ready(nil)) > 0 {
				break
			}
		}
	}
	b.next()
	b.asks(wire.Interest{Name: wire.MustParseName(fmt.Sprintf("/site/o%d", maxResolves-1)).AppendChunk(1, 0)})
	if s := b.next(); s.says() != CodeBusy {
		t.Errorf("of any object: %q", s.says())
	}
	b.silent()
}

// TestLookUpsDontBlockChunks: with every look-up taken, chunks of what is known still come.
func TestLookUpsDontBlockChunks(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	b := newBench(t, Config{}, f)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
	b.left = true
	for i := range maxResolves {
		b.asks(wire.Interest{Name: wire.MustParseName(fmt.Sprintf("/site/o%d/32=metadata", i)), CanBePrefix: true})
	}
	b.left = false
	if !b.e.Accepts() {
		t.Fatal("it accepts nothing more")
	}
	if s := b.gets(wire.Interest{Name: f.dt("", f.version(), 1)}); s.says() != "" {
		t.Errorf("%q", s.says())
	}
}

// TestVersions: two versions of an object are served beside each other; one that is withdrawn, or whose bytes turn out to
// be gone, is looked up again.
func TestVersions(t *testing.T) {
	old, next := newFixture("/site/a", 20_000, 0, 1), newFixture("/site/a", 30_000, 0, 2)
	b := newBench(t, Config{}, old)
	b.gets(wire.Interest{Name: old.dt("", old.version(), 0)})
	b.objects = []*fixture{next, old} // replaced; the old bytes can still be read
	var m wire.Metadata
	if err := m.Decode(b.gets(wire.Interest{Name: old.name("32=metadata"), CanBePrefix: true}).data.Content); err != nil || m.Digest != next.o.Manifest.Digest() {
		t.Errorf("%v, %+v", err, m)
	}
	for _, f := range b.objects {
		if s := b.gets(wire.Interest{Name: f.dt("", f.version(), 1)}); string(s.data.Content) != string(f.chunk(1)) {
			t.Errorf("version %x: %q", f.version(), s.says())
		}
	}
	b.e.Withdraw(0, old.o)
	if s := b.gets(wire.Interest{Name: old.dt("", old.version(), 1)}); s.says() != CodeGone {
		t.Errorf("withdrawn: %q", s.says())
	}
	b.objects = nil // the bytes go
	if s := b.gets(wire.Interest{Name: next.dt("", next.version(), 1)}); s.says() != CodeGone {
		t.Errorf("gone: %q", s.says())
	}
	if s := b.gets(wire.Interest{Name: next.dt("", next.version(), 1)}); s.says() != CodeNotFound || len(b.e.objects) != 0 || len(b.e.list) != 0 {
		t.Errorf("and then: %q, %d versions", s.says(), len(b.e.objects))
	}
}

// TestKnownVersion: who gives a known version again, gives it another handle.
func TestKnownVersion(t *testing.T) {
	f := newFixture("/site/a", 10, 0, 1)
	f.o.Handle = "first"
	b := newBench(t, Config{}, f)
	question := wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true}
	b.gets(question)
	again := *f.o
	again.Handle = "second"
	b.left = true
	b.asks(question)
	b.e.Resolved(0, b.asked[0].ID, &again, nil)
	b.next()
	b.asked = nil
	b.asks(wire.Interest{Name: f.dt("", f.version(), 0)})
	if o := b.asked[0].Object; o != f.o || o.Handle != "second" || len(b.e.list) != 1 {
		t.Errorf("%v of %d", o.Handle, len(b.e.list))
	}
}

// TestIdle lists what nobody has asked for.
func TestIdle(t *testing.T) {
	f, g := newFixture("/site/a", 10, 0, 1), newFixture("/site/b", 10, 0, 2)
	b := newBench(t, Config{}, f, g)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
	b.now = 5 * sec
	b.gets(wire.Interest{Name: g.dt("", g.version(), 0)})
	b.now = 10 * sec
	b.gets(wire.Interest{Name: f.dt("32=manifest", f.version(), 0)})
	for before, want := range map[machine.Time]int{5 * sec: 0, 5*sec + 1: 1, 10*sec + 1: 2} {
		if idle := b.e.Idle(nil, before); len(idle) != want || want == 1 && idle[0] != g.o {
			t.Errorf("before %v: %v", before, idle)
		}
	}
	b.now = 15 * sec
	b.gets(wire.Interest{Name: g.name("32=metadata"), CanBePrefix: true})
	if idle := b.e.Idle(nil, 15*sec); len(idle) != 1 || idle[0] != f.o {
		t.Errorf("whose metadata was asked for isn't idle: %v", idle)
	}
	other := *g.o // of the same version, but not the one that is served
	b.e.Withdraw(b.now, &other)
	if s := b.gets(wire.Interest{Name: g.dt("32=manifest", g.version(), 0)}); s.says() != "" || len(b.e.list) != 2 {
		t.Errorf("withdrawn by another: %q", s.says())
	}
	b.e.Withdraw(b.now, g.o)
	b.e.Withdraw(b.now, g.o)
	if idle := b.e.Idle(nil, 20*sec); len(idle) != 1 || idle[0] != f.o {
		t.Errorf("%v", idle)
	}
}
