package secure

import (
	"strings"
	"testing"

	"mars/internal/machine"
)

func TestRecheck(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(3 * w.latency)
	w.talk()
	w.b.guard.Events(nil)
	w.b.guard.Recheck(w.now)
	w.talk()
	w.b.guard.cfg.Admit = func(int64, PublicKey, []byte) (Peer, error) { return Peer{}, &Refusal{"revoked"} }
	w.b.guard.Recheck(w.now)
	if closed := w.b.guard.Closed(nil); len(closed) != 1 || closed[0] != w.b.up[0] {
		t.Errorf("closed are %v", closed)
	}
	if e := w.b.guard.Events(nil); len(e) != 1 || e[0].Kind != PeerClosed {
		t.Errorf("events %v", e)
	}
	w.a.guard.Events(nil)
	for range 20 {
		w.send(w.a, 1, "hello?")
		w.run(machine.Second)
	}
	if e := w.a.guard.Events(nil); len(w.b.up) != 1 || len(e) != 1 || e[0].Kind != RefusedUs {
		t.Errorf("a hears %v", e)
	}
}

// TestNewCertificate: a new certificate reaches the peer at once, whoever dialled, and the face stays.
func TestNewCertificate(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(3 * w.latency)
	w.talk()
	w.a.guard.SetCertificate(w.now, []byte("a's"))
	w.b.guard.SetCertificate(w.now, []byte("b's"))
	w.run(renewPause + 10*w.latency)
	if got := string(w.b.guard.channels[w.b.up[0]].proof); got != "a's" {
		t.Errorf("b holds %q", got)
	}
	if got := string(w.a.guard.channels[1].proof); got != "b's" {
		t.Errorf("a holds %q", got)
	}
	if len(w.a.up) != 1 || len(w.b.up) != 1 {
		t.Errorf("faces %v and %v", w.a.up, w.b.up)
	}
	w.talk()
}

// TestCertificatesChange: whatever flows while either side's certificate changes again and again arrives.
func TestCertificatesChange(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(3 * w.latency)
	face, sent := w.b.up[0], 0
	for i := range 400 {
		switch i % 20 {
		case 3:
			w.a.guard.SetCertificate(w.now, []byte{byte(i)})
		case 13:
			w.b.guard.SetCertificate(w.now, []byte{byte(i)})
		}
		if !w.send(w.a, 1, "x from a") || !w.send(w.b, face, "x from b") {
			t.Fatal("no keys")
		}
		sent++
		w.run(3 * machine.Millisecond)
	}
	w.run(machine.Second)
	if len(w.a.got) != sent || len(w.b.got) != sent || len(w.a.up) != 1 || len(w.b.up) != 1 {
		t.Errorf("%d sent each way, %d and %d came; faces %v and %v", sent, len(w.b.got), len(w.a.got), w.a.up, w.b.up)
	}
	w.wire = nil
	for range 1000 { // a peer that only asks for handshakes gets few
		w.b.guard.say(w.b.guard.channels[face], renew)
		w.run(3 * machine.Millisecond)
	}
	n := 0
	for _, d := range w.wire {
		if d[0] == typeInitiation {
			n++
		}
	}
	if n == 0 || n > 4 {
		t.Errorf("%d handshakes in three seconds", n)
	}
}

// TestParting: the side that dialled parts with a peer that isn't welcome any more, both sides know why, and a peer that is
// welcome again comes back by the same face.
func TestParting(t *testing.T) {
	var no error
	w := newWorld(t)
	w.a.cfg.Keep = func(_ int64, k PublicKey, _ []byte) (Peer, error) { return Peer{Key: k, Name: "b"}, no }
	w.a.restart()
	w.dial()
	w.run(3 * w.latency)
	w.talk()
	if p, ok := w.a.guard.Peer(1); !ok || p.Name != "b" {
		t.Errorf("a takes b for %v, %v", p, ok)
	}
	no = &Refusal{"the key was revoked"}
	w.a.guard.Events(nil)
	w.b.guard.Events(nil)
	w.a.guard.Recheck(w.now)
	w.run(4 * w.latency)
	at, to := w.a.guard.Events(nil), w.b.guard.Events(nil)
	if len(at) == 0 || at[0].Kind != PeerClosed || len(to) != 2 || to[0].Kind != RefusedUs || to[1].Kind != RefusedUs || to[1].Face != 0 || !strings.Contains(to[0].Err.Error(), "was revoked") {
		t.Errorf("a notes %v, b hears %v", at, to)
	}
	if closed := w.b.guard.Closed(nil); len(closed) != 1 || closed[0] != w.b.up[0] {
		t.Errorf("b closes %v", closed)
	}
	if w.send(w.a, 1, "still there?") {
		t.Error("a still has keys")
	}
	if _, ok := w.a.guard.Peer(1); ok {
		t.Error("a still has a peer")
	}
	no = nil
	w.run(refusedFor + machine.Second)
	w.talk()
	if len(w.a.up) != 1 {
		t.Errorf("a's faces are %v", w.a.up)
	}
}

// TestExpire: a face ends when the time of its peer is over, and not before.
func TestExpire(t *testing.T) {
	wall := int64(1000)
	w := newWorld(t)
	w.b.cfg.Wall = func() int64 { return wall }
	w.b.cfg.Admit = func(wall int64, k PublicKey, _ []byte) (Peer, error) {
		if wall > 1010 {
			return Peer{}, &Refusal{"expired"}
		}
		return Peer{Key: k, Expires: 1010}, nil
	}
	w.b.restart()
	w.dial()
	w.run(3 * w.latency)
	wall = 1010
	w.b.guard.Expire(w.now)
	w.talk()
	wall = 1011
	w.b.guard.Expire(w.now)
	if closed := w.b.guard.Closed(nil); len(closed) != 1 {
		t.Errorf("closed are %v", closed)
	}
}
