package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestUplink: faces that leave by one local address share a window, which goes to whoever has had least; those of their own don't.
func TestUplink(t *testing.T) {
	for _, c := range []struct {
		numbers [2]int
		most    int // Interests in flight
	}{
		{[2]int{7, 7}, firstWindow},
		{[2]int{0, 0}, 2 * firstWindow},
		{[2]int{7, 8}, 2 * firstWindow},
	} {
		t.Run(fmt.Sprint(c.numbers), func(t *testing.T) {
			r := newRig(t, Config{Relay: true, Profile: ProfileMARS})
			r.fw.FaceUp(0, 9, machine.Face{MTU: 1400})
			for i, number := range c.numbers {
				face := machine.FaceID(i + 1)
				r.fw.FaceUp(0, face, machine.Face{MTU: 1400, Uplink: number})
				r.fw.AddRoute(wire.MustParseName(fmt.Sprint("/site", face)), NextHop{Face: face, Hops: 1})
			}
			for n := range uint64(60) {
				for face := 1; face <= 2; face++ { // the first flow asks for as much again before the second begins
					if face == 2 && n >= 30 {
						continue
					}
					dest := wire.MustParseName(fmt.Sprint("/site", face))
					name := wire.AppendTransmission(nil, dest, []byte("s"), wire.MustParseName("/o")).AppendChunk(1, n)
					r.interest(9, wire.Interest{Name: name, Nonce: uint32(2*n) + uint32(face), HasNonce: true, Lifetime: 60_000, HopLimit: 9, HasHopLimit: true}, "")
				}
			}
			for range 100 {
				r.drain()
				r.now += machine.Millisecond
				r.fw.Advance(r.now)
			}
			r.check()
			a, b := len(r.sent[1]), len(r.sent[2])
			shared := c.most == firstWindow
			if a+b > c.most || a+b <= c.most/2 || shared && (a-b > 1 || b-a > 1) {
				t.Errorf("%d and %d Interests in flight, %d are allowed in all", a, b, c.most)
			}
		})
	}
}

// TestUplinkFaceGone: what was in flight on a face that has ended leaves the window that it shared when it is answered for, and whoever waits
// for that window is woken.
func TestUplinkFaceGone(t *testing.T) {
	r := newRig(t, Config{Relay: true, Profile: ProfileMARS})
	r.fw.FaceUp(0, 9, machine.Face{MTU: 1400})
	ask := func(face int, n uint64, lifetime uint64) {
		dest := wire.MustParseName(fmt.Sprint("/site", face))
		name := wire.AppendTransmission(nil, dest, []byte("s"), wire.MustParseName("/o")).AppendChunk(1, n)
		r.interest(9, wire.Interest{Name: name, Nonce: uint32(2*n) + uint32(face), HasNonce: true, Lifetime: lifetime, HopLimit: 9, HasHopLimit: true}, "")
	}
	run := func(steps int) {
		for range steps {
			r.drain()
			r.now += machine.Millisecond
			r.fw.Advance(r.now)
			r.check()
		}
	}
	for face := 1; face <= 2; face++ {
		r.fw.FaceUp(0, machine.FaceID(face), machine.Face{MTU: 1400, Uplink: 7, OnDemand: true})
		r.fw.AddRoute(wire.MustParseName(fmt.Sprint("/site", face)), NextHop{Face: machine.FaceID(face), Hops: 1})
	}
	for n := range uint64(60) {
		ask(1, n, 500)
	}
	run(100)
	first := len(r.sent[1])
	if first == 0 || first > firstWindow {
		t.Fatalf("%d Interests in flight", first)
	}
	for n := range uint64(60) {
		ask(2, n, 60_000)
	}
	run(10)
	if len(r.sent[2]) > firstWindow-first {
		t.Fatalf("%d and %d Interests in flight", first, len(r.sent[2]))
	}
	r.fw.FaceDown(r.now, 1)
	run(3000)                                       // all that was asked for by the first face has expired
	if got := len(r.sent[2]); got < firstWindow/2 { // what one of two flows begins with
		t.Errorf("%d Interests in flight by the face that is left, %d are allowed", got, firstWindow/2)
	}
}
