package fetch

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Face is the engine's only face.
const Face machine.FaceID = 1

// Errors with which a transfer fails.
var (
	ErrNotFound  = errors.New("fetch: the producer has no such object")
	ErrNoRoute   = errors.New("fetch: no node on the way knows a producer of that name")
	ErrTimeout   = errors.New("fetch: no answer")
	ErrChanged   = errors.New("fetch: the object changed while it was fetched")
	ErrIntegrity = errors.New("fetch: what came is not what the manifest says")
	ErrForeign   = errors.New("fetch: the producer offers no manifest to verify against")
)

// ID names a transfer.
type ID int

// Request says what to fetch.
type Request struct {
	Name wire.Name
	// MaxAhead bounds how far chunks are asked for beyond the lowest one not settled, in chunks; 0: not at all. It
	// bounds the memory of an application that needs them in order.
	MaxAhead int64
	// Stall is Config.Stall for this transfer; 0: the engine's.
	Stall machine.Time
}

// Object is what a name resolved to.
type Object struct {
	Name    wire.Name
	Version uint64
	Digest  wire.Digest // of the manifest
	Layout  wire.Layout
}

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of Event.
const (
	Resolved EventKind = iota + 1 // the version and layout are known; answer with Accept
	Chunk                         // hash Data and compare with Want; store; answer with Settle. Data nil: check the claimed chunk
	Done                          // every chunk is settled
	Failed                        // the transfer ended with Err
)

// Event is something that the application must know or do.
type Event struct {
	ID     ID
	Kind   EventKind
	Object Object      // Resolved
	Chunk  int64       // Chunk
	Want   wire.Digest // Chunk
	Data   []byte      // Chunk; belongs to the application until Settle
	Err    error       // Failed
}

// Stats is the progress of one transfer.
type Stats struct {
	Bytes    int64 // verified
	Resumed  int64 // of these, verified on disk rather than fetched
	Corrupt  int64 // chunks and segments with a wrong hash
	Resent   uint64
	Window   float64 // W, chunks
	Rate     float64 // R, bytes/s
	RTT      machine.Time
	InFlight int
}

// Config sets up an Engine.
type Config struct {
	Src          []byte // source forwarder's id, the src component of flow names
	Seed         uint64
	MaxUnsettled int          // chunks handed out and not settled, per transfer; 0: 1024
	Stall        machine.Time // a transfer without progress for this long fails with ErrTimeout; 0: 30 s
}

// Engine is a consumer. See the package comment.
type Engine struct {
	cfg       Config
	rand      *rand.Rand
	transfers map[ID]*transfer
	order     []*transfer
	nextID    ID
	flows     []*flow
	turn      int
	slots     []*pending
	free      []*pending
	events    []Event
	bufs      [][]byte
	now       machine.Time

	pkt     wire.Packet
	data    wire.Data
	scratch []byte
}

// New returns an engine that fetches nothing yet.
func New(cfg Config) *Engine {
	if cfg.MaxUnsettled == 0 {
		cfg.MaxUnsettled = 1024
	}
	if cfg.Stall == 0 {
		cfg.Stall = 30 * machine.Second
	}
	return &Engine{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0x66657463)), transfers: make(map[ID]*transfer),
	}
}

// Start begins to resolve a name. Events tell the rest.
func (e *Engine) Start(now machine.Time, r Request) ID {
	e.nextID++
	t := &transfer{id: e.nextID, name: r.Name.Clone(), ahead: r.MaxAhead, stall: cmp.Or(r.Stall, e.cfg.Stall), askAt: now, heard: now}
	e.transfers[t.id] = t
	e.order = append(e.order, t)
	e.now = now
	return t.id
}

// Accept starts the transfer of a resolved object. Chunks for which claimed is true come back as Chunk events without
// Data, to be checked where they are; they are fetched only if that fails. claimed may be nil.
func (e *Engine) Accept(now machine.Time, id ID, claimed func(chunk int64) bool) {
	e.now = now
	if t := e.transfers[id]; t != nil && t.state == offered {
		t.heard = now
		t.accept(claimed)
	}
}

// Settle answers a Chunk event: ok tells whether the chunk had the right hash and was stored. data is the event's Data
// (nil for a claimed chunk), which belongs to the engine again.
func (e *Engine) Settle(now machine.Time, id ID, chunk int64, data []byte, ok bool) {
	e.now = now
	if cap(data) >= wire.ChunkSize {
		e.bufs = append(e.bufs, data[:0])
	}
	if t := e.transfers[id]; t != nil {
		e.settle(now, t, chunk, ok, data == nil)
	}
}

// Cancel ends a transfer without an event, and forgets its Stats; also of one that was over.
func (e *Engine) Cancel(now machine.Time, id ID) {
	e.now = now
	if t := e.transfers[id]; t != nil {
		e.end(t)
		delete(e.transfers, id)
	}
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
		return Stats{}
	}
	s := t.stats
	if f := t.flow; f != nil {
		s.Window, s.Rate, s.RTT, s.InFlight = f.window, f.ctrl.Rate(), f.rtt.mean(), f.inflight
	}
	return s
}

// FaceUp implements machine.Machine; the engine's one face needs no set-up.
func (e *Engine) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (e *Engine) FaceDown(machine.Time, machine.FaceID) {}

// Receive handles Data or a Nack from the node.
func (e *Engine) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	e.now = now
	if e.pkt.Decode(datagram) != nil || e.pkt.Fragment == nil || e.pkt.FragCount > 1 {
		return
	}
	p := e.byToken(e.pkt.PitToken)
	if p == nil {
		return
	}
	if e.pkt.Nack {
		e.onNack(now, p)
		return
	}
	if e.data.Decode(e.pkt.Fragment) != nil || !e.expects(p, e.data.Name) {
		return
	}
	e.onData(now, p)
}

func (e *Engine) onData(now machine.Time, p *pending) {
	t, d := p.t, &e.data
	if p.kind == metadata {
		if !authentic(d) {
			return // corrupted on the way: the question is asked again
		}
		e.release(p)
		t.question = nil
		e.onMetadata(now, t)
		return
	}
	var fb *wire.Feedback
	if e.pkt.HasFeedback {
		fb = &e.pkt.Feedback
	}
	t.flow.onData(now, p, len(d.Wire), fb)
	it := item{p.kind, p.index}
	e.release(p)
	if d.ContentType == wire.ContentNack {
		e.onRefusal(now, t, it)
		return
	}
	t.heard = now
	if it.kind == segment {
		e.onSegment(now, t, it.index, d.Content)
		return
	}
	if t.isDone(it.index) {
		return
	}
	e.offer(t, held{index: it.index, data: append(e.buffer(), d.Content...)}, true)
}

// authentic checks the digest of a metadata packet: it tells a corrupted reply from a true one.
func authentic(d *wire.Data) bool {
	sum := sha256.Sum256(d.Signed)
	return d.SignatureType == wire.SignatureSHA256 && string(sum[:]) == string(d.SignatureValue)
}

func (e *Engine) onMetadata(now machine.Time, t *transfer) {
	t.heard = now
	if e.data.ContentType == wire.ContentNack {
		if string(e.data.Content) == "not found" {
			e.fail(now, t, ErrNotFound)
			return
		}
		t.asks = max(t.asks, 1)
		t.askAt = now + min(questionMin<<min(t.asks-1, 8), questionMax) // the producer is there, but busy
		return
	}
	var m wire.Metadata
	if m.Decode(e.data.Content) != nil || !m.HasMARS {
		e.fail(now, t, ErrForeign)
		return
	}
	v := binary.BigEndian.Uint64(m.Digest[:])
	if t.state == checking {
		if v != t.version {
			e.fail(now, t, ErrChanged)
			return
		}
		t.state = active
		return
	}
	layout := wire.Layout{Size: m.Size, ChunkSize: m.ChunkSize}
	if layout.Validate() != nil || !t.name.HasPrefix(m.Dest) {
		e.fail(now, t, ErrIntegrity)
		return
	}
	t.version, t.digest, t.layout, t.dest = v, m.Digest, layout, m.Dest.Clone()
	t.tree = wire.NewManifestReader(layout, m.Digest)
	rest := t.name[len(m.Dest):]
	t.prefix = wire.AppendTransmission(nil, t.dest, e.cfg.Src, rest).AppendNumber(wire.TypeVersion, v)
	t.manifest = wire.AppendTransmission(nil, t.dest, e.cfg.Src, rest).
		Append(wire.TypeKeyword, []byte(wire.KeywordManifest)).AppendNumber(wire.TypeVersion, v)
	t.state = listing
	e.join(now, t)
}

// join puts a transfer into the flow of its producer prefix.
func (e *Engine) join(now machine.Time, t *transfer) {
	for _, f := range e.flows {
		if f.dest.Equal(t.dest) {
			t.flow = f
		}
	}
	if t.flow == nil {
		t.flow = newFlow(now, t.dest)
		e.flows = append(e.flows, t.flow)
	}
	t.flow.transfers = append(t.flow.transfers, t)
}

// onRefusal handles a Data packet by which the producer says no.
func (e *Engine) onRefusal(now machine.Time, t *transfer, it item) {
	t.again = append(t.again, it)
	if it.kind == segment && it.index < t.layout.TopSegments() && t.state == listing {
		// The version vanished before the transfer began: look for the new one.
		e.abandon(t)
		t.again, t.topNext, t.state, t.askAt = nil, 0, resolving, now
		if t.rechecks++; t.rechecks > maxRechecks {
			e.fail(now, t, ErrChanged)
		}
		return
	}
	if t.state != active {
		return
	}
	if string(e.data.Content) == "read failed" {
		t.flow.tokens -= wire.ChunkSize // and asked for again, at the flow's pace
		return
	}
	if t.rechecks++; t.rechecks > maxRechecks {
		e.fail(now, t, ErrChanged)
		return
	}
	t.state, t.askAt, t.asks = checking, now, 0
}

func (e *Engine) onNack(now machine.Time, p *pending) {
	t := p.t
	if p.kind == metadata {
		e.release(p)
		t.question = nil
		if e.pkt.NackReason == wire.NackNoRoute {
			if t.refusals++; t.refusals >= maxRefusals {
				e.fail(now, t, ErrNoRoute)
				return
			}
		}
		t.askAt = max(t.askAt, now+questionMin)
		return
	}
	f := t.flow
	switch e.pkt.NackReason {
	case wire.NackCongestion: // back in after one pacing interval, and q = 1 (protocol.md §4)
		f.ctrl.OnCongestion(now)
		f.lose(p, now+f.interval())
	default:
		f.lose(p, now+questionMin)
	}
}

// Advance asks questions again, finds losses and ends transfers that stall.
func (e *Engine) Advance(now machine.Time) {
	e.now = now
	for _, f := range e.flows {
		f.detect(now)
	}
	for i := 0; i < len(e.order); i++ {
		t := e.order[i]
		if now-t.heard >= t.stall && t.state != offered && t.out == 0 {
			e.fail(now, t, ErrTimeout)
			i--
		}
	}
}

// Deadline is the next moment at which something is due.
func (e *Engine) Deadline() machine.Time {
	at := machine.Never
	for _, t := range e.order {
		if t.state == resolving || t.state == checking {
			at = min(at, t.askAt)
		}
		if t.state != offered && t.out == 0 {
			at = min(at, t.heard+t.stall)
		}
	}
	for _, f := range e.flows {
		at = min(at, f.lossDeadline(e.now), e.sendTime(f))
	}
	return at
}

// sendTime is when flow f can send something; Never: not before something arrives.
func (e *Engine) sendTime(f *flow) machine.Time {
	at := machine.Never
	for _, p := range f.lost {
		at = min(at, p.notBefore)
	}
	if float64(f.inflight) < f.window && e.find(f, false) != nil {
		at = min(at, e.now)
	}
	if at == machine.Never {
		return at
	}
	if ok, later := f.affords(e.now); !ok {
		at = max(at, later)
	}
	return at
}

// find returns the next transfer of f that wants something, in turn.
func (e *Engine) find(f *flow, take bool) *transfer {
	for i := range f.transfers {
		t := f.transfers[(f.turn+i)%len(f.transfers)]
		if t.out >= e.cfg.MaxUnsettled {
			continue
		}
		e.skipClaimed(t)
		if _, ok := t.next(false); ok {
			if take {
				f.turn = (f.turn + i + 1) % len(f.transfers)
			}
			return t
		}
	}
	return nil
}

// Ready lists the face if something can be sent at the time of the last call.
func (e *Engine) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, t := range e.order {
		if (t.state == resolving || t.state == checking) && t.askAt <= e.now {
			return append(dst, Face)
		}
	}
	for _, f := range e.flows {
		if e.sendTime(f) <= e.now {
			return append(dst, Face)
		}
	}
	return dst
}

// Transmit writes the next Interest: a question that is due, a retransmission, or a new one if rate and window allow.
func (e *Engine) Transmit(now machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	e.now = now
	if len(buf) < wire.MaxPacket {
		return -wire.MaxPacket, machine.NotECT
	}
	for _, t := range e.order {
		if (t.state == resolving || t.state == checking) && t.askAt <= now {
			return e.ask(now, t, buf), machine.NotECT
		}
	}
	for i := range e.flows {
		f := e.flows[(e.turn+i)%len(e.flows)]
		if ok, _ := f.affords(now); !ok {
			continue
		}
		if p := e.pick(now, f); p != nil {
			e.turn = (e.turn + i + 1) % len(e.flows)
			return e.send(now, f, p, buf), machine.NotECT
		}
	}
	return 0, machine.NotECT
}

// pick takes the next Interest of f: retransmissions are paced like new ones but don't wait for the window (§III-E).
func (e *Engine) pick(now machine.Time, f *flow) *pending {
	if p, _ := f.due(now); p != nil {
		p.lost = false
		p.t.stats.Resent++
		return p
	}
	if float64(f.inflight) >= f.window {
		return nil
	}
	t := e.find(f, true)
	if t == nil {
		return nil
	}
	it, _ := t.next(true)
	return e.pend(t, it)
}

func (e *Engine) send(now machine.Time, f *flow, p *pending, buf []byte) int {
	p.tries++
	p.sent = now
	f.link(p)
	size := wire.ChunkSize
	if p.kind == chunk {
		size = p.t.layout.ChunkLen(p.index)
	}
	f.tokens -= float64(size)
	e.scratch = append(e.scratch[:0], e.prefixOf(p)...)
	name := wire.Name(e.scratch).AppendNumber(wire.TypeSegment, uint64(p.index))
	e.scratch = name
	return e.encode(p, wire.Interest{Name: name}, uint64(size), buf)
}

// ask sends a metadata Interest. A later one replaces an earlier one that wasn't answered.
func (e *Engine) ask(now machine.Time, t *transfer, buf []byte) int {
	if t.question == nil {
		t.question = e.pend(t, item{kind: metadata})
	}
	t.askAt = now + min(questionMin<<min(t.asks, 8), questionMax)
	t.asks++
	name := t.name.Clone().Append(wire.TypeKeyword, []byte(wire.KeywordMetadata))
	return e.encode(t.question, wire.Interest{Name: name, CanBePrefix: true, MustBeFresh: true}, 0, buf)
}

func (e *Engine) encode(p *pending, i wire.Interest, size uint64, buf []byte) int {
	const hops = 64
	i.Nonce, i.HasNonce, i.HopLimit, i.HasHopLimit = e.rand.Uint32(), true, hops, true
	var tok [6]byte
	binary.BigEndian.PutUint32(tok[:], p.slot)
	binary.BigEndian.PutUint16(tok[4:], p.gen)
	h := wire.Packet{PitToken: tok[:], SizeHint: size}
	n := i.Len()
	return len(i.Append(h.AppendHeader(buf[:0], n)))
}

func (e *Engine) prefixOf(p *pending) wire.Name {
	if p.kind == segment {
		return p.t.manifest
	}
	return p.t.prefix
}

// expects tells whether a Data packet with this name answers p.
func (e *Engine) expects(p *pending, name wire.Name) bool {
	if p.kind == metadata {
		c, ok := name.At(p.t.name.Len())
		return ok && name.HasPrefix(p.t.name) && c.Type == wire.TypeKeyword && string(c.Value) == wire.KeywordMetadata
	}
	prefix := e.prefixOf(p)
	if !name.HasPrefix(prefix) {
		return false
	}
	c, rest, ok := name[len(prefix):].Next()
	n, number := c.Number()
	return ok && number && len(rest) == 0 && c.Type == wire.TypeSegment && n == uint64(p.index)
}

// pend takes a slot for an Interest.
func (e *Engine) pend(t *transfer, it item) *pending {
	var p *pending
	if n := len(e.free); n > 0 {
		p, e.free = e.free[n-1], e.free[:n-1]
	} else {
		p = &pending{slot: uint32(len(e.slots))}
		e.slots = append(e.slots, p)
	}
	*p = pending{slot: p.slot, gen: p.gen + 1, live: true, t: t, kind: it.kind, index: it.index}
	return p
}

func (e *Engine) release(p *pending) {
	p.live, p.t = false, nil
	e.free = append(e.free, p)
}

func (e *Engine) byToken(tok []byte) *pending {
	if len(tok) != 6 {
		return nil
	}
	slot := binary.BigEndian.Uint32(tok)
	if uint64(slot) >= uint64(len(e.slots)) {
		return nil
	}
	p := e.slots[slot]
	if !p.live || p.gen != binary.BigEndian.Uint16(tok[4:]) {
		return nil
	}
	return p
}

func (e *Engine) buffer() []byte {
	if n := len(e.bufs); n > 0 {
		b := e.bufs[n-1]
		e.bufs = e.bufs[:n-1]
		return b
	}
	return make([]byte, 0, wire.ChunkSize)
}

func (e *Engine) fail(_ machine.Time, t *transfer, err error) {
	if t.state == ended {
		return
	}
	e.end(t)
	e.events = append(e.events, Event{ID: t.id, Kind: Failed, Err: err})
}

// end forgets everything of a transfer but its Stats.
func (e *Engine) end(t *transfer) {
	if t.state == ended {
		return
	}
	t.state = ended
	e.abandon(t)
	t.tree, t.done, t.leaf, t.left, t.again, t.holding, t.claimed = nil, nil, nil, nil, nil, nil, nil
	e.order = slices.DeleteFunc(e.order, func(o *transfer) bool { return o == t })
}

// abandon takes a transfer out of its flow, with every Interest on its way.
func (e *Engine) abandon(t *transfer) {
	for _, p := range e.slots {
		if !p.live || p.t != t {
			continue
		}
		switch {
		case p.kind == metadata:
		case p.lost:
			t.flow.dropLost(p)
		default:
			t.flow.unlink(p)
		}
		e.release(p)
	}
	t.question = nil
	if f := t.flow; f != nil {
		f.transfers = slices.DeleteFunc(f.transfers, func(o *transfer) bool { return o == t })
		f.turn = 0
		t.flow = nil
	}
}

// Accepts tells that the engine always takes what comes for it: it asked for it.
func (e *Engine) Accepts() bool { return true }
