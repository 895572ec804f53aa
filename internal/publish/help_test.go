package publish

import (
	"crypto/ed25519"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

const (
	ms  = machine.Millisecond
	sec = machine.Second
)

var site = wire.MustParseName("/site")

// fixture is an object of some bytes, and those bytes.
type fixture struct {
	o       *Object
	content []byte
}

func newFixture(uri string, size, chunkSize int, seed byte) *fixture {
	f := &fixture{content: make([]byte, size)}
	rand.NewChaCha8([32]byte{seed}).Read(f.content)
	b := wire.NewManifestBuilder(chunkSize)
	b.Write(f.content)
	f.o = &Object{Name: wire.MustParseName(uri), Dest: site, Manifest: b.Finish()}
	return f
}

func (f *fixture) version() uint64 { return f.o.Manifest.Version() }

func (f *fixture) chunk(i int64) []byte {
	from := i * int64(f.o.Manifest.ChunkSize)
	return f.content[from : from+int64(f.o.Manifest.ChunkLen(i))]
}

// name is a name below the fixture's object: "" or "32=manifest", version, number.
func (f *fixture) name(below string, numbers ...uint64) wire.Name {
	n := f.o.Name.Clone()
	if below != "" {
		n = append(n, wire.MustParseName("/"+below)...)
	}
	return numbered(n, numbers)
}

// dt is the same as a MARS name.
func (f *fixture) dt(below string, numbers ...uint64) wire.Name {
	n := wire.AppendTransmission(nil, site, []byte("consumer"), f.o.Name[len(site):])
	if below != "" {
		n = append(n, wire.MustParseName("/"+below)...)
	}
	return numbered(n, numbers)
}

func numbered(n wire.Name, numbers []uint64) wire.Name {
	if len(numbers) > 0 {
		n = n.AppendNumber(wire.TypeVersion, numbers[0])
	}
	if len(numbers) > 1 {
		n = n.AppendNumber(wire.TypeSegment, numbers[1])
	}
	return n
}

// bench is an engine with an application that has some objects and answers at once.
type bench struct {
	t        testing.TB
	e        *Engine
	now      machine.Time
	objects  []*fixture
	asked    []Request // that the application was asked and left unanswered
	left     bool      // leave requests unanswered
	resolves int       // Resolve requests, in all
	reads    int
	tokens   byte
	buf      [wire.MaxPacket + 512]byte
}

func newBench(t testing.TB, cfg Config, objects ...*fixture) *bench {
	if cfg.Prefix == nil {
		cfg.Prefix = site
	}
	return &bench{t: t, e: New(cfg), objects: objects}
}

// asks sends an Interest, and returns the token that it carries.
func (b *bench) asks(i wire.Interest) []byte {
	b.t.Helper()
	b.tokens++
	token := []byte{1, 2, 3, 4, 5, b.tokens}
	i.Nonce, i.HasNonce = 77, true
	h := wire.Packet{PitToken: token, Fragment: i.Append(nil)}
	datagram := h.Append(nil)
	b.e.Receive(b.now, Face, machine.NotECT, datagram)
	clear(datagram) // the node uses it again
	b.serve()
	return token
}

// serve answers what the application is asked.
func (b *bench) serve() {
	b.t.Helper()
	for requests := b.e.Requests(nil); len(requests) > 0; requests = append(requests[1:], b.e.Requests(nil)...) {
		switch r := requests[0]; r.Kind {
		case Resolve:
			b.resolves++
		case Read:
			b.reads++
		}
		if b.left {
			b.asked = append(b.asked, requests[0])
		} else {
			b.answer(requests[0])
		}
	}
}

// answer is the application's answer to a request.
func (b *bench) answer(r Request) {
	switch r.Kind {
	case Resolve:
		for _, f := range b.objects {
			if f.o.Name.Equal(r.Name) {
				b.e.Resolved(b.now, r.ID, f.o, nil)
				return
			}
		}
		b.e.Resolved(b.now, r.ID, nil, ErrNotFound)
	case Read:
		for _, f := range b.objects {
			if f.o == r.Object {
				b.e.Read(b.now, r.ID, append(make([]byte, 0, wire.ChunkSize), f.chunk(r.Chunk)...), nil)
				return
			}
		}
		b.e.Read(b.now, r.ID, nil, ErrGone)
	}
}

// release answers the requests that were left.
func (b *bench) release() {
	b.left = false
	for _, r := range b.asked {
		b.answer(r)
	}
	b.asked = nil
	b.serve()
}

// sent is a packet that the engine sent, decoded.
type sent struct {
	wire.Packet
	data     wire.Data
	interest wire.Interest // of a Nack
}

// says is the code of a refusal; "" if it isn't one.
func (s sent) says() string {
	if s.data.ContentType == wire.ContentNack {
		return string(s.data.Content)
	}
	return ""
}

// next takes the next packet, which there must be. Its bytes must decode, fit into a packet, and carry a right digest or
// signature, or the null one.
func (b *bench) next() (s sent) {
	b.t.Helper()
	if len(b.e.Ready(nil)) == 0 {
		b.t.Fatal("not ready")
	}
	n, _ := b.e.Transmit(b.now, Face, b.buf[:])
	if n <= 0 {
		b.t.Fatalf("ready, and it sends %d", n)
	}
	if err := s.Packet.Decode(append([]byte(nil), b.buf[:n]...)); err != nil {
		b.t.Fatal(err)
	}
	if len(s.Fragment) > wire.MaxPacket {
		b.t.Fatalf("a packet of %d bytes", len(s.Fragment))
	}
	if s.Nack {
		if err := s.interest.Decode(s.Fragment); err != nil {
			b.t.Fatal(err)
		}
		return s
	}
	if err := s.data.Decode(s.Fragment); err != nil {
		b.t.Fatal(err)
	}
	switch s.data.SignatureType {
	case wire.SignatureNull:
		if len(s.data.SignatureValue) != 0 {
			b.t.Fatal("a null signature of some bytes")
		}
	case wire.SignatureSHA256:
		if sum := sha256.Sum256(s.data.Signed); string(sum[:]) != string(s.data.SignatureValue) {
			b.t.Fatal("a wrong digest")
		}
	case wire.SignatureEd25519:
		if a, ok := s.data.Author(); !ok || !ed25519.Verify(a.Key, s.data.Signed, s.data.SignatureValue) {
			b.t.Fatal("a wrong signature")
		}
	default:
		b.t.Fatalf("signature type %d", s.data.SignatureType)
	}
	return s
}

// silent checks that nothing is to be sent.
func (b *bench) silent() {
	b.t.Helper()
	if n, _ := b.e.Transmit(b.now, Face, b.buf[:]); n != 0 || len(b.e.Ready(nil)) != 0 {
		b.t.Fatal("there is something to send")
	}
}

// gets is the answer to an Interest: it must come at once, carry the token, and be one that the Interest can be
// answered with.
func (b *bench) gets(i wire.Interest) sent {
	b.t.Helper()
	token := b.asks(i)
	s := b.next()
	b.silent()
	answers(b.t, i, token, s)
	return s
}

// answers checks that s answers i.
func answers(t testing.TB, i wire.Interest, token []byte, s sent) {
	t.Helper()
	if string(s.PitToken) != string(token) {
		t.Fatalf("token %x, want %x", s.PitToken, token)
	}
	switch {
	case s.Nack:
		if !s.interest.Name.Equal(i.Name) || s.interest.Nonce != 77 {
			t.Fatalf("a Nack of %v", s.interest.Name)
		}
	case !s.data.Name.Equal(i.Name) && !(i.CanBePrefix && s.data.Name.HasPrefix(i.Name)):
		t.Fatalf("%v doesn't answer %v", s.data.Name, i.Name)
	}
}
