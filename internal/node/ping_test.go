package node

import (
	"testing"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// TestPing: a node answers whoever asks with its identifier and clock, and as many bytes as were wanted; what is no ping is refused.
func TestPing(t *testing.T) {
	n := New(forward.Config{Seed: 1, ID: 7})
	n.Manage(ManageConfig{Start: 1_000_000})
	i := &inspector{node: n}
	for _, base := range []wire.Name{NeighbourPing, NodePing(7)} {
		for _, size := range []int{0, 1400, MaxPing} {
			content, ok := i.reply(2*machine.Second, PingQuery(base, size, 9))
			p, err := ParsePong(content)
			if !ok || err != nil || p.Node != "0000000000000007" || p.Wall != 1_002_000 || len(content) < size || size > 0 && len(content) != size {
				t.Errorf("%v of %d bytes: %d bytes, %+v, %v, %v", base, size, len(content), p, ok, err)
			}
		}
	}
	for _, name := range []wire.Name{NeighbourPing, NodePing(7), PingQuery(NeighbourPing, MaxPing+1, 1), PingQuery(NodePing(7).Append(wire.TypeGeneric, []byte("x")), 0, 1)} {
		if _, ok := i.reply(0, name); ok {
			t.Errorf("%v is answered", name)
		}
	}
}

// TestPingByFace: a ping leaves by the face that was chosen, once, goes one hop, and its answer has the round trip.
func TestPingByFace(t *testing.T) {
	n := New(forward.Config{Seed: 1, ID: 7})
	n.AnswerPings()
	a := &Asker{}
	n.Attach(0, a)
	for _, id := range []machine.FaceID{3, 4} {
		n.FaceUp(0, id, machine.Face{MTU: 1400})
	}
	id := a.Ping(0, PingQuery(NeighbourPing, 0, 1), 4, machine.Second)
	n.Touch(0)
	buf := make([]byte, wire.MaxPacket)
	if size, _ := n.Transmit(0, 3, buf); size > 0 {
		t.Error("it leaves by another face too")
	}
	size, _ := n.Transmit(0, 4, buf)
	var p wire.Packet
	var q wire.Interest
	if size <= 0 || p.Decode(buf[:size]) != nil || q.Decode(p.Fragment) != nil || !q.HasHopLimit || q.HopLimit != 1 {
		t.Fatalf("%d bytes leave, %+v", size, q)
	}
	d := wire.Data{Name: q.Name, Content: []byte("{}"), SignatureType: wire.SignatureNull}
	n.Receive(30*machine.Millisecond, 4, machine.NotECT, (&wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}).Append(nil))
	got := a.Answers(nil)
	if len(got) != 1 || got[0].ID != id || got[0].RTT != 30*machine.Millisecond {
		t.Errorf("answers: %+v", got)
	}
	a.Ping(machine.Second, PingQuery(NeighbourPing, 0, 2), 4, machine.Second)
	n.Touch(machine.Second)
	n.Advance(3 * machine.Second)
	if got := a.Answers(nil); len(got) != 1 || got[0].Content != nil {
		t.Errorf("without an answer: %+v", got)
	}
}
