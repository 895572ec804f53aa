package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAcksGolden(t *testing.T) { // NDNLPv2, "Reliability": Ack 836, 8 bytes each
	p := Packet{Acks: Acks(nil).Add(10).Add(1 << 63)}
	b := p.Append(nil)
	same(t, "encoded", b, unhex(t, "64 18 fd0344 08 000000000000000a fd0344 08 8000000000000000"))
	if p.Acks.Len() != 2 || len(p.Acks) != 2*AckLen {
		t.Errorf("%d acks in %d bytes", p.Acks.Len(), len(p.Acks))
	}
}

func TestAcksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Uint64()).Draw(t, "acks")
		sent := Packet{TxSequence: 5, HasTxSequence: true, CongestionMark: 1}
		for _, seq := range want {
			sent.Acks = sent.Acks.Add(seq)
		}
		var p Packet
		if err := p.Decode(sent.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if p.Acks.Len() != len(want) {
			t.Fatalf("%d acks, want %d", p.Acks.Len(), len(want))
		}
		for i, seq := range want {
			if got, ok := p.NextAck(); got != seq || !ok {
				t.Fatalf("ack %d is %d, %v; want %d", i, got, ok, seq)
			}
		}
		if seq, ok := p.NextAck(); ok {
			t.Fatalf("one more: %d", seq)
		}
	})
}

func TestAcksDoNotTouchThePacket(t *testing.T) {
	b := unhex(t, "64 18 fd0344 08 000000000000000a fd0348 08 000000000000000b")
	var p Packet
	if err := p.Decode(b); err != nil {
		t.Fatal(err)
	}
	p.Acks = p.Acks.Add(7)
	same(t, "packet", b, unhex(t, "64 18 fd0344 08 000000000000000a fd0348 08 000000000000000b"))
	if p.Acks.Len() != 2 {
		t.Errorf("%d acks", p.Acks.Len())
	}
}

func TestAcksAllocateNothing(t *testing.T) {
	acks := make(Acks, 0, 10*AckLen)
	wantNoAllocs(t, func() {
		acks = acks[:0]
		for i := range uint64(10) {
			acks = acks.Add(i)
		}
		p := Packet{Acks: acks}
		for {
			if _, ok := p.NextAck(); !ok {
				break
			}
		}
	})
}
