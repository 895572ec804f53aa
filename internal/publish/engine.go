// Package publish is the producer engine: it answers Interests for objects, their manifests and their metadata.
//
// It is a machine.Machine with one face, to the node it is attached to, and it owns no file: what it needs from the
// application (which version of an object is current, the bytes of a chunk) it asks for through Requests and gets through
// Resolved and Read, so that a slow disk never stops the node.
package publish

import (
	"crypto/sha256"
	"errors"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Face is the engine's only face.
const Face machine.FaceID = 1

// Errors with which an application answers a Request.
var (
	ErrNotFound = errors.New("publish: no such object")
	ErrGone     = errors.New("publish: that version's bytes no longer exist")
)

// Content Nack codes: the content of a Data packet with ContentType Nack (protocol.md).
const (
	CodeNotFound = "not found"
	CodeGone     = "version gone"
	CodeFailed   = "read failed"
	CodeBusy     = "busy" // the object is being hashed: ask again
)

// Object is one published version of a named object.
type Object struct {
	Name     wire.Name // full name, Dest included, without version
	Dest     wire.Name // producer prefix
	Manifest *wire.Manifest
	Handle   any // the application's own

	used machine.Time
}

// RequestKind says what the engine asks of the application.
type RequestKind uint8

// The kinds of Request.
const (
	Resolve RequestKind = iota + 1 // which version of Name is current? Answer with Resolved
	Read                           // the bytes of chunk Chunk of Object. Answer with Read
)

// Request is something that the engine needs from the application.
type Request struct {
	ID     uint64
	Kind   RequestKind
	Name   wire.Name // Resolve: object name without version
	Object *Object
	Chunk  int64
}

// Config sets up an Engine.
type Config struct {
	Prefix     wire.Name // objects served are below it; it is also their producer prefix (dest)
	MaxPending int       // requests to the application at once; 0: 256
	Freshness  uint64    // of metadata, ms; 0: 1000
}

// key finds a published version.
type key struct {
	name    string
	version uint64
}

// pending is an Interest that waits for the application.
type pending struct {
	name      wire.Name // of the Interest
	token     []byte
	canPrefix bool
	plain     bool
	object    wire.Name // Resolve: object name
	version   uint64    // wanted version; with hasVersion
	versioned bool
	metadata  bool
	answered  bool // by "busy"
	o         *Object
	chunk     int64
}

// reply is a Data packet to be encoded when the node takes it.
type reply struct {
	token       []byte
	name        wire.Name
	content     []byte
	contentType uint64
	freshness   uint64
	final       []byte
	digest      bool // DigestSha256 signature; else the null signature
	nack        wire.NackReason
	interest    []byte // Nack only
	chunk       bool   // content came from Read and goes back through Spent
}

// Engine is a producer. See the package comment.
type Engine struct {
	cfg      Config
	objects  map[key]*Object
	list     []*Object // the same, oldest first
	pending  map[uint64]*pending
	hashing  map[string]uint64 // object name: the Resolve request that is under way for its metadata
	spent    [][]byte
	nextID   uint64
	requests []Request
	out      []reply
	head     int

	pkt      wire.Packet
	interest wire.Interest
	counters Counters
}

// Counters counts what an Engine did.
type Counters struct {
	Interests, Data, Nacks, Malformed uint64
	ContentBytes                      uint64
}

// New returns an engine that serves nothing yet: objects come in through Resolved.
func New(cfg Config) *Engine {
	if cfg.MaxPending == 0 {
		cfg.MaxPending = 256
	}
	if cfg.Freshness == 0 {
		cfg.Freshness = 1000
	}
	cfg.Prefix = cfg.Prefix.Clone()
	return &Engine{cfg: cfg, objects: make(map[key]*Object), pending: make(map[uint64]*pending), hashing: make(map[string]uint64)}
}

// Accepts tells whether the engine takes another Interest now; while it doesn't, Interests wait in the node's queue,
// where they are visible as congestion.
func (e *Engine) Accepts() bool { return len(e.pending) < e.cfg.MaxPending }

// Counters returns what the engine did so far.
func (e *Engine) Counters() Counters { return e.counters }

// Requests appends what the application is asked for now to dst.
func (e *Engine) Requests(dst []Request) []Request {
	dst = append(dst, e.requests...)
	clear(e.requests)
	e.requests = e.requests[:0]
	return dst
}

// FaceUp, FaceDown and Advance have nothing to do: the engine has no timers.
func (e *Engine) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (e *Engine) FaceDown(machine.Time, machine.FaceID) {}

// Advance implements machine.Machine.
func (e *Engine) Advance(machine.Time) {}

// Deadline implements machine.Machine.
func (e *Engine) Deadline() machine.Time { return machine.Never }

// Receive handles an Interest from the node.
func (e *Engine) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	if err := e.pkt.Decode(datagram); err != nil || e.pkt.Fragment == nil || e.pkt.Nack || e.pkt.FragCount > 1 {
		e.counters.Malformed++
		return
	}
	i := &e.interest
	if err := i.Decode(e.pkt.Fragment); err != nil {
		e.counters.Malformed++
		return
	}
	e.counters.Interests++
	q, ok := parse(i, e.cfg.Prefix)
	if !ok {
		e.refuse(wire.NackNoRoute)
		return
	}
	if q.metadata {
		e.askVersion(q)
		return
	}
	if !q.versioned {
		e.ask(q, nil)
		return
	}
	o := e.objects[key{string(q.object), q.version}]
	if o == nil {
		e.ask(q, nil)
		return
	}
	e.serve(now, q, o)
}

// refuse answers the Interest at hand with a Nack.
func (e *Engine) refuse(reason wire.NackReason) {
	e.counters.Nacks++
	e.out = append(e.out, reply{
		token: clone(e.pkt.PitToken), nack: reason, interest: clone(e.pkt.Fragment),
	})
}

// askVersion asks which version of an object is current. While the application still works on the answer to the same
// question, a repeated Interest is told that it does: the consumer then knows that somebody is there.
func (e *Engine) askVersion(q query) {
	if id, ok := e.hashing[string(q.object)]; ok {
		e.pending[id].answered = true
		e.content(true, e.interest.Name.Clone(), clone(e.pkt.PitToken), CodeBusy)
		return
	}
	e.ask(q, nil)
	e.hashing[string(q.object)] = e.nextID
}

// ask puts a question to the application: the current version of an object, or (o given) the bytes of a chunk.
func (e *Engine) ask(q query, o *Object) {
	e.nextID++
	p := &pending{
		name: e.interest.Name.Clone(), token: clone(e.pkt.PitToken), canPrefix: e.interest.CanBePrefix,
		plain: q.plain, version: q.version, versioned: q.versioned, metadata: q.metadata, o: o, chunk: q.index,
	}
	r := Request{ID: e.nextID, Kind: Read, Object: o, Chunk: q.index}
	if o == nil {
		p.object = q.object.Clone()
		r = Request{ID: e.nextID, Kind: Resolve, Name: p.object}
		if q.manifest {
			p.chunk = -1 - q.index // a manifest segment, see Resolved
		}
	}
	e.pending[e.nextID] = p
	e.requests = append(e.requests, r)
}

// serve answers for a version that is known: manifest segments from memory, chunks from the application.
func (e *Engine) serve(now machine.Time, q query, o *Object) {
	o.used = now
	if q.manifest {
		seg := o.Manifest.Segment(q.index)
		if seg == nil {
			e.content(q.plain, e.interest.Name.Clone(), clone(e.pkt.PitToken), CodeNotFound)
			return
		}
		e.data(q.plain, e.interest.Name.Clone(), clone(e.pkt.PitToken), seg, uint64(o.Manifest.Segments()-1))
		return
	}
	if q.index < 0 || q.index >= o.Manifest.Chunks() {
		e.content(q.plain, e.interest.Name.Clone(), clone(e.pkt.PitToken), CodeNotFound)
		return
	}
	e.ask(q, o)
}

// Resolved answers a Resolve request: o is the current version, nil with err if there is none. The engine serves o from
// then on, until Withdraw.
func (e *Engine) Resolved(now machine.Time, id uint64, o *Object, err error) {
	p := e.pending[id]
	if p == nil {
		return
	}
	delete(e.pending, id)
	if p.metadata {
		delete(e.hashing, string(p.object))
	}
	switch {
	case p.answered && (err != nil || o == nil):
		return
	case errors.Is(err, ErrNotFound):
		e.content(true, p.name, p.token, CodeNotFound)
		return
	case err != nil || o == nil:
		e.content(true, p.name, p.token, CodeFailed)
		return
	}
	v := o.Manifest.Version()
	if known := e.objects[key{string(o.Name), v}]; known != nil {
		known.Handle = o.Handle
		o = known
	} else {
		e.objects[key{string(o.Name), v}] = o
		e.list = append(e.list, o)
	}
	o.used = now
	if p.answered {
		return
	}
	if p.metadata {
		e.metadata(p, o)
		return
	}
	if p.versioned && p.version != v {
		e.content(p.plain, p.name, p.token, CodeGone)
		return
	}
	name := p.name
	index := p.chunk
	if !p.versioned { // "/name" with CanBePrefix: its first chunk (interop.md)
		name = o.Name.Clone().AppendNumber(wire.TypeVersion, v).AppendNumber(wire.TypeSegment, 0)
		index = 0
	}
	if index < 0 { // a manifest segment, encoded by ask
		if seg := o.Manifest.Segment(-1 - index); seg != nil {
			e.data(p.plain, name, p.token, seg, uint64(o.Manifest.Segments()-1))
			return
		}
		e.content(p.plain, name, p.token, CodeNotFound)
		return
	}
	if index >= o.Manifest.Chunks() {
		e.content(p.plain, name, p.token, CodeNotFound)
		return
	}
	p.name, p.o, p.chunk = name, o, index
	e.nextID++
	e.pending[e.nextID] = p
	e.requests = append(e.requests, Request{ID: e.nextID, Kind: Read, Object: o, Chunk: index})
}

// Read answers a Read request with a chunk's bytes, which the engine keeps, or with an error.
func (e *Engine) Read(now machine.Time, id uint64, content []byte, err error) {
	p := e.pending[id]
	if p == nil {
		return
	}
	delete(e.pending, id)
	p.o.used = now
	switch {
	case errors.Is(err, ErrGone):
		e.Withdraw(now, p.o)
		e.content(p.plain, p.name, p.token, CodeGone)
	case err != nil:
		e.content(p.plain, p.name, p.token, CodeFailed)
	default:
		e.counters.ContentBytes += uint64(len(content))
		e.data(p.plain, p.name, p.token, content, uint64(p.o.Manifest.Chunks()-1))
		e.out[len(e.out)-1].chunk = true
	}
}

// Withdraw stops serving a version; consumers that still fetch it are told that it is gone.
func (e *Engine) Withdraw(_ machine.Time, o *Object) {
	k := key{string(o.Name), o.Manifest.Version()}
	if e.objects[k] == o {
		delete(e.objects, k)
		e.list = slices.DeleteFunc(e.list, func(l *Object) bool { return l == o })
	}
}

// Idle appends the objects that nobody has asked for since before to dst. They are still served until Withdraw.
func (e *Engine) Idle(dst []*Object, before machine.Time) []*Object {
	for _, o := range e.list {
		if o.used < before {
			dst = append(dst, o)
		}
	}
	return dst
}

// Spent appends the buffers given to Read that are no longer needed to dst, for reuse.
func (e *Engine) Spent(dst [][]byte) [][]byte {
	dst = append(dst, e.spent...)
	clear(e.spent)
	e.spent = e.spent[:0]
	return dst
}

// metadata answers "which version is current?" (interop.md: versioned Name first, then FinalBlockId; ours after). It is
// signed with a digest, so that a corrupted reply is told from a true one.
func (e *Engine) metadata(p *pending, o *Object) {
	v := o.Manifest.Version()
	m := wire.Metadata{
		Name: o.Name.Clone().AppendNumber(wire.TypeVersion, v), Size: o.Manifest.Size, ChunkSize: o.Manifest.ChunkSize,
		Digest: o.Manifest.Digest(), Dest: o.Dest, FinalChunk: uint64(o.Manifest.Chunks() - 1), HasMARS: true,
	}
	name := o.Name.Clone().Append(wire.TypeKeyword, []byte("metadata")).AppendNumber(wire.TypeVersion, v).AppendNumber(wire.TypeSegment, 0)
	e.out = append(e.out, reply{
		token: p.token, name: name, content: m.Append(nil), freshness: e.cfg.Freshness,
		final: segment(0), digest: true,
	})
}

func (e *Engine) data(plain bool, name wire.Name, token, content []byte, last uint64) {
	r := reply{token: token, name: name, content: content}
	if plain { // foreign consumers look for FinalBlockId and check digests
		r.final, r.digest, r.freshness = segment(last), true, 3_600_000
	}
	e.out = append(e.out, r)
}

// content answers with a Data packet whose ContentType is Nack: the producer is there, and says no.
func (e *Engine) content(plain bool, name wire.Name, token []byte, code string) {
	e.counters.Nacks++
	e.out = append(e.out, reply{
		token: token, name: name, content: []byte(code), contentType: wire.ContentNack, freshness: 1, digest: plain,
	})
}

// Ready lists the face while replies wait.
func (e *Engine) Ready(dst []machine.FaceID) []machine.FaceID {
	if e.head < len(e.out) {
		dst = append(dst, Face)
	}
	return dst
}

// Transmit encodes the next reply into buf.
func (e *Engine) Transmit(_ machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	if e.head == len(e.out) {
		return 0, machine.NotECT
	}
	r := &e.out[e.head]
	if need := len(r.content) + len(r.name) + len(r.interest) + 256; need > len(buf) {
		return -need, machine.NotECT
	}
	n := r.encode(buf)
	if r.chunk {
		e.spent = append(e.spent, r.content)
	}
	*r = reply{}
	e.head++
	if e.head == len(e.out) {
		e.out, e.head = e.out[:0], 0
	}
	e.counters.Data++
	return n, machine.NotECT
}

// encode writes the reply as a link packet; buf is large enough.
func (r *reply) encode(buf []byte) int {
	h := wire.Packet{PitToken: r.token}
	if r.interest != nil {
		h.Nack, h.NackReason, h.Fragment = true, r.nack, r.interest
		return len(h.Append(buf[:0]))
	}
	d := wire.Data{
		Name: r.name, ContentType: r.contentType, Freshness: r.freshness, FinalBlock: r.final, Content: r.content,
		SignatureType: wire.SignatureNull,
	}
	if r.digest { // filled in below, once what it covers is in place
		d.SignatureType, d.SignatureValue = wire.SignatureSHA256, make([]byte, sha256.Size)
	}
	size := d.Len()
	out := h.AppendHeader(buf[:0], size)
	from := len(out)
	out = d.Append(out)
	if r.digest {
		const tail = 2 + sha256.Size
		signed := out[from+size-d.SignedLen()-tail : len(out)-tail]
		sum := sha256.Sum256(signed)
		copy(out[len(out)-sha256.Size:], sum[:])
	}
	return len(out)
}

func segment(n uint64) []byte { return wire.Name(nil).AppendNumber(wire.TypeSegment, n) }

func clone(b []byte) []byte { return append([]byte(nil), b...) }
