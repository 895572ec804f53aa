package publish

import (
	"errors"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
	"pgregory.net/rapid"
)

// books keep account of the Interests sent to a bench and of what came back.
type books struct {
	*bench
	rt   *rapid.T
	open map[string]wire.Interest // by token: not answered yet
	born map[string]machine.Time
	// again are those of which the same was asked again: that may have been answered in their stead.
	again map[string]bool
}

func (b *books) ask(i wire.Interest) {
	for token, o := range b.open {
		b.again[token] = b.again[token] || o.Name.Equal(i.Name)
	}
	token := string(b.asks(i))
	b.open[token], b.born[token] = i, b.now
}

// collect takes the replies: each must be to an Interest that lives and has no answer yet.
func (b *books) collect() {
	for len(b.e.Ready(nil)) > 0 {
		s := b.next()
		token := string(s.PitToken)
		i, ok := b.open[token]
		if !ok {
			b.rt.Fatalf("answered twice: %v", s.data.Name)
		}
		answers(b.t, i, s.PitToken, s)
		delete(b.open, token)
	}
}

// audit checks what was promised to the application, and drops the Interests that have expired.
func (b *books) audit(most int) {
	reads := 0
	for _, r := range b.asked {
		if r.Kind == Read {
			reads++
		}
	}
	if reads > 2*most || reads != b.e.count[reading]+b.e.count[late] {
		b.rt.Fatalf("%d reads under way, of %v", reads, b.e.count)
	}
	if b.e.replies.n > 0 {
		return
	}
	for token, at := range b.born {
		if b.now-at >= 4*sec {
			delete(b.open, token)
		}
	}
}

// fulfil answers one of the application's requests, well or badly.
func (b *books) fulfil() {
	if len(b.asked) == 0 {
		return
	}
	k := rapid.IntRange(0, len(b.asked)-1).Draw(b.rt, "request")
	r := b.asked[k]
	b.asked = append(b.asked[:k], b.asked[k+1:]...)
	if r.Kind == Read && rapid.Bool().Draw(b.rt, "fails") {
		b.e.Read(b.now, r.ID, nil, rapid.SampledFrom([]error{ErrGone, errors.New("disk")}).Draw(b.rt, "error"))
	} else {
		b.answer(r)
	}
	b.serve()
}

// TestEngineProperty: whatever is asked, and however the application answers, late, badly or never, each Interest is
// answered once while it lives, the application is never asked for more than it was promised, and nothing is left.
func TestEngineProperty(t *testing.T) {
	f := newFixture("/site/a", 50*8, 8, 1)
	names := []wire.Interest{
		{Name: f.name("32=metadata"), CanBePrefix: true},
		{Name: f.name(""), CanBePrefix: true},
		{Name: f.dt("", f.version(), 1)},
		{Name: f.dt("", f.version(), 2)},
		{Name: f.name("", f.version(), 3)},
		{Name: f.dt("32=manifest", f.version(), 0)},
		{Name: f.dt("", 7, 1)},
		{Name: wire.MustParseName("/site/b/v=1/seg=1")},
	}
	rapid.Check(t, func(rt *rapid.T) {
		const most = 5
		b := &books{newBench(t, Config{MaxPending: most}, f), rt, map[string]wire.Interest{}, map[string]machine.Time{}, map[string]bool{}}
		b.left = true
		for range rapid.IntRange(0, 100).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0, 1:
				if b.e.Accepts() {
					b.ask(rapid.SampledFrom(names).Draw(rt, "interest"))
				}
			case 2:
				b.fulfil()
			case 3:
				b.now += machine.Time(rapid.Int64Range(0, int64(3*sec)).Draw(rt, "gap"))
				b.e.Advance(b.now)
				if b.e.Deadline() <= b.now {
					rt.Fatal("it spins")
				}
			}
			if rapid.Bool().Draw(rt, "node takes replies") {
				b.collect()
			}
			b.audit(most)
		}
		b.release()
		b.collect()
		b.audit(most)
		for token, i := range b.open {
			if !b.again[token] {
				rt.Fatalf("%v was never answered", i.Name)
			}
		}
		if b.e.count != [stages]int{} || b.e.waiting.n != 0 || len(b.e.resolves.byID) != 0 || len(b.e.inquiries.free) != len(b.e.inquiries.slots) {
			rt.Fatal("something is left")
		}
	})
}
