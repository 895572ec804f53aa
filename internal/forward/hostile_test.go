package forward

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestOversizedPacket: a whole packet beyond 8800 bytes is dropped where it arrives, and the producer goes on answering.
func TestOversizedPacket(t *testing.T) {
	for _, size := range []int{8800, 9293, 20_000} {
		r := newRig(t, Config{})
		r.fw.FaceUp(0, 1, machine.Face{MTU: 1400})
		r.fw.FaceUp(0, 9, machine.Face{Local: true})
		r.fw.AddRoute(wire.MustParseName("/own"), NextHop{Face: 9})
		big := wire.Interest{Name: wire.MustParseName("/own").Append(wire.TypeGeneric, make([]byte, size)), Nonce: 1, HasNonce: true}
		r.interest(1, big, "")
		if r.fw.Dropped(DropMalformed) != 1 {
			t.Errorf("%d bytes were taken", size)
		}
		small := wire.Interest{Name: wire.MustParseName("/own/x"), Nonce: 2, HasNonce: true}
		r.interest(1, small, "")
		if n, _ := r.fw.Transmit(0, 9, make([]byte, wire.MaxPacket+512)); n <= 0 {
			t.Errorf("after %d bytes the producer hears nothing more (%d)", size, n)
		}
	}
}

// TestDeadTokenAnswersNobody: Data with a token of ours whose Interest is gone doesn't satisfy another by its name.
func TestDeadTokenAnswersNobody(t *testing.T) {
	r := newRig(t, Config{Relay: true})
	r.fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	r.fw.FaceUp(0, 2, machine.Face{MTU: 1400})
	r.fw.AddRoute(wire.MustParseName("/a"), NextHop{Face: 2, Hops: 1})
	r.interest(1, wire.Interest{Name: wire.MustParseName("/a/32=metadata"), CanBePrefix: true, Nonce: 1, HasNonce: true}, "T")
	r.drain()
	d := wire.Data{Name: wire.MustParseName("/a/32=metadata/x"), Content: []byte("not found"), SignatureType: wire.SignatureNull}
	stale := wire.Packet{PitToken: []byte{0, 0, 0, 99, 0, 1}, Fragment: d.Append(nil)}
	r.fw.Receive(0, 2, 0, stale.Append(nil))
	if r.fw.Pending() != 1 || r.fw.Dropped(DropUnsolicited) != 1 {
		t.Errorf("%d Interests pending, %d unsolicited", r.fw.Pending(), r.fw.Dropped(DropUnsolicited))
	}
}

// TestShortInterestHidesNothing: an Interest with a small HopLimit and a long lifetime keeps nobody else's from going further, at
// once and again when it is expressed again.
func TestShortInterestHidesNothing(t *testing.T) {
	for _, name := range []string{"/a/32=metadata", "/a/src/32=dt/o/v=1/seg=0"} {
		r := newRig(t, Config{Relay: true})
		for f := machine.FaceID(1); f <= 3; f++ {
			r.fw.FaceUp(0, f, machine.Face{MTU: 1400})
		}
		r.fw.AddRoute(wire.MustParseName("/a"), NextHop{Face: 3, Hops: 1})
		ask := func(face machine.FaceID, nonce uint32, hops uint8, life uint64) (limits []uint8) {
			r.interest(face, wire.Interest{
				Name: wire.MustParseName(name), CanBePrefix: true, MustBeFresh: true, Nonce: nonce, HasNonce: true,
				HopLimit: hops, HasHopLimit: true, Lifetime: life,
			}, "")
			r.drain()
			for _, s := range r.sent[3] {
				var i wire.Interest
				if i.Decode(s.wire) != nil {
					t.Fatal("not an Interest")
				}
				limits = append(limits, i.HopLimit)
			}
			r.sent[3] = nil
			r.now += 100 * machine.Millisecond
			r.fw.Advance(r.now)
			return limits
		}
		ask(1, 1, 2, 60_000)
		if got := ask(2, 2, 9, 4000); len(got) != 1 || got[0] != 8 {
			t.Errorf("%s: another's Interest may go 8 hops further and went %v", name, got)
		}
		if got := ask(2, 3, 9, 4000); len(got) != 1 || got[0] != 8 {
			t.Errorf("%s: expressed again it went %v", name, got)
		}
		if got := ask(1, 4, 2, 60_000); len(got) != 1 || got[0] != 8 {
			t.Errorf("%s: a short one again made it %v", name, got)
		}
	}
}

// TestControlIsBounded: routing messages that nobody takes are dropped and counted.
func TestControlIsBounded(t *testing.T) {
	r := newRig(t, Config{})
	r.fw.FaceUp(0, 1, machine.Face{MTU: 1400})
	peer := New(Config{Seed: 2})
	peer.FaceUp(0, 1, machine.Face{MTU: 9000})
	var buf [9000]byte
	for range 2 * maxControl {
		peer.SendControl(0, 1, []byte("hello"))
		n, _ := peer.Transmit(0, 1, buf[:])
		r.fw.Receive(0, 1, 0, buf[:n])
	}
	if got := len(r.fw.TakeControl(nil)); got != maxControl || r.fw.Dropped(DropControl) != maxControl {
		t.Errorf("%d messages kept, %d dropped", got, r.fw.Dropped(DropControl))
	}
	peer.SendControl(0, 1, []byte("hello"))
	n, _ := peer.Transmit(0, 1, buf[:])
	r.fw.Receive(0, 1, 0, buf[:n])
	if r.fw.DropControl(); len(r.fw.TakeControl(nil)) != 0 || r.fw.Dropped(DropControl) != maxControl+1 {
		t.Errorf("a message is left; %d dropped", r.fw.Dropped(DropControl))
	}
}
