package foreign

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"mars/cc"
	"mars/internal/machine"
	"mars/internal/wire"
)

// Face is the engine's only face.
const Face machine.FaceID = 1

// Errors with which a transfer fails.
var (
	ErrNotFound  = errors.New("foreign: the producer has no such object")
	ErrNoRoute   = errors.New("foreign: no node on the way knows a producer of that name")
	ErrTimeout   = errors.New("foreign: no answer")
	ErrIntegrity = errors.New("foreign: what came contradicts itself")
)

// ID names a transfer.
type ID uint32

// Request says what to fetch.
type Request struct {
	Name  wire.Name    // of an object, with or without version
	Stall machine.Time // without progress for this long it fails; 0: 30 s

	// With Coupled the transfer has a window for each of Faces of its node, of which there is at least one, as Coupled says, which must
	// be new, and made for segments of wire.ChunkSize. Else one window, and the node chooses faces.
	Coupled cc.Controller
	Faces   []machine.FaceID
}

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of Event.
const (
	Found   EventKind = iota + 1 // the segments' Name, up to their number, is known
	Segment                      // the next segment's Data, which belong to the application until Settle
	Done                         // the last segment was handed out
	Failed                       // the transfer ended with Err
)

// Event is something that the application must know or do.
type Event struct {
	ID   ID
	Kind EventKind
	Name wire.Name // Found
	Size int64     // Found: bytes of the object as the producer says; −1: it doesn't
	Data []byte    // Segment
	Err  error     // Failed
}

// Stats is the progress of one transfer.
type Stats struct {
	Bytes     int64  // handed out
	Received  int64  // bytes that came, in order or not
	Segments  int64  // of these
	Unsigned  int64  // of these, with a signature that wasn't looked at: anything but a digest
	Resent    uint64 // Interests sent again
	Corrupt   uint64 // segments that came with a wrong digest
	Marked    uint64 // segments that came with a congestion mark
	Decreases uint64 // of the window
	Window    float64
	RTT       machine.Time
	InFlight  int
}

// Config sets up an Engine.
type Config struct {
	Seed     uint64
	MaxAhead int // segments beyond the first one that isn't settled; 0: 1024
	Control  Control
}

// Control is how a consumer finds out about losses and congestion, and what it does then.
type Control uint8

const (
	// Cubic is a CUBIC window. Losses show by what overtakes them, by timeouts and by Nacks.
	Cubic Control = iota
	// PCON is what PCON's consumer does (Schneider et al., ICN 2016; docs/adr/0010): a BIC window that shrinks with every
	// mark, and once per window for timeouts. Paths of different length reorder, so that only a timeout is a loss. It
	// doesn't hear Nacks.
	PCON
)

// Engine is a consumer. See the package comment.
type Engine struct {
	cfg       Config
	rand      *rand.Rand
	now       machine.Time // of the last call
	transfers []*transfer  // oldest first
	over      map[ID]Stats // of transfers that ended and weren't cancelled
	turn      int
	limit     limit
	lastID    ID
	events    []Event
	spare     [][]byte

	pkt      wire.Packet // scratch
	data     wire.Data
	interest wire.Interest
	name     wire.Name
}

// New returns an engine that fetches nothing yet.
func New(cfg Config) *Engine {
	cfg.MaxAhead = cmp.Or(cfg.MaxAhead, 1024)
	return &Engine{cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0x706c61696e)), over: make(map[ID]Stats)}
}

// maxName bounds names, bytes: with what an Interest adds they must fit into a packet.
const maxName = wire.MaxPacket - 512

// Start begins to fetch an object. Events tell the rest.
func (e *Engine) Start(now machine.Time, r Request) ID {
	e.now = now
	e.lastID++
	t := newTransfer(now, e.lastID, r, e.cfg.MaxAhead, e.cfg.Control)
	e.transfers = append(e.transfers, t)
	last, ok := t.name.At(t.name.Len() - 1)
	switch {
	case !ok || len(t.name) > maxName:
		e.fail(t, ErrNotFound)
	case last.Type == wire.TypeVersion:
		e.found(t, t.name, -1)
	}
	return t.id
}

// Settle gives the Data of a Segment event back: the segment is stored.
func (e *Engine) Settle(now machine.Time, id ID, data []byte) {
	e.now = now
	if cap(data) > 0 && len(e.spare) < e.cfg.MaxAhead {
		e.spare = append(e.spare, data[:0])
	}
	if t := e.transfer(id); t != nil && t.settled < t.lowest {
		t.settled++
		t.heard = now
	}
}

// Cancel ends a transfer without an event, and forgets its Stats; also of one that was over.
func (e *Engine) Cancel(now machine.Time, id ID) {
	e.now = now
	if t := e.transfer(id); t != nil {
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
	t := e.transfer(id)
	if t == nil {
		return e.over[id]
	}
	return t.statistics()
}

func (t *transfer) statistics() Stats {
	s := t.stats
	s.Resent, s.Decreases = t.resent, t.decreases
	s.Window, s.InFlight, s.RTT = t.gauge()
	return s
}

func (e *Engine) transfer(id ID) *transfer {
	i, ok := slices.BinarySearchFunc(e.transfers, id, func(t *transfer, id ID) int { return cmp.Compare(t.id, id) })
	if !ok {
		return nil
	}
	return e.transfers[i]
}

func (e *Engine) fail(t *transfer, err error) {
	e.end(t)
	e.events = append(e.events, Event{ID: t.id, Kind: Failed, Err: err})
}

func (e *Engine) end(t *transfer) {
	t.state = ended
	e.over[t.id] = t.statistics()
	e.transfers = slices.DeleteFunc(e.transfers, func(o *transfer) bool { return o == t })
}

// Accepts tells that the engine always takes what comes for it: it asked for it.
func (e *Engine) Accepts() bool { return true }

// FaceUp implements machine.Machine; the engine's one face needs no set-up.
func (e *Engine) FaceUp(machine.Time, machine.FaceID, machine.Face) {}

// FaceDown implements machine.Machine.
func (e *Engine) FaceDown(machine.Time, machine.FaceID) {}

// Advance ends transfers that stall, and finds what is lost.
func (e *Engine) Advance(now machine.Time) {
	e.now = now
	for _, t := range slices.Clone(e.transfers) {
		t.detect(now)
		if t.stalled(now) {
			e.fail(t, ErrTimeout)
		}
	}
}

// Deadline is the next moment at which something is due.
func (e *Engine) Deadline() machine.Time {
	at := machine.Never
	for _, t := range e.transfers {
		at = min(at, e.due(t))
	}
	return at
}

// Ready lists the face if something may be sent at the time of the last call.
func (e *Engine) Ready(dst []machine.FaceID) []machine.FaceID {
	for _, t := range e.transfers {
		if e.sends(t, e.now) {
			return append(dst, Face)
		}
	}
	return dst
}

// Transmit writes the next Interest, the transfers taking turns.
func (e *Engine) Transmit(now machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	e.now = now
	for range e.transfers {
		e.turn = (e.turn + 1) % len(e.transfers)
		if t := e.transfers[e.turn]; e.sends(t, now) {
			return e.send(now, t, buf), machine.NotECT
		}
	}
	return 0, machine.NotECT
}

// tokenLen is the length of a PitToken: ndnd accepts no other (interop.md).
const tokenLen = 6

// send writes the next Interest of t into buf, which is large enough.
func (e *Engine) send(now machine.Time, t *transfer, buf []byte) int {
	const hops = 64
	var h wire.Packet
	i := wire.Interest{Nonce: e.rand.Uint32(), HasNonce: true, HopLimit: hops, HasHopLimit: true}
	if t.state == fetching {
		n, l := t.take(now, t.last)
		h.NextHop = uint64(l.face)
		e.limit.spend()
		e.name = append(e.name[:0], t.base...).AppendNumber(wire.TypeSegment, n)
	} else {
		t.ask(now, i.Nonce)
		i.CanBePrefix, i.MustBeFresh = true, true
		e.name = append(e.name[:0], t.name...)
		if t.state == metadata {
			e.name = e.name.AppendString(wire.TypeKeyword, wire.KeywordMetadata)
		}
	}
	i.Name = e.name
	var tok [tokenLen]byte
	binary.BigEndian.PutUint32(tok[:], uint32(t.id))
	h.PitToken = tok[:]
	return len(i.Append(h.AppendHeader(buf[:0], i.Len())))
}

// Receive handles a Data packet or a Nack.
func (e *Engine) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	e.now = now
	p := &e.pkt
	if p.Decode(datagram) != nil || p.Fragment == nil || p.FragCount > 1 || len(p.PitToken) != tokenLen {
		return
	}
	t := e.transfer(ID(binary.BigEndian.Uint32(p.PitToken)))
	switch {
	case t == nil:
	case p.Nack:
		if e.interest.Decode(p.Fragment) == nil {
			e.onNack(now, t, &e.interest, p.NackReason)
		}
	case e.data.Decode(p.Fragment) != nil || !e.data.Name.HasPrefix(t.name):
	case t.state == fetching:
		e.onSegment(now, t, &e.data, p.CongestionMark != 0)
	default:
		e.onAnswer(now, t, &e.data)
	}
}

// buffer returns a copy of b.
func (e *Engine) buffer(b []byte) []byte {
	var buf []byte
	if n := len(e.spare); n > 0 {
		buf, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		buf = make([]byte, 0, max(len(b), wire.ChunkSize))
	}
	return append(buf, b...)
}
