package route

import (
	"testing"

	"mars/internal/machine"
)

const ms = machine.Millisecond

func TestHelloInterval(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stranger(1, 2, 7)
	if first := s.drain(); len(first) != 1 || first[0].heardSession != 0 {
		t.Fatalf("a face that comes up says hello: %+v", first)
	}
	last := r.now
	for range 20 {
		for len(s.drain()) == 0 {
			r.run(ms)
		}
		if gap := r.now - last; gap < 187*ms || gap > 250*ms {
			t.Errorf("%d ms between hellos", gap/ms)
		}
		last = r.now
	}
}

// TestHandshake: hearing isn't enough; being heard makes the link.
func TestHandshake(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stranger(1, 2, 7)
	s.drain()
	s.send(says(node(2, 1, []uint64{1}), 0))
	if id, up := r.r.Neighbour(1); id != 2 || up {
		t.Errorf("heard: %d, %v", id, up)
	}
	if r.dropped(OneWay) != 1 {
		t.Error("records count before the link does")
	}
	m := s.drain()
	if len(m) != 1 || m[0].heardBoot != 7 || m[0].heardSession != 1 {
		t.Fatalf("who is heard is told at once: %+v", m)
	}
	s.heardBoot, s.heardSession = m[0].boot, m[0].session+1 // of another life
	s.send()
	if _, up := r.r.Neighbour(1); up {
		t.Error("linked by an old session")
	}
	s.heardSession--
	s.send()
	if _, up := r.r.Neighbour(1); !up {
		t.Error("not linked")
	}
}

// TestSilence: a silent neighbour is asked, and is dead after 750 ms; any message is life.
func TestSilence(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	asked := 0
	for range 749 {
		r.run(ms)
		for _, m := range s.drain() {
			if m.ask {
				asked++
			}
		}
	}
	if _, up := r.r.Neighbour(1); !up || asked != 4 {
		t.Fatalf("after 749 ms: up %v, asked %d times", up, asked)
	}
	s.send(acks())
	r.run(749 * ms)
	if _, up := r.r.Neighbour(1); !up {
		t.Fatal("a message wasn't taken for life")
	}
	s.drain()
	s.ask = true
	s.send()
	s.ask = false
	if len(s.drain()) != 1 {
		t.Error("a question isn't answered at once")
	}
	r.run(750 * ms)
	if id, up := r.r.Neighbour(1); up || id != 0 || r.r.Counters().Lost != 1 {
		t.Errorf("after 750 ms: neighbour %d, up %v", id, up)
	}
	s.send() // it still hears the dead session
	if _, up := r.r.Neighbour(1); up {
		t.Error("a dead session came back")
	}
}

func TestStale(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	old := *s
	s.session = 2
	s.send()
	if _, up := r.r.Neighbour(1); !up {
		t.Error("a new session of a neighbour that hears us is linked")
	}
	old.send()
	s.boot, s.session = 8, 1
	s.send()
	old.send()
	if r.dropped(Stale) != 2 {
		t.Errorf("%d messages of old sessions dropped", r.dropped(Stale))
	}
	if n := r.r.liveFace(1); n.boot != 8 || n.linked == nil {
		t.Errorf("%+v", n)
	}
}

// TestOvertakenHello: a hello that others have overtaken says nothing of now; one in order that doesn't hear us any more
// ends the session at both ends.
func TestOvertakenHello(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stranger(1, 2, 7)
	s.number++
	early := s.encode() // hears nobody
	s.hear()
	s.send()
	n := r.r.liveFace(1).linked
	r.r.Receive(r.now, 1, early)
	if f := r.r.liveFace(1); f.linked != n || n == nil {
		t.Fatal("an overtaken hello ended the link")
	}
	session := r.r.liveFace(1).session
	s.heardSession = 0
	s.send()
	if f := r.r.liveFace(1); f.linked != nil || f.session == session {
		t.Errorf("linked %v, session %d as before", f.linked != nil, f.session)
	}
}

func TestOurselves(t *testing.T) {
	r := newRig(t, Config{ID: 1, Boot: 5})
	r.stranger(1, 1, 5).send()
	r.stranger(2, 1, 6).send()
	if r.dropped(OwnMessage) != 1 || r.dropped(Impostor) != 1 {
		t.Errorf("%v", r.r.Counters().Drops)
	}
	for _, f := range []machine.FaceID{1, 2} {
		if _, up := r.r.Neighbour(f); up {
			t.Errorf("linked to ourselves by face %d", f)
		}
	}
}

func TestFaceEvents(t *testing.T) {
	r := newRig(t, Config{})
	s := r.linked(1, 2)
	r.r.FaceDown(r.now, 1)
	s.send()
	if r.dropped(UnknownFace) != 1 || len(r.r.Ready(nil)) != 0 {
		t.Error("a face that is down lives")
	}
	r.r.FaceDown(r.now, 1)
	r.r.FaceDown(r.now, 99)
	r.r.Changes(nil)
	if len(r.r.faces) != 0 {
		t.Error("a reported face is kept")
	}
	r.r.FaceUp(r.now, 1)
	s.send()
	if _, up := r.r.Neighbour(1); up {
		t.Error("linked by the session before FaceDown")
	}
}

// TestFoundFace: on a face that the other end made nothing is said before a message came, and no more bytes than came until the
// other end hears us: an address can be forged.
func TestFoundFace(t *testing.T) {
	r := newRig(t, Config{Seed: 5})
	r.r.FaceFound(r.now, 1)
	s := &script{rig: r, face: 1, header: header{id: 2, boot: 7, session: 1}}
	bytes := func() (n int) {
		var buf [MaxMessage]byte
		for {
			size := r.r.Transmit(r.now, 1, buf[:])
			if size <= 0 {
				return n
			}
			n += size
		}
	}
	said, heard := 0, 0
	for range 40 {
		r.run(250 * ms)
		said += bytes()
	}
	r.r.Receive(r.now, 1, []byte{1})
	if r.run(time5s); said+bytes() != 0 {
		t.Error("a hello to somebody who said nothing that counts")
	}
	for guess := range uint32(200) { // of somebody who doesn't hear us
		s.heardBoot, s.heardSession = 1, guess
		s.send(says(node(9, 1, nil), 0))
		heard += len(s.encode(says(node(9, 1, nil), 0)))
		r.run(50 * ms)
		if said += bytes(); said > heard {
			t.Fatalf("%d bytes for %d", said, heard)
		}
	}
	if _, up := r.r.Neighbour(1); up || said == 0 {
		t.Errorf("linked %v by guesses, %d bytes said", up, said)
	}
	s.hear()
	s.send()
	if _, up := r.r.Neighbour(1); !up {
		t.Error("not linked")
	}
	for range 10 { // a living link speaks as any other
		s.thank(s.drain()...)
		s.send()
		r.run(250 * ms)
	}
	if _, up := r.r.Neighbour(1); !up {
		t.Error("the link died")
	}
	r.run(machine.Second)
	s.drain()
	for range 40 {
		r.run(250 * ms)
		if n := bytes(); n != 0 {
			t.Fatalf("%d bytes to an end that fell silent", n)
		}
	}
}

const time5s = 5 * machine.Second

// TestHellosBecomeRare: where nobody ever answers, hellos are a second apart in the end; whoever answers is heard at once.
func TestHellosBecomeRare(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stranger(1, 2, 7)
	count := 0
	for range 4 * 60 {
		r.run(250 * ms)
		count += len(s.drain())
	}
	if count > 110 || count < 60 {
		t.Errorf("%d hellos in a minute", count)
	}
	s.hear()
	s.send()
	if _, up := r.r.Neighbour(1); !up || len(s.drain()) == 0 {
		t.Error("not linked at once")
	}
}
