package forward

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestShares: whatever is taken from whom, and however next hops come and go, shares sum to 1 and none is negative.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shares{}
		evenly := rapid.Bool().Draw(t, "evenly")
		faces := 0
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if face := rapid.IntRange(0, 6).Draw(t, "face"); face == 0 || faces == 0 {
				var hops []NextHop
				for f := range rapid.IntRange(1, 6).Draw(t, "hops") {
					if f == 0 || rapid.Bool().Draw(t, "there") {
						hops = append(hops, NextHop{Face: machine.FaceID(f + 1), Hops: f})
					}
				}
				s.adopt(hops, evenly)
				faces = len(hops)
			} else {
				s.reduce(machine.FaceID(face), rapid.Float64Range(0, 1).Draw(t, "change"))
			}
			sum := 0.0
			for _, f := range s.faces {
				if sum += f.part; f.part < 0 {
					t.Fatalf("%+v", s.faces)
				}
			}
			if len(s.faces) != faces || math.Abs(sum-1) > 1e-9 {
				t.Fatalf("%d faces: %+v sum to %v", faces, s.faces, sum)
			}
		}
	})
}

// weighted is a rig with a downstream, face 1, and three ways to /a, of which face 2 is the nearest.
func weighted(t *testing.T, cfg Config) *rig {
	cfg.Relay = true
	r := newRig(t, cfg)
	for face := machine.FaceID(1); face <= 4; face++ {
		r.fw.FaceUp(0, face, machine.Face{MTU: 1400})
	}
	for face, hops := range []int{1: 9, 2: 2, 3: 3, 4: 4} { // what comes from 1 never goes back there
		if face > 0 {
			r.fw.AddRoute(wire.MustParseName("/a"), NextHop{Face: machine.FaceID(face), Hops: hops})
		}
	}
	return r
}

// ask sends one Interest and tells by which faces it left.
func (r *rig) ask(n int) (by []machine.FaceID) {
	r.interest(1, wire.Interest{
		Name: segment(n), Nonce: uint32(n + 1), HasNonce: true, Lifetime: 4000, HopLimit: 9, HasHopLimit: true,
	}, "T")
	r.drain()
	for face := machine.FaceID(1); face <= 4; face++ {
		for _, s := range r.sent[face] {
			if s.name.Equal(segment(n)) {
				by = append(by, face)
			}
		}
	}
	return by
}

func segment(n int) wire.Name {
	return wire.MustParseName("/a").AppendNumber(wire.TypeSegment, uint64(n))
}

// answer sends Data for Interest n by face.
func (r *rig) answer(face machine.FaceID, n int, mark uint64) {
	d := wire.Data{Name: segment(n), Content: []byte("x"), SignatureType: wire.SignatureNull}
	r.deliver(face, wire.Packet{PitToken: r.take(face, d.Name).token, CongestionMark: mark}, d.Append(nil))
	r.drain()
}

func (r *rig) parts() string {
	said := ""
	for _, f := range r.fw.flows.sharesOf(segment(0)).faces {
		said += fmt.Sprintf("%d:%.4f ", f.face, f.part)
	}
	return said
}

// TestPCONMarkedData: traffic starts on the nearest face; each mark moves 2% of the share of the face that brought it to the
// others, evenly.
func TestPCONMarkedData(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	for n := range 3 {
		by := r.ask(n)
		r.answer(by[0], n, uint64(n%2)) // the second one is marked
	}
	if got, want := r.parts(), "2:0.9800 3:0.0067 4:0.0067 1:0.0067 "; got != want {
		t.Fatalf("shares %s, want %s", got, want)
	}
	used := map[machine.FaceID]int{}
	for n := 3; n < 2003; n++ {
		for _, face := range r.ask(n) {
			used[face]++
			r.answer(face, n, 1)
		}
		r.check()
	}
	if used[1] > 0 || used[2] < 300 || used[3] < 300 || used[4] < 300 {
		t.Fatalf("Interests by face: %v", used)
	}
}

// TestPCONEvenStart: shares may begin equal.
func TestPCONEvenStart(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON, EvenStart: true})
	if got, want := r.parts(), "2:0.2500 3:0.2500 4:0.2500 1:0.2500 "; got != want {
		t.Fatalf("shares %s, want %s", got, want)
	}
}

// TestPCONTimeout: a face that owes an answer loses 2% of all; one that refused owes none.
func TestPCONTimeout(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	r.ask(0)
	r.now += 5 * machine.Second
	r.fw.Advance(r.now)
	if got, want := r.parts(), "2:0.9800 3:0.0067 4:0.0067 1:0.0067 "; got != want {
		t.Fatalf("shares %s, want %s", got, want)
	}
	before := r.fw.Dropped(DropExpired)
	r.ask(1)
	r.nack(2, segment(1), wire.NackDuplicate)
	r.drain()
	if r.fw.Pending() != 0 || r.fw.Dropped(DropExpired) != before {
		t.Fatal("a refused Interest waits for its timeout")
	}
}

// TestPCONProbing: one Interest in a thousand leaves by a second face, with a nonce of its own.
func TestPCONProbing(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	probes := 0
	const asked = 20_000
	for n := range asked {
		by := r.ask(n)
		if len(by) > 1 {
			probes++
			if a, b := r.take(by[0], segment(n)), r.take(by[1], segment(n)); a.nonce == b.nonce {
				t.Fatalf("both copies have nonce %d", a.nonce)
			}
			r.interest(by[1], wire.Interest{Name: segment(n), Nonce: 1, HasNonce: true}, "")
		}
		r.sent = map[machine.FaceID][]sent{}
		if n%1000 == 999 {
			r.now += 5 * machine.Second
			r.fw.Advance(r.now)
		}
	}
	if probes < asked/1000/3 || probes > asked/1000*3 {
		t.Fatalf("%d probes with %d Interests", probes, asked)
	}
}

// TestPCONLoop: an Interest that comes back with the nonce that it left with is refused and counted, and the refusal is passed
// down.
func TestPCONLoop(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	r.ask(0)
	back := r.sent[2][0]
	r.interest(3, wire.Interest{Name: back.name, Nonce: back.nonce, HasNonce: true}, "L")
	r.drain()
	if r.fw.Dropped(DropLooped) != 1 {
		t.Fatalf("%d looped", r.fw.Dropped(DropLooped))
	}
	r.nack(2, segment(0), wire.NackDuplicate)
	r.out.Reset()
	r.drain()
	if got, want := r.out.String(), fmt.Sprintf("1> nack %v 100 nonce=1 token=T\n", segment(0)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

// TestPCONQueue: Data that wait too long in a face's queue leave with a mark.
func TestPCONQueue(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	r.fw.FaceUp(0, 1, machine.Face{MTU: 1400, Rate: 50_000, DataQueue: 1000})
	for n := range 60 {
		r.ask(n)
	}
	d := wire.Data{Content: make([]byte, 500), SignatureType: wire.SignatureNull}
	for n := range 60 { // 500 bytes at 50 kB/s: one in 10 ms
		d.Name = segment(n)
		r.deliver(2, wire.Packet{PitToken: r.take(2, d.Name).token}, d.Append(nil))
	}
	left, marks := 0, 0
	for buf := make([]byte, 1500); left < 60; r.now += machine.Millisecond {
		if n, _ := r.fw.Transmit(r.now, 1, buf); n > 0 {
			var p wire.Packet
			if err := p.Decode(buf[:n]); err != nil {
				t.Fatal(err)
			}
			left++
			marks += int(p.CongestionMark)
		}
	}
	if marks < 6 || marks > 12 { // after 100 ms, then 110/√n ms from one to the next, for another 500 ms
		t.Fatalf("%d marks", marks)
	}
}

// TestPCONInterestMarked: an Interest that leaves by a face whose queue is congested brings its Data a mark.
func TestPCONInterestMarked(t *testing.T) {
	r := weighted(t, Config{Strategy: PCON})
	r.fw.faces.get(2).link.codel.marking, r.fw.faces.get(2).link.codel.count = true, 1
	for n, want := range []uint64{1, 0} { // one is due
		r.ask(n)
		d := wire.Data{Name: segment(n), Content: []byte("x"), SignatureType: wire.SignatureNull}
		r.deliver(2, wire.Packet{PitToken: r.take(2, d.Name).token}, d.Append(nil))
		buf := make([]byte, 1500)
		size, _ := r.fw.Transmit(r.now, 1, buf)
		var p wire.Packet
		if err := p.Decode(buf[:size]); err != nil || p.CongestionMark != want {
			t.Fatalf("Data %d: mark %d, want %d (%v)", n, p.CongestionMark, want, err)
		}
	}
}
