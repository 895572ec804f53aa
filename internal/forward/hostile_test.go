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
