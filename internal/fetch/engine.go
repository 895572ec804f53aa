package fetch

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Engine is a consumer. See the package comment.
type Engine struct {
	cfg       Config
	rand      *rand.Rand
	now       machine.Time // of the last call
	transfers map[ID]*transfer
	known     map[string]uint64 // by key and name: when its newest answer was signed, ms since 1970
	over      map[ID]Stats      // of transfers that ended and weren't cancelled
	lastID    ID
	alarms    agenda[*transfer]
	questions questions
	flows     flows
	limit     limit
	pendings  pendings
	events    []Event
	spare     [][]byte // chunk buffers

	pkt      wire.Packet // scratch
	data     wire.Data
	interest wire.Interest
	name     wire.Name
}

// maxSpare bounds the chunk buffers kept for reuse: 8 MB.
const maxSpare = 1024

// New returns an engine that fetches nothing yet.
func New(cfg Config) *Engine {
	cfg.MaxUnsettled = cmp.Or(cfg.MaxUnsettled, 1024)
	cfg.Window = cmp.Or(cfg.Window, initialWindow)
	cfg.Standing = cmp.Or(cfg.Standing, standing)
	cfg.Stall = cmp.Or(cfg.Stall, 30*machine.Second)
	return &Engine{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0x66657463)),
		transfers: make(map[ID]*transfer), over: make(map[ID]Stats), known: make(map[string]uint64), flows: flows{byDest: make(map[string]*flow), window: cfg.Window, standing: cfg.Standing, follows: cfg.Backpressure},
	}
}

// Backpressure tells whether the node's windows set the pace of flows.
func (e *Engine) Backpressure() bool { return e.flows.follows }

// Start begins to resolve a name. Events tell the rest.
func (e *Engine) Start(now machine.Time, r Request) ID {
	e.now = now
	e.lastID++
	t := &transfer{
		id: e.lastID, name: r.Name.Clone(), ahead: r.MaxAhead, manifest: r.Manifest, trust: r.Trust, stall: cmp.Or(r.Stall, e.cfg.Stall), heard: now,
		askAt: machine.Never,
	}
	e.transfers[t.id] = t
	if len(t.name) > maxName {
		e.fail(t, fmt.Errorf("%w: its name has %d bytes, and packets carry %d", ErrNotFound, len(t.name), maxName))
		return t.id
	}
	e.question(t)
	e.arm(t)
	return t.id
}

// Accept starts the transfer of a resolved object. Chunks for which claimed is true come back as Chunk events without
// Data, to be checked where they are; they are fetched only if that fails. claimed may be nil.
func (e *Engine) Accept(now machine.Time, id ID, claimed func(chunk int64) bool) {
	e.now = now
	if t := e.transfers[id]; t != nil && t.state == offered {
		t.heard = now
		t.accept(0, t.layout.Chunks(), claimed)
		e.proceed(t)
	}
}

// Settle answers a Chunk event: ok tells whether the chunk had the right hash and was stored. data is the event's Data
// (nil for a claimed chunk), which belongs to the engine again. It panics when the transfer lives and the chunk isn't
// handed out.
func (e *Engine) Settle(now machine.Time, id ID, chunk int64, data []byte, ok bool) {
	e.now = now
	e.recycle(data)
	if t := e.transfers[id]; t != nil {
		e.settle(now, t, chunk, ok)
	}
}

// Cancel ends a transfer without an event, and forgets its Stats; also of one that was over.
func (e *Engine) Cancel(now machine.Time, id ID) {
	e.now = now
	if t := e.transfers[id]; t != nil {
		e.end(t)
	}
	delete(e.over, id)
}

// Events appends what happened since the last call to dst.
func (e *Engine) Events(dst []Event) []Event {
	dst = append(dst, e.events...)
	clear(e.events)
	e.events = e.events[:0]
	return dst
}

// Stats returns the progress of a transfer, also of one that is over and wasn't cancelled; zero when it is unknown.
func (e *Engine) Stats(id ID) Stats {
	t := e.transfers[id]
	if t == nil {
		return e.over[id]
	}
	s := t.stats
	if f := t.flow; f != nil {
		s.Window, s.Rate, s.RTT, s.InFlight = f.window, f.ctrl.Rate(), f.rtt.mean(), f.inflight
	}
	return s
}

// Accepts tells that the engine always takes what comes for it: it asked for it.
func (e *Engine) Accepts() bool { return true }

// FaceUp implements machine.Machine; the engine's one face needs no set-up.
func (e *Engine) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (e *Engine) FaceDown(machine.Time, machine.FaceID) {}

// Advance ends transfers that stall and lets questions be asked again. What flows wait for is seen to in Transmit.
func (e *Engine) Advance(now machine.Time) {
	e.now = now
	for e.alarms.ready(now) {
		t := e.alarms.first()
		if t.stalled(now) {
			e.fail(t, cmp.Or(t.why, ErrTimeout))
			continue
		}
		if t.askAt <= now {
			e.question(t)
		}
		e.arm(t)
	}
}

// Deadline is the next moment at which something is due.
func (e *Engine) Deadline() machine.Time {
	if e.questions.ready() {
		return e.now
	}
	return min(e.alarms.at(), e.flows.agenda.at())
}

// Ready lists the face if something may be sent at the time of the last call.
func (e *Engine) Ready(dst []machine.FaceID) []machine.FaceID {
	if e.questions.ready() || e.flows.agenda.ready(e.now) {
		dst = append(dst, Face)
	}
	return dst
}

// arm sets when to look at t again. Progress only moves that moment away, so it doesn't come here: an alarm that rings
// too early is set again.
func (e *Engine) arm(t *transfer) {
	quiet := t.heard
	if t.waitsForApplication() {
		quiet = e.now
	}
	t.alarm = min(t.askAt, quiet+t.stall)
	e.alarms.put(t)
}

// fail ends a transfer with an event.
func (e *Engine) fail(t *transfer, err error) {
	e.end(t)
	e.events = append(e.events, Event{ID: t.id, Kind: Failed, Err: err})
}

// end forgets a transfer and everything on its way, but not its Stats.
func (e *Engine) end(t *transfer) {
	e.over[t.id] = e.Stats(t.id)
	e.abandon(t)
	e.answered(t)
	t.state = ended
	e.alarms.remove(t)
	delete(e.transfers, t.id)
	for t.backlog.len() > 0 {
		e.recycle(t.backlog.pop().data)
	}
	t.held = nil
}

// abandon takes a transfer out of its flow, with every Interest on its way.
func (e *Engine) abandon(t *transfer) {
	for i := 0; t.pending > 0; i++ {
		if p := e.pendings.slots[i]; p.t == t {
			e.release(p)
		}
	}
	if f := t.flow; f != nil {
		t.flow = nil
		e.flows.leave(e.now, f)
	}
}

// buffer returns an empty buffer for a chunk.
func (e *Engine) buffer() []byte {
	if n := len(e.spare); n > 0 {
		b := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return b
	}
	return make([]byte, 0, wire.ChunkSize)
}

func (e *Engine) recycle(b []byte) {
	if cap(b) >= wire.ChunkSize && len(e.spare) < maxSpare {
		e.spare = append(e.spare, b[:0])
	}
}
