package secure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"mars/internal/machine"
)

var _ machine.Guard = (*Guard)(nil)

// TestHandshake: one round trip makes a face, on both sides.
func TestHandshake(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(2 * w.latency)
	if len(w.a.up) != 1 || w.a.up[0] != 1 {
		t.Fatalf("after one round trip a has faces %v", w.a.up)
	}
	w.run(w.latency)
	w.talk()
	peer, ok := w.b.guard.Peer(w.b.up[0])
	if !ok || peer.Key != w.a.cfg.Key.Public() {
		t.Errorf("b takes a for %v", peer)
	}
	for _, d := range w.wire {
		for _, secret := range []string{"ping from a", string(w.a.cfg.Key.public[:]), string(w.b.cfg.Key.public[:])} {
			if bytes.Contains(d, []byte(secret)) {
				t.Errorf("%q is in the clear", secret)
			}
		}
	}
}

func TestCiphers(t *testing.T) {
	for _, c := range []struct{ a, b bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		w := newWorld(t)
		w.a.cfg.AES, w.b.cfg.AES = c.a, c.b
		w.a.restart()
		w.b.restart()
		w.dial()
		w.run(3 * w.latency)
		w.talk()
	}
}

// TestLoss: whatever of a handshake is lost, the face comes up.
func TestLoss(t *testing.T) {
	for lost := range 4 {
		w := newWorld(t)
		n := 0
		w.tamper = func(_ *host, d []byte) [][]byte {
			n++
			if n-1 == lost {
				return nil
			}
			return [][]byte{d}
		}
		w.dial()
		w.run(machine.Second)
		w.send(w.a, 1, "first") // the datagram that shows b the session, if the pong was lost
		w.run(machine.Second)
		w.talk()
	}
}

// TestTampering: replayed, reflected, altered and truncated datagrams are counted and come to nothing.
func TestTampering(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(w *world, from *host, d []byte)
		drop   Drop
	}{
		{"replay", func(w *world, from *host, d []byte) { w.fly(from, d); w.fly(from, d) }, DropReplayed},
		{"reflection", func(w *world, _ *host, d []byte) { w.fly(w.b, d) }, DropNoSession},
		{"altered header", func(w *world, from *host, d []byte) { d[5] ^= 1; w.fly(from, d) }, DropForged},
		{"altered content", func(w *world, from *host, d []byte) { d[headerLen] ^= 1; w.fly(from, d) }, DropForged},
		{"altered tag", func(w *world, from *host, d []byte) { d[len(d)-1] ^= 128; w.fly(from, d) }, DropForged},
		{"altered index", func(w *world, from *host, d []byte) { d[2] ^= 1; w.fly(from, d) }, DropNoSession},
		{"altered type", func(w *world, from *host, d []byte) { d[0] = 9; w.fly(from, d) }, DropMalformed},
		{"truncated", func(w *world, from *host, d []byte) { w.fly(from, d[:len(d)-1]) }, DropForged},
		{"cut to nothing", func(w *world, from *host, d []byte) { w.fly(from, d[:3]) }, DropMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.dial()
			w.run(3 * w.latency)
			w.talk()
			w.b.got = nil
			d := w.a.guard.Seal(w.now, 1, nil, []byte("once"))
			before := w.b.guard.Counts()[c.drop] + w.a.guard.Counts()[c.drop]
			c.tamper(w, w.a, d)
			w.run(2 * w.latency)
			want := 0
			if c.drop == DropReplayed {
				want = 1
			}
			if after := w.b.guard.Counts()[c.drop] + w.a.guard.Counts()[c.drop]; after != before+1 || len(w.b.got) != want {
				t.Errorf("%v: counted %d, and %d came through", c.drop, after-before, len(w.b.got))
			}
			w.talk()
		})
	}
}

// TestAlteredHandshake: a handshake with any byte altered makes no face, and the true one still does.
func TestAlteredHandshake(t *testing.T) {
	for kind, length := range map[byte]int{typeInitiation: initiationLen, typeResponse: minResponse} {
		for at := range length {
			w := newWorld(t)
			w.tamper = func(_ *host, d []byte) [][]byte {
				if d[0] != kind {
					return [][]byte{d}
				}
				bad := bytes.Clone(d)
				bad[at] ^= 4
				if at >= length-macLen && kind == typeInitiation {
					return [][]byte{d} // without load nobody looks at the second authenticator
				}
				if kind == typeInitiation {
					return [][]byte{bad}
				}
				return [][]byte{bad, d}
			}
			w.dial()
			w.run(3 * w.latency)
			if up := len(w.b.up) > 0; up != (kind == typeResponse || at >= length-macLen) {
				t.Fatalf("type %d, byte %d altered: up is %v; %v", kind, at, up, w.a.guard.Counts())
			}
			if kind == typeInitiation && at%64 != 0 {
				continue
			}
			w.tamper = nil
			w.run(machine.Second)
			w.talk()
		}
	}
}

// TestSilence: whoever doesn't know our key, or isn't known, gets no answer.
func TestSilence(t *testing.T) {
	t.Run("wrong key of ours", func(t *testing.T) {
		w := newWorld(t)
		if err := w.a.guard.Dial(0, 1, newKey(t).Public()); err != nil {
			t.Fatal(err)
		}
		w.run(3 * machine.Second)
		if got := w.b.guard.Counts()[DropNoKey]; got == 0 || len(w.a.up)+len(w.b.up) > 0 || uint64(len(w.wire)) != got {
			t.Errorf("%d dropped, %d datagrams in all", got, len(w.wire))
		}
	})
	t.Run("unknown key", func(t *testing.T) {
		w := newWorld(t)
		w.b.cfg.Admit = func(int64, PublicKey, []byte) (Peer, error) { return Peer{}, ErrUnknown }
		w.b.restart()
		w.dial()
		w.run(3 * machine.Second)
		if got := w.b.guard.Counts()[DropUnknownKey]; got == 0 || uint64(len(w.wire)) != got {
			t.Errorf("%d dropped, %d datagrams in all", got, len(w.wire))
		}
	})
	t.Run("wrong preshared key", func(t *testing.T) {
		w := newWorld(t)
		w.b.cfg.PSK = func(PublicKey) [32]byte { return [32]byte{1} }
		w.b.restart()
		w.dial()
		w.run(3 * machine.Second)
		if len(w.a.up)+len(w.b.up) > 0 || w.a.guard.Counts()[DropHandshake] == 0 {
			t.Errorf("a has %v, b has %v", w.a.up, w.b.up)
		}
	})
	t.Run("the same preshared key", func(t *testing.T) {
		w := newWorld(t)
		w.a.cfg.PSK = func(PublicKey) [32]byte { return [32]byte{1} }
		w.b.cfg.PSK = w.a.cfg.PSK
		w.a.restart()
		w.b.restart()
		w.dial()
		w.run(3 * w.latency)
		w.talk()
	})
}

// TestRefusal: a peer that proves its key and isn't welcome is told why, and both sides can log it.
func TestRefusal(t *testing.T) {
	w := newWorld(t)
	w.a.cfg.Certificate = []byte("a certificate")
	w.b.cfg.Admit = func(_ int64, k PublicKey, c []byte) (Peer, error) {
		if string(c) != "a certificate" {
			t.Errorf("b got the certificate %q", c)
		}
		return Peer{Name: "site-a"}, &Refusal{"the certificate of site-a expired\x1b yesterday"}
	}
	w.a.restart()
	w.b.restart()
	w.dial()
	w.run(machine.Second)
	at, to := w.a.guard.Events(nil), w.b.guard.Events(nil)
	if len(at) != 1 || at[0].Kind != RefusedUs || !strings.Contains(at[0].Err.Error(), "expired? yesterday") {
		t.Errorf("a hears %v", at)
	}
	if len(to) != 1 || to[0].Kind != PeerRefused || to[0].Peer.Name != "site-a" || to[0].Peer.Key != w.a.cfg.Key.Public() {
		t.Errorf("b notes %v", to)
	}
	if len(w.a.up)+len(w.b.up) > 0 || len(w.wire) != 2 {
		t.Errorf("%v, %v, %d datagrams", w.a.up, w.b.up, len(w.wire))
	}
}

// TestRenewal: keys change while datagrams flow, and none is lost.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(3 * w.latency)
	first := w.a.guard.channels[1].current
	sent := 0
	for w.now < 10*60*machine.Second {
		if w.send(w.a, 1, "x from a") && w.send(w.b, w.b.up[0], "x from b") {
			sent++
		}
		w.run(machine.Second)
	}
	if len(w.a.got) != sent || len(w.b.got) != sent || sent < 590 {
		t.Errorf("%d sent each way, %d and %d came", sent, len(w.b.got), len(w.a.got))
	}
	if now := w.a.guard.channels[1].current; now == first || len(w.a.up) != 1 || len(w.b.up) != 1 {
		t.Errorf("faces %v and %v; the session of the start is still used: %v", w.a.up, w.b.up, now == first)
	}
	if n := len(w.b.guard.byIndex); n > 3 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestIdle: a face that nobody uses stays, by one ping and one answer every 20 s, and new keys every two minutes.
func TestIdle(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(machine.Second)
	w.wire = nil
	w.run(600 * machine.Second)
	if n := len(w.wire); n > 2*600/20+3*600/120+3 {
		t.Errorf("%d datagrams in ten minutes", n)
	}
	w.talk()
}

// TestRestart: when either side starts anew the other goes on within seconds.
func TestRestart(t *testing.T) {
	t.Run("responder", func(t *testing.T) {
		w := newWorld(t)
		w.dial()
		w.run(3 * w.latency)
		w.b.cfg.Random = constant(77)
		w.b.restart()
		w.send(w.a, 1, "into the void")
		w.run(patience + 4*w.latency)
		w.talk()
	})
	t.Run("dialler", func(t *testing.T) {
		w := newWorld(t)
		w.dial()
		w.run(3 * w.latency)
		w.a.cfg.Random = constant(78)
		w.a.restart()
		w.dial()
		w.run(4 * w.latency)
		w.talk()
		if len(w.b.up) != 2 {
			t.Errorf("b's faces are %v", w.b.up)
		}
	})
}

// TestCookies: under load a handshake takes a cookie, and costs no curve operation without.
func TestCookies(t *testing.T) {
	w := newWorld(t)
	flood := func(n int) (replies int) {
		for i := range n {
			d := make([]byte, initiationLen)
			d[0] = typeInitiation
			binary.BigEndian.PutUint32(d[10:], uint32(i))
			copy(d[len(d)-macsLen:], macOf(w.b.guard, d))
			a := w.b.guard.Receive(w.now, []byte("anywhere"), d, nil)
			if a.Reply != nil {
				replies++
				if len(a.Reply) != cookieLen {
					t.Fatalf("garbage is answered by %d bytes", len(a.Reply))
				}
			}
		}
		return replies
	}
	w.run(machine.Second)
	flood(2 * handshakeBurst)
	before := w.b.guard.Counts()
	flood(5000)
	after := w.b.guard.Counts()
	if curve := after[DropHandshake] - before[DropHandshake]; curve > 1 {
		t.Errorf("%d curve operations for 5,000 messages without a cookie", curve)
	}
	w.dial()
	w.run(6 * w.latency)
	if len(w.a.up) != 1 {
		t.Fatalf("under load no face comes up: %v", w.b.guard.Counts())
	}
	w.talk()
}

func macOf(g *Guard, d []byte) []byte {
	sum := mac(g.bakery.mac1[:], d[:len(d)-macsLen])
	return sum[:]
}

// TestReplayedInitiation: an initiation counts once.
func TestReplayedInitiation(t *testing.T) {
	w := newWorld(t)
	w.dial()
	w.run(w.latency / 2)
	d := bytes.Clone(w.flying[0].data)
	w.run(3 * w.latency)
	w.talk()
	for range 10 {
		if a := w.b.guard.Receive(w.now, []byte("elsewhere"), d, nil); a.Reply != nil || a.Face != 0 {
			t.Fatalf("a replayed initiation is answered: %v", a)
		}
	}
	if n := w.b.guard.Counts()[DropReplayed]; n != 10 {
		t.Errorf("%d are counted", n)
	}
	w.talk()
}

// TestHalfOpen: handshakes that nobody goes on with are forgotten.
func TestHalfOpen(t *testing.T) {
	w := newWorld(t)
	w.tamper = func(from *host, d []byte) [][]byte {
		if from == w.b {
			return nil
		}
		return [][]byte{d}
	}
	w.dial()
	w.run(60 * machine.Second)
	if n := len(w.b.guard.byIndex); n > 2 || len(w.b.up) > 0 {
		t.Errorf("%d sessions, faces %v", n, w.b.up)
	}
	w.tamper = nil
	w.run(10 * machine.Second)
	w.talk()
}

func TestPadding(t *testing.T) {
	w := newWorld(t)
	w.a.cfg.Padding = 64
	w.a.restart()
	w.dial()
	w.run(3 * w.latency)
	packet := "\x64\x05\x50\x03abc"
	plain := append(make([]byte, 0, 200), packet...)
	d := w.a.guard.Seal(w.now, 1, nil, plain)
	if len(d) != 64+w.a.guard.Overhead() {
		t.Errorf("%d bytes", len(d))
	}
	w.fly(w.a, d)
	w.run(2 * w.latency)
	if len(w.b.got) != 1 || string(w.b.got[0]) != packet {
		t.Errorf("b got %q", w.b.got)
	}
}

func TestNewGuardErrors(t *testing.T) {
	good := newHost(t, "", 3).cfg
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Key = PrivateKey{} },
		func(c *Config) { c.Random = nil },
		func(c *Config) { c.Wall = nil },
		func(c *Config) { c.NewFace = nil },
		func(c *Config) { c.Certificate = make([]byte, MaxCertificate+1) },
	} {
		c := good
		spoil(&c)
		if _, err := NewGuard(c); err == nil {
			t.Error("a Guard of a broken Config")
		}
	}
	g, err := NewGuard(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Dial(0, 1, PublicKey{1}); !errors.Is(err, ErrKeyText) {
		t.Errorf("a key of small order: %v", err)
	}
}

// FuzzReceive: nothing that arrives makes a Guard panic, or a face.
func FuzzReceive(f *testing.F) {
	w := newWorld(f)
	w.dial()
	w.run(3 * w.latency)
	w.send(w.a, 1, "hello")
	for _, d := range w.wire {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		w := &world{t: t, latency: 10 * machine.Millisecond, a: newHost(t, "a", 3), b: newHost(t, "b", 4), source: []byte("x")}
		w.dial()
		w.run(w.latency) // a waits for a response, b for a datagram
		for _, h := range []*host{w.a, w.b} {
			for range 2 {
				if a := h.guard.Receive(w.now, []byte("x"), d, nil); a.Up || a.Plain != nil {
					t.Fatalf("%x does something", d)
				}
			}
		}
		w.run(4 * w.latency)
		w.talk()
	})
}

// FuzzHello: the payloads of handshakes.
func FuzzHello(f *testing.F) {
	f.Add((&hello{previous: 7, ciphers: 1, certificate: []byte("c")}).append(nil))
	f.Add((&answer{reason: "no"}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h hello
		if h.decode(b) == nil {
			var again hello
			if err := again.decode(h.append(nil)); err != nil || again.key != h.key || again.previous != h.previous ||
				again.ciphers != h.ciphers || !bytes.Equal(again.certificate, h.certificate) {
				t.Fatalf("%x: %v", b, err)
			}
		}
		var a answer
		if a.decode(b) == nil && a.cipher != 0 && !bytes.Equal(a.append(nil), b) {
			t.Fatalf("%x becomes %x", b, a.append(nil))
		}
	})
}
