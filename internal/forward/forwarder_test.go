package forward

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/wire"
)

// bookNames are the names that TestBooksBalance asks for: five flows, and ordinary ones.
func bookNames() []wire.Name {
	names := make([]wire.Name, 0, 40)
	for i := range 40 {
		uri := fmt.Sprintf("/site/src%d/32=dt/o/v=1/seg=%d", i%5, i)
		if i%4 == 0 {
			uri = fmt.Sprintf("/site/plain/%d", i)
		}
		names = append(names, wire.MustParseName(uri))
	}
	return names
}

const (
	bookFaces = 4
	bookQueue = 8
	bookPIT   = 50
	bookFlows = 3
)

// randomStep does something to the rig.
func randomStep(t *rapid.T, r *rig, names []wire.Name) {
	face := machine.FaceID(rapid.IntRange(1, bookFaces).Draw(t, "face"))
	name := rapid.SampledFrom(names).Draw(t, "name")
	switch rapid.IntRange(0, 9).Draw(t, "action") {
	case 0, 1, 2, 3:
		r.interest(face, wire.Interest{
			Name: name, Nonce: rapid.Uint32Range(1, 20).Draw(t, "nonce"), HasNonce: true,
			Lifetime: rapid.Uint64Range(1, 3000).Draw(t, "lifetime"), HopLimit: 5, HasHopLimit: true,
		}, "")
	case 4, 5:
		r.data(face, name, rapid.IntRange(0, 8000).Draw(t, "size"), &wire.Feedback{
			InterestItems: rapid.Uint32().Draw(t, "items"), InterestCapacity: rapid.Uint32().Draw(t, "capacity"),
		})
	case 6:
		r.nack(face, name, rapid.SampledFrom([]wire.NackReason{wire.NackCongestion, wire.NackNoRoute, wire.NackDuplicate, 0}).Draw(t, "reason"))
	case 7:
		r.now += machine.Time(rapid.Int64Range(0, int64(machine.Second)).Draw(t, "pause"))
		r.fw.Advance(r.now)
	case 8:
		r.drain()
	default:
		if rapid.Bool().Draw(t, "down") {
			r.fw.FaceDown(r.now, face)
		} else {
			r.fw.FaceUp(r.now, face, machine.Face{MTU: 1400})
		}
	}
}

// TestBooksBalance drives a forwarder with random packets, losses, face events and times: its books balance after every
// step, its queues keep their bounds, every Interest that it took ends in Data, a Nack or an expiry, and in the end
// nothing is left.
func TestBooksBalance(t *testing.T) {
	names := bookNames()
	rapid.Check(t, func(t *rapid.T) {
		fw := New(Config{Seed: 1, Relay: true, InterestQueue: bookQueue, MaxPIT: bookPIT, MaxFlows: bookFlows})
		r := &rig{t: t, fw: fw, sent: map[machine.FaceID][]sent{}, label: sourceLabel}
		for f := machine.FaceID(1); f <= bookFaces; f++ {
			fw.FaceUp(r.now, f, machine.Face{MTU: 1400, Rate: float64(f-1) * 1e6})
		}
		fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 2, Hops: 1})
		fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 3, Hops: 1})
		fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 4, Hops: 2})
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			randomStep(t, r, names)
			r.check()
			for _, f := range fw.flows.order {
				if f.live > bookQueue+bookPIT { // retransmissions are admitted beyond the queue's bound, and bounded by the PIT
					t.Fatalf("flow queues %d Interests", f.live)
				}
			}
			if fw.Pending() > bookPIT || len(fw.flows.order) > bookFlows {
				t.Fatalf("%d pending Interests, %d flows", fw.Pending(), len(fw.flows.order))
			}
		}
		for range 40 { // heal: drain and let everything expire
			r.now += machine.Second / 4
			fw.Advance(r.now)
			r.drain()
			r.check()
		}
		if n := fw.Pending(); n != 0 {
			t.Fatalf("%d Interests never ended", n)
		}
		if at := fw.flows.pit.wheel.deadline(); at != machine.Never {
			t.Fatalf("an idle table wants to be woken at %v", at)
		}
	})
}

// FuzzReceive feeds datagrams from strangers: nothing may panic, leak or grow without bound.
func FuzzReceive(f *testing.F) {
	i := wire.Interest{Name: wire.MustParseName("/site/src/32=dt/o/v=1/seg=0"), Nonce: 1, HasNonce: true}
	p := wire.Packet{PitToken: []byte("token"), Fragment: i.Append(nil)}
	f.Add(p.Append(nil), uint8(1))
	p.Nack, p.NackReason = true, wire.NackCongestion
	f.Add(p.Append(nil), uint8(2))
	d := wire.Data{Name: i.Name, Content: []byte("x"), SignatureType: wire.SignatureNull}
	f.Add(d.Append(nil), uint8(2))
	p = wire.Packet{Sequence: 5, HasSequence: true, FragIndex: 1, FragCount: 2, Fragment: d.Append(nil)[4:]}
	f.Add(p.Append(nil), uint8(2))
	f.Fuzz(func(t *testing.T, datagram []byte, face uint8) {
		r := newRig(t, Config{Relay: true, MaxPIT: 8, MaxFlows: 2, InterestQueue: 2})
		for id := machine.FaceID(1); id <= 3; id++ {
			r.fw.FaceUp(0, id, machine.Face{MTU: 600})
			r.fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: id, Hops: 1})
		}
		r.interest(1, i, "t")
		r.drain()
		for range 2 {
			r.fw.Receive(r.now, machine.FaceID(face%4), 0, datagram)
			r.check()
			r.drain()
			r.now += machine.Second
			r.fw.Advance(r.now)
			r.check()
		}
	})
}

// TestFairness: two flows with chunks of 1 KB and 8 KB share a face by bytes, not by Interests.
func TestFairness(t *testing.T) {
	r := newRig(t, Config{Relay: true, InterestQueue: 10_000})
	r.fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	r.fw.FaceUp(0, 2, machine.Face{MTU: 1400})
	r.fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 2, Hops: 1})
	for n := range uint64(4000) {
		for _, c := range []struct {
			src  string
			size uint64
		}{{"small", 1000}, {"large", 8000}} {
			name := wire.AppendTransmission(nil, wire.MustParseName("/site"), []byte(c.src), wire.MustParseName("/o")).AppendChunk(1, n)
			i := wire.Interest{Name: name, Nonce: 1, HasNonce: true, Lifetime: 60_000}
			p := wire.Packet{SizeHint: c.size, Fragment: i.Append(nil), Label: sourceLabel, HasLabel: true}
			r.fw.Receive(0, 1, 0, p.Append(nil))
		}
	}
	buf := make([]byte, 2000)
	bytes := map[string]float64{}
	for range 2000 {
		r.now += machine.Millisecond
		r.fw.Advance(r.now)
		for {
			n, _ := r.fw.Transmit(r.now, 2, buf)
			if n == 0 {
				break
			}
			var p wire.Packet
			var i wire.Interest
			if p.Decode(buf[:n]) != nil || i.Decode(p.Fragment) != nil {
				t.Fatal("not an Interest")
			}
			bytes[string(wire.SplitFlow(i.Name).Src)] += float64(p.SizeHint)
		}
	}
	if ratio := bytes["small"] / bytes["large"]; bytes["large"] < 1e6 || ratio < 0.98 || ratio > 1.02 {
		t.Errorf("the flows got %v bytes", bytes)
	}
}

// TestDrainRate: a face with a drain rate sends at that rate, late timers or not, and reports its queue.
func TestDrainRate(t *testing.T) {
	const rate = 5e6
	for _, tick := range []machine.Time{100 * machine.Microsecond, 7 * machine.Millisecond} {
		t.Run(fmt.Sprint(tick.Seconds()), func(t *testing.T) {
			r := newRig(t, Config{Relay: true})
			r.fw.FaceUp(0, 1, machine.Face{MTU: 1400, Rate: rate, DataQueue: 1000})
			r.fw.FaceUp(0, 2, machine.Face{MTU: 1400})
			r.fw.AddRoute(nil, NextHop{Face: 2, Hops: 1})
			for n := range 600 {
				name := wire.MustParseName("/p").AppendNumber(wire.TypeSegment, uint64(n))
				r.interest(1, wire.Interest{Name: name, Nonce: 1, HasNonce: true}, "")
			}
			buf := make([]byte, 2000)
			for { // the Interests leave
				n, _ := r.fw.Transmit(0, 2, buf)
				if n == 0 {
					break
				}
				r.transmitted(2, buf[:n])
			}
			for n := range 600 {
				r.data(2, wire.MustParseName("/p").AppendNumber(wire.TypeSegment, uint64(n)), 8000, nil)
			}
			sent := 0
			for r.now = 0; r.now < machine.Second/2; r.now += tick {
				r.fw.Advance(r.now)
				for {
					n, _ := r.fw.Transmit(r.now, 1, buf)
					if n == 0 {
						break
					}
					sent += n
				}
			}
			if got := float64(sent) / 0.5; got < 0.97*rate || got > 1.03*rate {
				t.Errorf("a drain rate of %.0f B/s gave %.0f B/s", rate, got)
			}
		})
	}
}
