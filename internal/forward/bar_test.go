package forward

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// barRig is a relay with two downstream faces, 1 and 2, and two ways to /p, 3 and 4.
type barRig struct {
	*rig
	nonce uint32
	chunk int
}

func newBarRig(t *testing.T) *barRig {
	r := &barRig{rig: newRig(t, Config{Relay: true})}
	for f := machine.FaceID(1); f <= 4; f++ {
		r.fw.FaceUp(0, f, machine.Face{MTU: 9000})
	}
	for f := machine.FaceID(3); f <= 4; f++ {
		r.fw.AddRoute(wire.MustParseName("/p"), NextHop{Face: f, Hops: 1})
	}
	return r
}

// ask sends an Interest for a name from a face and answers it wherever it goes, which it returns; 0: it went nowhere.
func (r *barRig) ask(in machine.FaceID, uri string, bad bool) machine.FaceID {
	r.t.Helper()
	r.now += 50 * machine.Millisecond
	r.fw.Advance(r.now)
	r.nonce++
	name := wire.MustParseName(uri)
	i := wire.Interest{Name: name, Nonce: r.nonce, HasNonce: true, HopLimit: 20, HasHopLimit: true}
	p := wire.Packet{PitToken: []byte("T"), SizeHint: 1000, Bad: bad, Fragment: i.Append(nil)}
	if wire.SplitFlow(name).Kind != wire.Plain {
		p.Label, p.HasLabel = r.label, true
	}
	r.fw.Receive(r.now, in, 0, p.Append(nil))
	r.drain()
	r.now += 10 * machine.Millisecond
	for f := machine.FaceID(3); f <= 4; f++ {
		if s := r.take(f, name); s.wire != nil {
			d := wire.Data{Name: name, Content: make([]byte, 1000), SignatureType: wire.SignatureNull}
			r.fw.Receive(r.now, f, 0, (&wire.Packet{PitToken: s.token, Fragment: d.Append(nil)}).Append(nil))
			r.drain()
			r.check()
			return f
		}
	}
	return 0
}

// next asks for the next chunk of a flow.
func (r *barRig) next() machine.FaceID {
	r.chunk++
	return r.ask(1, fmt.Sprintf("/p/src/32=dt/o/v=1/seg=%d", r.chunk), false)
}

// again says that the last chunk was false.
func (r *barRig) again(in machine.FaceID) machine.FaceID {
	return r.ask(in, fmt.Sprintf("/p/src/32=dt/o/v=1/seg=%d", r.chunk), true)
}

// by counts by which faces the next n chunks come.
func (r *barRig) by(n int) (count [5]int) {
	for range n {
		count[r.next()]++
	}
	return count
}

// TestBar: a flow keeps off a face that brought false Data, for a while that doubles, unless it is the last one.
func TestBar(t *testing.T) {
	r := newBarRig(t)
	const liar, honest = 3, 4
	if n := r.by(20); n[liar] != 20 { // asked one after the other, the first is always free
		t.Fatalf("by faces: %v", n)
	}
	if got := r.again(2); got == 0 || r.by(50)[liar] == 0 {
		t.Fatal("a mark from a face that didn't get the Data counts")
	}
	for penalty := barMin; penalty <= 4*barMin; penalty *= 2 {
		r.next()
		if got := r.again(1); got != honest {
			t.Fatalf("asked again by face %d", got)
		}
		from := r.now
		if n := r.by(50); n[honest] != 50 {
			t.Fatalf("by faces: %v", n)
		}
		if r.now = from + penalty - machine.Second; r.by(10)[honest] != 10 {
			t.Fatalf("after %v it is back before its time", penalty)
		}
		if r.now = from + penalty + machine.Second; r.by(50)[liar] == 0 {
			t.Fatalf("after %v it isn't back", penalty)
		}
	}
	r.next()
	r.again(1)
	r.next()
	r.again(1) // both lied
	if n := r.by(20); n[honest] != 20 {
		t.Fatalf("the last one was barred: %v", n)
	}
	r.fw.FaceDown(r.now, honest)
	r.drain()
	if n := r.by(20); n[liar] == 0 {
		t.Errorf("nobody asks the last face that there is: %v", n)
	}
}

// TestBarredDropped: what a barred face still brings for the flow is dropped, and its Interests go elsewhere at once.
func TestBarredDropped(t *testing.T) {
	r := newBarRig(t)
	r.by(20)
	liar := r.next()
	accused := r.chunk
	var open wire.Name
	for open == nil { // one that the liar is asked for and hasn't answered
		r.chunk++
		r.nonce++
		name := wire.MustParseName(fmt.Sprintf("/p/src/32=dt/o/v=1/seg=%d", r.chunk))
		r.interest(1, wire.Interest{Name: name, Nonce: r.nonce, HasNonce: true, HopLimit: 20, HasHopLimit: true}, "T")
		r.drain()
		for _, s := range r.sent[liar] {
			if s.name.Equal(name) {
				open = name
			}
		}
		r.now += 5 * machine.Millisecond
	}
	late := r.take(liar, open)
	r.ask(1, fmt.Sprintf("/p/src/32=dt/o/v=1/seg=%d", accused), true)
	if r.take(7-liar, open).wire == nil {
		t.Error("what the liar owes isn't asked for elsewhere")
	}
	d := wire.Data{Name: open, Content: make([]byte, 1000), SignatureType: wire.SignatureNull}
	pending := r.fw.Pending()
	r.fw.Receive(r.now, liar, 0, (&wire.Packet{PitToken: late.token, Fragment: d.Append(nil)}).Append(nil))
	if r.fw.Dropped(DropBarred) != 1 || r.fw.Pending() != pending {
		t.Errorf("%d dropped, %d pending of %d", r.fw.Dropped(DropBarred), r.fw.Pending(), pending)
	}
	r.check()
}

// TestShun: Interests that belong to no flow keep off all that answered them falsely, while there is another.
func TestShun(t *testing.T) {
	r := newBarRig(t)
	const name = "/p/o/32=metadata"
	if got := r.ask(1, name, false); got != 3 {
		t.Fatalf("by face %d", got)
	}
	if got := r.ask(2, name, true); got != 3 {
		t.Errorf("after a mark by another face: by face %d", got)
	}
	if got := r.ask(2, name, true); got != 4 {
		t.Errorf("after a mark: by face %d", got)
	}
	if got := r.ask(1, name, false); got != 4 {
		t.Errorf("of the same name later: by face %d", got)
	}
	if got := r.ask(1, name, true); got == 0 {
		t.Error("when all have lied nobody is asked")
	}
	if got := r.ask(1, "/p/other/32=metadata", false); got != 3 {
		t.Errorf("of another name: by face %d", got)
	}
	r.now += barMax + machine.Second
	if got := r.ask(1, name, false); got != 3 {
		t.Errorf("ten minutes later: by face %d", got)
	}
}

// TestBadGoesOn: the mark goes on toward the producer, for nodes there to draw their own consequences.
func TestBadGoesOn(t *testing.T) {
	r := newBarRig(t)
	for _, bad := range []bool{false, true} {
		r.nonce++
		i := wire.Interest{Name: wire.MustParseName(fmt.Sprintf("/p/%d", r.nonce)), Nonce: r.nonce, HasNonce: true}
		p := wire.Packet{Bad: bad, Fragment: i.Append(nil)}
		r.fw.Receive(r.now, 1, 0, p.Append(nil))
		var buf [9000]byte
		n, _ := r.fw.Transmit(r.now, 3, buf[:])
		if err := p.Decode(buf[:n]); err != nil || p.Bad != bad {
			t.Errorf("%v became %v, %v", bad, p.Bad, err)
		}
	}
}
