package publish

import (
	"cmp"
	"crypto/sha256"
	"errors"

	"mars/internal/machine"
	"mars/internal/wire"
)

// key finds a published version.
type key struct {
	name    string
	version uint64
}

// Engine is a producer. See the package comment.
type Engine struct {
	cfg       Config
	objects   map[key]*Object
	list      []*Object // the same, oldest first
	inquiries inquiries
	waiting   list        // for the application, in order of expiry
	count     [stages]int // inquiries in the stages resolving, reading and late
	resolves  resolves
	replies   list // to be sent
	requests  []Request
	spent     [][]byte
	counters  Counters

	pkt      wire.Packet // scratch
	interest wire.Interest
	full     wire.Name
	header   wire.Packet
	data0    wire.Data
	final    wire.Name
	noDigest [sha256.Size]byte

	now          machine.Time       // of the last call that may answer
	current      map[string]*Object // by name: whose metadata was told last
	refusalsFrom machine.Time       // when the second began in which so many were signed
	refusals     int
}

// maxLifetime bounds how long an Interest may wait here: a longer wish costs memory and helps nobody.
const maxLifetime = 60_000 // ms

// New returns an engine that serves nothing yet: objects come in through Resolved.
func New(cfg Config) *Engine {
	cfg.MaxPending = cmp.Or(cfg.MaxPending, 256)
	cfg.Freshness = cmp.Or(cfg.Freshness, 1000)
	cfg.Prefix = cfg.Prefix.Clone()
	return &Engine{
		cfg: cfg, objects: make(map[key]*Object), current: make(map[string]*Object),
		resolves: resolves{byName: make(map[string]*resolve), byID: make(map[uint64]*resolve)},
	}
}

// Accepts tells whether the engine takes another Interest now; while it doesn't, Interests wait in the node's queue,
// where they are visible as congestion.
func (e *Engine) Accepts() bool {
	return e.count[reading] < e.cfg.MaxPending && e.replies.n < e.cfg.MaxPending
}

// Counters returns what the engine did so far.
func (e *Engine) Counters() Counters { return e.counters }

// Requests appends what the application is asked for now to dst.
func (e *Engine) Requests(dst []Request) []Request {
	dst = append(dst, e.requests...)
	clear(e.requests)
	e.requests = e.requests[:0]
	return dst
}

// FaceUp implements machine.Machine; the engine's one face needs no set-up.
func (e *Engine) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (e *Engine) FaceDown(machine.Time, machine.FaceID) {}

// Receive handles an Interest from the node.
func (e *Engine) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	p, i := &e.pkt, &e.interest
	e.now = now
	if p.Decode(datagram) != nil || p.Fragment == nil || p.Nack || p.FragCount > 1 || i.Decode(p.Fragment) != nil {
		e.counters.Malformed++
		return
	}
	e.counters.Interests++
	q := e.inquiries.take()
	q.name = append(q.name[:0], i.Name...)
	q.tokenLen = copy(q.token[:], p.PitToken)
	q.expiry = now + machine.Time(min(i.Lifetime, maxLifetime))*machine.Millisecond
	var ok bool
	e.full = append(e.full[:0], i.Name...) // as long as what parse needs
	if q.query, ok = parse(i, e.cfg.Prefix, e.full); !ok {
		e.nack(q, wire.NackNoRoute)
		return
	}
	switch {
	case len(q.object) > maxObject: // its chunks wouldn't fit into packets
		e.refuse(q, CodeNotFound)
	case !q.metadata && q.versioned:
		if o := e.objects[key{string(q.object), q.version}]; o != nil {
			o.used = now
			e.serve(q, o)
			return
		}
		e.resolve(q)
	default:
		e.resolve(q)
	}
}

// wait has q wait for the application.
func (e *Engine) wait(q *inquiry, s stage) {
	q.stage = s
	e.count[s]++
	e.waiting.pushByExpiry(q)
}

func (e *Engine) unwait(q *inquiry) {
	e.count[q.stage]--
	e.waiting.remove(q)
}

// serve answers from a version that is known: manifest segments from memory, chunks from the application.
func (e *Engine) serve(q *inquiry, o *Object) {
	count := o.Manifest.Chunks()
	if q.manifest {
		count = o.Manifest.Segments()
	}
	if q.index >= count {
		e.refuse(q, CodeNotFound)
		return
	}
	if !q.complete { // the consumer knows a beginning of the name only
		q.name = append(q.name[:0], o.Name...)
		if q.manifest {
			q.name = q.name.AppendString(wire.TypeKeyword, wire.KeywordManifest)
		}
		q.name = q.name.AppendChunk(o.Manifest.Version(), uint64(q.index))
	}
	if q.manifest {
		e.data(q, o.Manifest.Segment(q.index), count-1)
		return
	}
	if e.count[reading]+e.count[late] >= 2*e.cfg.MaxPending { // it hangs on what nobody waits for any more
		e.refuse(q, CodeBusy)
		return
	}
	q.o, q.object = o, nil
	e.wait(q, reading)
	e.requests = append(e.requests, Request{ID: q.id(), Kind: Read, Object: o, Chunk: q.index})
}

// Read answers a Read request with the chunk's bytes, which the engine keeps until Spent, or with an error. A chunk of the
// wrong length counts as an error.
func (e *Engine) Read(now machine.Time, id uint64, content []byte, err error) {
	q := e.inquiries.byID(id)
	if q == nil {
		return
	}
	o := q.o
	if errors.Is(err, ErrGone) {
		e.Withdraw(now, o)
	}
	if q.stage == late {
		e.count[late]--
		e.giveBack(content)
		e.inquiries.put(q)
		return
	}
	e.unwait(q)
	o.used = now
	switch {
	case errors.Is(err, ErrGone):
		e.refuse(q, CodeGone)
	case err != nil || len(content) != o.Manifest.ChunkLen(q.index):
		e.refuse(q, CodeFailed)
	default:
		e.counters.ContentBytes += uint64(len(content))
		e.data(q, content, o.Manifest.Chunks()-1)
		return
	}
	e.giveBack(content)
}

// giveBack returns a buffer to the application, unless it doesn't fetch them.
func (e *Engine) giveBack(b []byte) {
	if cap(b) > 0 && len(e.spent) < 2*e.cfg.MaxPending {
		e.spent = append(e.spent, b)
	}
}

// Spent appends the buffers given to Read that are no longer needed to dst, for reuse.
func (e *Engine) Spent(dst [][]byte) [][]byte {
	dst = append(dst, e.spent...)
	clear(e.spent)
	e.spent = e.spent[:0]
	return dst
}

// Advance forgets the Interests that have waited for the application until nobody waits for them.
func (e *Engine) Advance(now machine.Time) {
	for q := e.waiting.first; q != nil && q.expiry <= now; q = e.waiting.first {
		e.unwait(q)
		e.counters.Expired++
		if q.stage == reading {
			q.stage = late
			e.count[late]++
			continue
		}
		e.resolves.byName[string(q.object)].drop(q)
		e.inquiries.put(q)
	}
}

// Deadline is when the next Interest expires.
func (e *Engine) Deadline() machine.Time {
	if e.waiting.first == nil {
		return machine.Never
	}
	return e.waiting.first.expiry
}
