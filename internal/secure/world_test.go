package secure

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"mars/internal/machine"
)

// host is one Guard in a small world, with the faces that it has.
type host struct {
	t     testing.TB
	name  string
	cfg   Config
	guard *Guard
	got   [][]byte // what came for the Machine
	up    []machine.FaceID
	next  machine.FaceID
	seed  byte
}

// world joins a dialler and a responder. Datagrams take latency, and pass through tamper.
type world struct {
	t       testing.TB
	now     machine.Time
	latency machine.Time
	a, b    *host
	flying  []flight
	source  []byte                              // of a, as b sees it
	tamper  func(from *host, d []byte) [][]byte // nil: as it is
	wire    [][]byte                            // all that was sent
}

type flight struct {
	at   machine.Time
	to   *host
	data []byte
}

// constant is randomness that is the same every time.
func constant(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func newHost(t testing.TB, name string, seed byte) *host {
	key, err := NewPrivateKey(constant(seed))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, name: name, seed: seed, next: 100}
	h.cfg = Config{
		Key: key, Random: constant(seed + 100), Wall: func() int64 { return 1_800_000_000 }, AES: true,
		NewFace: func() (machine.FaceID, bool) { h.next++; return h.next, true },
		Admit:   func(_ int64, k PublicKey, _ []byte) (Peer, error) { return Peer{Key: k}, nil },
	}
	h.restart()
	return h
}

// restart begins anew with the same key.
func (h *host) restart() {
	g, err := NewGuard(h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.guard, h.up = g, nil
}

func newWorld(t testing.TB) *world {
	return &world{t: t, latency: 10 * machine.Millisecond, a: newHost(t, "a", 1), b: newHost(t, "b", 2), source: []byte("a's address")}
}

func (w *world) dial() {
	if err := w.a.guard.Dial(w.now, 1, w.b.cfg.Key.Public()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) fly(from *host, d []byte) {
	to := w.a
	if from == w.a {
		to = w.b
	}
	copies := [][]byte{d}
	if w.tamper != nil {
		copies = w.tamper(from, d)
	}
	for _, c := range copies {
		c = bytes.Clone(c)
		w.wire = append(w.wire, c)
		w.flying = append(w.flying, flight{w.now + w.latency, to, c})
	}
}

func (w *world) drain(h *host) {
	var buf [1200]byte
	for {
		face, n := h.guard.Transmit(w.now, buf[:])
		if n == 0 {
			return
		}
		if face == 0 {
			w.t.Fatal("a datagram of no face")
		}
		w.fly(h, buf[:n])
	}
}

func (w *world) receive(h *host, d []byte) {
	source := []byte("b's address")
	if h == w.b {
		source = w.source
	}
	a := h.guard.Receive(w.now, source, d, nil)
	if a.Up {
		h.up = append(h.up, a.Face)
	}
	if a.Plain != nil {
		h.got = append(h.got, bytes.Clone(a.Plain))
	}
	if a.Reply != nil {
		if len(a.Reply) > len(d) {
			w.t.Fatalf("%d bytes are answered by %d", len(d), len(a.Reply))
		}
		w.fly(h, a.Reply)
	}
}

// run lets time pass.
func (w *world) run(d machine.Time) {
	end := w.now + d
	for {
		next := min(w.a.guard.Deadline(), w.b.guard.Deadline(), end)
		for _, f := range w.flying {
			next = min(next, f.at)
		}
		w.now = max(w.now, next)
		for i := 0; i < len(w.flying); {
			f := w.flying[i]
			if f.at > w.now {
				i++
				continue
			}
			w.flying = append(w.flying[:i], w.flying[i+1:]...)
			w.receive(f.to, f.data)
		}
		for _, h := range []*host{w.a, w.b} {
			h.guard.Advance(w.now)
			w.drain(h)
		}
		if w.now >= end {
			return
		}
	}
}

// send sends a datagram of the Machine by a face; false: it can't be sealed.
func (w *world) send(h *host, face machine.FaceID, plain string) bool {
	d := h.guard.Seal(w.now, face, nil, append(make([]byte, 0, 100), plain...))
	if len(d) == 0 {
		return false
	}
	w.fly(h, d)
	return true
}

// talk checks that a datagram gets through either way.
func (w *world) talk() {
	w.t.Helper()
	w.a.got, w.b.got = nil, nil
	if len(w.b.up) == 0 {
		w.t.Fatal("b has no face")
	}
	face := w.b.up[len(w.b.up)-1]
	if !w.send(w.a, 1, "ping from a") || !w.send(w.b, face, "pong from b") {
		w.t.Fatal("no keys")
	}
	w.run(2 * w.latency)
	if len(w.b.got) != 1 || string(w.b.got[0]) != "ping from a" || len(w.a.got) != 1 || string(w.a.got[0]) != "pong from b" {
		w.t.Fatalf("b got %q, a got %q; drops %v and %v", w.b.got, w.a.got, w.b.guard.Counts(), w.a.guard.Counts())
	}
}
