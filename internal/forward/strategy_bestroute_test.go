package forward

import (
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestNextHopFaceID: an application chooses the face, and a Nack doesn't move its Interest to another one. Other nodes have no say.
func TestNextHopFaceID(t *testing.T) {
	fw := New(Config{Relay: true})
	for id := range machine.FaceID(4) {
		fw.FaceUp(0, id+1, machine.Face{MTU: 1400, Local: id == 0})
	}
	fw.AddRoute(nil, NextHop{Face: 2, Hops: 1})
	fw.AddRoute(nil, NextHop{Face: 3, Hops: 2})
	nonce := uint32(0)
	ask := func(from machine.FaceID, via uint64) {
		nonce++
		i := wire.Interest{Name: wire.MustParseName("/a"), Nonce: nonce, HasNonce: true}
		p := wire.Packet{PitToken: []byte("abcdef"), NextHop: via, Fragment: i.Append(nil)}
		fw.Receive(0, from, 0, p.Append(nil))
	}
	// sent is what leaves by each face.
	sent := func() (by [5]wire.Packet) {
		for face := range machine.FaceID(4) {
			var buf [2000]byte
			if n, _ := fw.Transmit(0, face+1, buf[:]); n > 0 {
				if err := by[face+1].Decode(append([]byte(nil), buf[:n]...)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return by
	}
	only := func(when string, face int) wire.Packet {
		t.Helper()
		by := sent()
		for f := range by {
			if (by[f].Fragment != nil) != (f == face) {
				t.Fatalf("%s: something left by face %d: %v", when, f, by[f].Fragment != nil)
			}
		}
		return by[face]
	}
	ask(1, 3)
	p := only("chosen", 3)
	if p.NextHop != 0 {
		t.Error("the next node is told a face of ours")
	}
	ask(1, 2)
	only("chosen again, another one", 2)
	ask(1, 2)
	p = only("asked again", 2)
	p.Nack, p.NackReason = true, wire.NackCongestion
	fw.Receive(0, 2, 0, p.Append(nil))
	if by := sent(); by[3].Fragment != nil || by[4].Fragment != nil {
		t.Error("what one face refused left by another")
	}
	fw.FaceDown(0, 3)
	fw = New(Config{Relay: true})
	for id := range machine.FaceID(4) {
		fw.FaceUp(0, id+1, machine.Face{MTU: 1400, Local: id == 0})
	}
	fw.AddRoute(nil, NextHop{Face: 2, Hops: 1})
	ask(4, 3)
	only("chosen by another node", 2)
	fw.FaceDown(0, 3)
	i := wire.Interest{Name: wire.MustParseName("/b"), Nonce: 77, HasNonce: true}
	fw.Receive(0, 1, 0, (&wire.Packet{PitToken: []byte("abcdef"), NextHop: 3, Fragment: i.Append(nil)}).Append(nil))
	if p := only("by a face that is down", 1); !p.Nack || p.NackReason != wire.NackNoRoute {
		t.Error("no Nack")
	}
}
