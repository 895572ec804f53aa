package node

import (
	"testing"

	"pgregory.net/rapid"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// TestRIB compares the RIB with a plain list of routes.
func TestRIB(t *testing.T) {
	type key struct {
		prefix string
		face   machine.FaceID
		origin uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		b, model := newRIB(), map[key]ribRoute{}
		now := machine.Time(0)
		draw := func() key {
			return key{
				string(wire.MustParseName(rapid.SampledFrom([]string{"/a", "/a/b", "/c"}).Draw(t, "prefix"))),
				machine.FaceID(rapid.IntRange(1, 3).Draw(t, "face")), rapid.SampledFrom([]uint64{0, 65, 128, 255}).Draw(t, "origin"),
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch k := draw(); rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				r := ribRoute{face: k.face, origin: k.origin, cost: rapid.IntRange(0, 3).Draw(t, "cost"), expires: machine.Never}
				if rapid.Bool().Draw(t, "expires") {
					r.expires = now + machine.Time(rapid.IntRange(0, 5).Draw(t, "after"))
				}
				b.set(wire.Name(k.prefix), r)
				model[k] = r
			case 2:
				b.unset(wire.Name(k.prefix), k.face, k.origin)
				delete(model, k)
			default:
				now += machine.Time(rapid.IntRange(0, 3).Draw(t, "time"))
				for _, _, ok := b.expired(now); ok; _, _, ok = b.expired(now) {
				}
				for k, r := range model {
					if r.expires <= now {
						delete(model, k)
					}
				}
			}
		}
		soonest := machine.Never
		for k, r := range model {
			soonest = min(soonest, r.expires)
			best, ok := b.best(wire.Name(k.prefix), k.face)
			_, static := model[key{k.prefix, k.face, wire.OriginStatic}]
			if !ok || !static && best.cost > r.cost || static && best.origin != wire.OriginStatic {
				t.Fatalf("best of %v is %+v, though there is %+v", k, best, r)
			}
		}
		if b.n != len(model) || b.deadline() != soonest {
			t.Fatalf("%d routes until %v, want %d until %v", b.n, b.deadline(), len(model), soonest)
		}
		listed := 0
		for _, p := range b.prefixes() {
			listed += len(b.byPrefix[string(p)])
		}
		if listed != len(model) {
			t.Fatalf("%d routes listed, want %d", listed, len(model))
		}
	})
}

// BenchmarkManyPrefixes measures the arrival of all prefixes that routing lets one neighbour bring, and their withdrawal.
func BenchmarkManyPrefixes(b *testing.B) {
	n := New(forward.Config{Seed: 1, Relay: true})
	n.FaceUp(0, 1, machine.Face{MTU: 1400})
	names := make([]wire.Name, 1<<15)
	for i := range names {
		names[i] = wire.MustParseName("/site").AppendNumber(wire.TypeSegment, uint64(i))
	}
	for b.Loop() {
		for _, p := range names {
			n.setRoute(0, p, ribRoute{face: 1, origin: wire.OriginRouting, cost: 1, expires: machine.Never})
		}
		for _, p := range names {
			n.unsetRoute(0, p, 1, wire.OriginRouting)
		}
	}
}
