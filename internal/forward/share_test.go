package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// chunkOf is a Data Interest of the flow of a source.
func chunkOf(src string, n uint64) wire.Interest {
	name := wire.AppendTransmission(nil, wire.MustParseName("/site"), []byte(src), wire.MustParseName("/o")).AppendChunk(1, n)
	return wire.Interest{Name: name, Nonce: 1, HasNonce: true, Lifetime: 60_000, HopLimit: 9, HasHopLimit: true}
}

// sharedRig is a relay with neighbours 1 (honest) and 2 (hostile) and a producer behind face 3.
func sharedRig(t *testing.T, cfg Config) *rig {
	cfg.Relay = true
	r := newRig(t, cfg)
	for f := machine.FaceID(1); f <= 3; f++ {
		r.fw.FaceUp(0, f, machine.Face{MTU: 1400})
	}
	r.fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 3, Hops: 1})
	return r
}

func (r *rig) has(src string) bool {
	_, ok := r.fw.Flow(wire.MustParseName("/site").Append(wire.TypeGeneric, []byte(src)))
	return ok
}

// TestFlowFlood: a neighbour that makes flows without end loses its own, however many there are, and nobody else's.
func TestFlowFlood(t *testing.T) {
	for _, c := range []struct {
		name     string
		cfg      Config
		nameSize int
	}{
		{"per face", Config{MaxFlows: 1000, MaxFaceFlows: 50}, 0},
		{"in all", Config{MaxFlows: 50, MaxFaceFlows: 50}, 0},
		{"long names", Config{MaxFlows: 1000, MaxFaceFlows: 50}, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sharedRig(t, c.cfg)
			for k := range 10 {
				r.interest(1, chunkOf(fmt.Sprint("good", k), 0), "")
			}
			for k := range 500 {
				r.interest(2, chunkOf(fmt.Sprintf("bad%0*d", c.nameSize, k), 0), "")
				if k%100 == 0 {
					r.check()
				}
			}
			r.check()
			for k := range 10 {
				if !r.has(fmt.Sprint("good", k)) {
					t.Errorf("the honest neighbour lost flow %d", k)
				}
			}
			bytes := 0
			for _, f := range r.fw.flows.order {
				bytes += len(f.name)
			}
			if n := len(r.fw.flows.order); n > 60 || bytes > 60*flowUnit+20*len("/site/good") {
				t.Errorf("%d flows with %d bytes of names", n, bytes)
			}
		})
	}
}

// TestFlowTheft: asking for another neighbour's flow doesn't make it one's own to lose.
func TestFlowTheft(t *testing.T) {
	r := sharedRig(t, Config{MaxFaceFlows: 50})
	for k := range 100 {
		r.interest(2, chunkOf(fmt.Sprint("bad", k), 0), "")
		r.interest(2, chunkOf("good", uint64(k)), "")
	}
	r.interest(1, chunkOf("good", 1000), "")
	for k := range 100 {
		r.interest(2, chunkOf(fmt.Sprint("worse", k), 0), "")
	}
	r.check()
	if !r.has("good") {
		t.Error("the flow was evicted by its other user")
	}
}

// TestPendingFlood: however many Interests a neighbour has pending, another still gets its own in; what is too much is refused
// with Congestion.
func TestPendingFlood(t *testing.T) {
	for _, size := range []int{0, 4000} {
		r := sharedRig(t, Config{MaxPIT: 1000})
		for n := range uint64(3000) {
			i := chunkOf(fmt.Sprint("bad", n), n)
			i.Name = i.Name.Append(wire.TypeGeneric, make([]byte, size))
			r.interest(2, i, "")
		}
		r.check()
		if got := r.fw.flows.pit.bytes; got > 1000*pitUnit/2+10_000 {
			t.Errorf("one neighbour has %d bytes pending", got)
		}
		if r.fw.Dropped(DropPITFull) == 0 {
			t.Error("nothing was refused")
		}
		for n := range uint64(100) {
			before := r.fw.Dropped(DropPITFull)
			r.interest(1, chunkOf("good", n), "")
			if r.fw.Dropped(DropPITFull) != before {
				t.Fatalf("the honest neighbour's Interest %d was refused", n)
			}
		}
	}
}

// TestFreeEntryIsSmall: a free PIT entry keeps no large packet.
func TestFreeEntryIsSmall(t *testing.T) {
	r := sharedRig(t, Config{})
	i := chunkOf("x", 1)
	i.Name, i.Lifetime = i.Name.Append(wire.TypeGeneric, make([]byte, 8000)), 10
	r.interest(1, i, "")
	r.now += machine.Second
	r.fw.Advance(r.now)
	for _, e := range r.fw.flows.pit.free {
		if cap(e.buf) > keptBuffer || e.interest.Wire != nil {
			t.Errorf("a free entry keeps %d bytes", cap(e.buf))
		}
	}
	if r.fw.Pending() != 0 {
		t.Error("still pending")
	}
}

func BenchmarkFlowFlood(b *testing.B) {
	fw := New(Config{Seed: 1, Relay: true})
	fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	fw.FaceUp(0, 3, machine.Face{MTU: 1400})
	fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 3, Hops: 1})
	now := machine.Time(0)
	for n := range b.N {
		i := chunkOf(fmt.Sprint(n), 0)
		i.Lifetime = 100
		p := wire.Packet{Label: sourceLabel, HasLabel: true, Fragment: i.Append(nil)}
		now += 10 * machine.Microsecond
		fw.Receive(now, 1, 0, p.Append(nil))
		if n%100 == 0 {
			fw.Advance(now)
		}
	}
}

// BenchmarkStrangersFaces measures the coming and going of a face that was never asked, beside many pending Interests.
func BenchmarkStrangersFaces(b *testing.B) {
	fw := New(Config{Seed: 1, Relay: true})
	fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	fw.FaceUp(0, 3, machine.Face{MTU: 1400})
	fw.AddRoute(wire.MustParseName("/site"), NextHop{Face: 3, Hops: 1})
	for n := range 20_000 {
		i := chunkOf(fmt.Sprint(n), 0)
		p := wire.Packet{Label: sourceLabel, HasLabel: true, Fragment: i.Append(nil)}
		fw.Receive(0, 1, 0, p.Append(nil))
	}
	id := machine.FaceID(10)
	for b.Loop() {
		fw.FaceUp(0, id, machine.Face{MTU: 1400, OnDemand: true})
		fw.FaceGone(0, id)
		id++
	}
}
