package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// starve lets a hostile neighbour and an honest one, which has a single flow, compete for a relay's way to a producer for some
// time; answer is called for each Interest that the hostile one gets through. It returns the chunks that the honest one got and
// the rate of the relay's upstream face.
func starve(t *testing.T, span machine.Time, flood func(r *rig, n uint64), answer func(r *rig, name wire.Name)) (got int, rate float64) {
	r := sharedRig(t, Config{})
	next := uint64(0)
	for step := range uint64(span / machine.Millisecond) {
		flood(r, step)
		for r.fw.flows.flows[honest.Hash(r.fw.flows.pit.seed)] == nil || r.fw.flows.flows[honest.Hash(r.fw.flows.pit.seed)].live < 20 {
			r.interest(1, chunkOf("good", next), "")
			next++
		}
		r.drain()
		r.now += machine.Millisecond
		r.fw.Advance(r.now)
		for _, s := range append([]sent(nil), r.sent[3]...) {
			if string(wire.SplitFlow(s.name).Src) == "good" {
				got++
				r.data(3, s.name, 8000, &wire.Feedback{InterestCapacity: 100, DataCapacity: 100})
			} else {
				answer(r, s.name)
			}
		}
		r.sent[3] = nil
		r.out.Reset()
	}
	return got, r.fw.flows.ups.get(3).ctrl.Rate()
}

var honest = wire.MustParseName("/site").Append(wire.TypeGeneric, []byte("good"))

func full(r *rig, name wire.Name) {
	r.data(3, name, 8000, &wire.Feedback{InterestCapacity: 100, DataCapacity: 100})
}

// TestFlowsOfOneNeighbour: a neighbour with hundreds of flows leaves half of an upstream face to one with a single flow.
func TestFlowsOfOneNeighbour(t *testing.T) {
	alone, _ := starve(t, machine.Second, func(*rig, uint64) {}, full)
	got, _ := starve(t, machine.Second, func(r *rig, n uint64) {
		for k := range uint64(4) {
			r.interest(2, chunkOf(fmt.Sprint("bad", (4*n+k)%400), n), "")
		}
	}, full)
	if got < alone*4/10 {
		t.Errorf("%d chunks beside the flood, %d alone", got, alone)
	}
}

// TestRefusalsDontStarve: a stranger whose questions are all refused pins no rate: not by Nacks, not by Data that say no, nor by
// claiming that its Data are tiny or large.
func TestRefusalsDontStarve(t *testing.T) {
	ask := func(hint uint64) func(r *rig, n uint64) {
		return func(r *rig, n uint64) {
			i := chunkOf(fmt.Sprint("bad", n), n)
			p := wire.Packet{SizeHint: hint, Label: sourceLabel, HasLabel: true, Fragment: i.Append(nil)}
			r.fw.Receive(r.now, 2, 0, p.Append(nil))
		}
	}
	alone, _ := starve(t, machine.Second, func(*rig, uint64) {}, full)
	for _, c := range []struct {
		name   string
		flood  func(r *rig, n uint64)
		answer func(r *rig, name wire.Name)
		least  int // of ten chunks that it would get alone
	}{
		{"Nack", ask(8000), func(r *rig, name wire.Name) { r.nack(3, name, wire.NackNoRoute) }, 4},
		{"refusal", ask(8000), func(r *rig, name wire.Name) { r.data(3, name, 10, nil) }, 4},
		{"size hint of 1", ask(1), full, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, rate := starve(t, machine.Second, c.flood, c.answer); got < alone*c.least/10 {
				t.Errorf("%d chunks, %d alone; R is %.0f", got, alone, rate)
			}
		})
	}
}

// TestRefusalsAlone: refusals say nothing of a path, so the first consumer after them starts at the first rate.
func TestRefusalsAlone(t *testing.T) {
	r := sharedRig(t, Config{})
	for n := range uint64(1000) {
		r.interest(2, chunkOf(fmt.Sprint("bad", n), n), "")
		r.drain()
		r.now += 2 * machine.Millisecond
		r.fw.Advance(r.now)
		for _, s := range append([]sent(nil), r.sent[3]...) {
			r.data(3, s.name, 10, &wire.Feedback{InterestCapacity: 100, DataCapacity: 100})
		}
	}
	u := r.fw.flows.ups.get(3)
	if u.ctrl.Advance(r.now); u.ctrl.Rate() != initialRate {
		t.Errorf("R is %.0f after refusals alone", u.ctrl.Rate())
	}
}
