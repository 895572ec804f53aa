package publish

import (
	"errors"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestBackPressure: while as many Interests wait for the application as may, or as many replies for the node, the engine
// accepts no more.
func TestBackPressure(t *testing.T) {
	f := newFixture("/site/a", 100*8, 8, 1)
	b := newBench(t, Config{MaxPending: 10}, f)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 99)})
	b.left = true
	for i := range uint64(10) {
		if !b.e.Accepts() {
			t.Fatalf("it accepts no more with %d waiting", i)
		}
		b.asks(wire.Interest{Name: f.dt("", f.version(), i)})
	}
	if b.e.Accepts() {
		t.Error("it accepts more than may wait for the application")
	}
	b.release()
	if b.e.Accepts() {
		t.Error("it accepts more while replies wait for the node")
	}
	b.next()
	if !b.e.Accepts() {
		t.Error("it accepts nothing though there is room")
	}
	for range 9 {
		b.next()
	}
	b.silent()
}

// TestExpiry: an Interest is answered as long as it lives, and no longer.
func TestExpiry(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	for _, c := range []struct {
		say      string
		lifetime uint64 // ms
		after    machine.Time
		answered bool
	}{
		{"at once", 4000, 0, true},
		{"just in time", 4000, 4*sec - 1, true},
		{"too late", 4000, 4 * sec, false},
		{"the default is 4 s", 0, 4*sec - 1, true},
		{"a short life", 20, 20 * ms, false},
		{"a long life", 30_000, 29 * sec, true},
		{"a very long life", 3_600_000, 60*sec - 1, true},
		{"but not for ever", 3_600_000, 60 * sec, false},
		{"nor longer than can be counted", 1<<64 - 1, 60*sec - 1, true},
	} {
		for _, known := range []bool{false, true} {
			b := newBench(t, Config{}, f)
			if known {
				b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
			}
			b.left = true
			i := wire.Interest{Name: f.name("", f.version(), 1), Lifetime: c.lifetime}
			token := b.asks(i)
			b.now = c.after
			b.e.Advance(b.now)
			b.release()
			if c.answered {
				answers(t, i, token, b.next())
			}
			b.silent()
			if n := b.e.Counters(); c.answered == (n.Expired == 1) {
				t.Errorf("%s, known %v: %+v", c.say, known, n)
			}
			if b.e.Deadline() != machine.Never || b.e.count[late] != 0 || len(b.e.inquiries.free) != len(b.e.inquiries.slots) {
				t.Errorf("%s, known %v: something is left", c.say, known)
			}
		}
	}
}

// TestExpiryOrder: those that live shorter go first, whenever they came.
func TestExpiryOrder(t *testing.T) {
	f := newFixture("/site/a", 100*8, 8, 1)
	b := newBench(t, Config{}, f)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 99)})
	b.left = true
	for i, lifetime := range []uint64{4000, 100, 9000, 100, 50, 20_000, 4000} {
		b.asks(wire.Interest{Name: f.dt("", f.version(), uint64(i)), Lifetime: lifetime})
	}
	for _, want := range []machine.Time{50, 100, 4000, 9000, 20_000} {
		if at := b.e.Deadline(); at != want*ms {
			t.Fatalf("the next expires at %v, want %v ms", at, want)
		}
		b.e.Advance(want*ms - 1)
		if b.e.Deadline() != want*ms {
			t.Fatal("it has expired too early")
		}
		b.e.Advance(want * ms)
	}
	if b.e.Deadline() != machine.Never || b.e.count[late] != 7 {
		t.Errorf("%d late", b.e.count[late])
	}
}

// TestHangingReads: reads that don't come back don't keep the engine from answering, nor does it ask for more and more.
func TestHangingReads(t *testing.T) {
	f := newFixture("/site/a", 100*8, 8, 1)
	b := newBench(t, Config{MaxPending: 10}, f)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 99)})
	b.left = true
	b.e.Spent(nil)
	busy := 0
	for round := range 10 {
		for i := range uint64(10) {
			if !b.e.Accepts() {
				t.Fatalf("round %d: it accepts nothing", round)
			}
			b.asks(wire.Interest{Name: f.dt("", f.version(), i)})
			if len(b.e.Ready(nil)) > 0 {
				if s := b.next(); s.says() != CodeBusy {
					t.Fatalf("%q", s.says())
				}
				busy++
			}
		}
		b.now += 5 * sec
		b.e.Advance(b.now)
	}
	if len(b.asked) != 20 || busy != 80 {
		t.Errorf("%d reads hang, %d were told to ask again", len(b.asked), busy)
	}
	if s := b.gets(wire.Interest{Name: f.dt("32=manifest", f.version(), 0)}); s.says() != "" {
		t.Errorf("the manifest: %q", s.says())
	}
	b.release() // they come back after all
	b.silent()
	if len(b.e.Spent(nil)) != 20 {
		t.Error("their buffers are lost")
	}
	if s := b.gets(wire.Interest{Name: f.dt("", f.version(), 1)}); s.says() != "" {
		t.Errorf("afterwards: %q", s.says())
	}
}

// TestReadFails: each way in which the application can fail.
func TestReadFails(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	for _, c := range []struct {
		say     string
		content []byte
		err     error
		want    string
	}{
		{"an error", nil, errors.New("disk"), CodeFailed},
		{"an error, with a buffer", make([]byte, 10), errors.New("disk"), CodeFailed},
		{"gone", nil, ErrGone, CodeGone},
		{"too short", f.chunk(0)[:7999], nil, CodeFailed},
		{"too long", make([]byte, 9000), nil, CodeFailed},
		{"nothing", nil, nil, CodeFailed},
	} {
		b := newBench(t, Config{}, f)
		b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
		b.e.Spent(nil)
		b.left = true
		i := wire.Interest{Name: f.dt("", f.version(), 0)}
		token := b.asks(i)
		id := b.asked[0].ID
		b.e.Read(0, id, c.content, c.err)
		s := b.next()
		answers(t, i, token, s)
		if s.says() != c.want {
			t.Errorf("%s: %q, want %q", c.say, s.says(), c.want)
		}
		if spent := b.e.Spent(nil); (len(spent) == 1) != (c.content != nil) {
			t.Errorf("%s: %d buffers come back", c.say, len(spent))
		}
		for _, id := range []uint64{id, 0, 1, 1 << 40, 1<<64 - 1} { // answers to nothing
			b.e.Read(0, id, f.chunk(0), nil)
		}
		b.silent()
	}
}

// TestStaleRead: an answer to a request that was answered before isn't taken for one to a later request.
func TestStaleRead(t *testing.T) {
	f := newFixture("/site/a", 24_000, 0, 1)
	b := newBench(t, Config{}, f)
	b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
	b.left = true
	b.asks(wire.Interest{Name: f.dt("", f.version(), 1)})
	old := b.asked[0]
	b.release()
	b.next()
	b.left = true
	b.asks(wire.Interest{Name: f.dt("", f.version(), 2)})
	b.e.Read(0, old.ID, f.chunk(1), nil)
	b.silent()
	b.release()
	if s := b.next(); string(s.data.Content) != string(f.chunk(2)) {
		t.Error("another chunk's bytes")
	}
}

// TestSpent: buffers come back once they are sent, and an application that doesn't fetch them doesn't fill the memory.
func TestSpent(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	b := newBench(t, Config{MaxPending: 4}, f)
	b.asks(wire.Interest{Name: f.dt("", f.version(), 0)})
	if len(b.e.Spent(nil)) != 0 {
		t.Error("it is given back before it is sent")
	}
	b.next()
	if spent := b.e.Spent(nil); len(spent) != 1 || string(spent[0]) != string(f.chunk(0)) {
		t.Error("it isn't given back")
	}
	b.gets(wire.Interest{Name: f.dt("32=manifest", f.version(), 0)})
	if len(b.e.Spent(nil)) != 0 {
		t.Error("the manifest itself is given away")
	}
	for range 100 {
		b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
	}
	if n := len(b.e.Spent(nil)); n != 8 {
		t.Errorf("%d buffers pile up", n)
	}
}

// TestCounters.
func TestCounters(t *testing.T) {
	f := newFixture("/site/a", 20_000, 0, 1)
	b := newBench(t, Config{}, f)
	b.gets(wire.Interest{Name: f.name("32=metadata"), CanBePrefix: true})
	b.gets(wire.Interest{Name: f.dt("32=manifest", f.version(), 0)})
	b.gets(wire.Interest{Name: f.dt("", f.version(), 0)})
	b.gets(wire.Interest{Name: f.dt("", f.version(), 2)})
	b.gets(wire.Interest{Name: f.dt("", f.version(), 3)})
	b.gets(wire.Interest{Name: wire.MustParseName("/other")})
	if got, want := b.e.Counters(), (Counters{Interests: 6, Data: 4, Nacks: 2, ContentBytes: 12_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
