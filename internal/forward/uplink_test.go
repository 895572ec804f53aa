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
