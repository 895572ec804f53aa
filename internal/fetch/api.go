package fetch

import (
	"errors"

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
	ErrBusy      = errors.New("fetch: the producer answers that it is busy, and has done nothing else for long")
	ErrChanged   = errors.New("fetch: the object changed while it was fetched")
	ErrIntegrity = errors.New("fetch: what came is not what the manifest says")
	ErrForeign   = errors.New("fetch: the producer offers no manifest to verify against")
	ErrUntrusted = errors.New("fetch: whoever answers for the object isn't trusted")
	ErrForged    = errors.New("fetch: what answers for the object has a wrong signature, or none")
	ErrStale     = errors.New("fetch: what answers for the object was signed before what is known of it already")
	ErrTooLarge  = errors.New("fetch: the object has more than 262 million chunks")
)

// ID names a transfer.
type ID int

// Request says what to fetch.
type Request struct {
	Name wire.Name
	// MaxAhead bounds how far chunks are asked for beyond the lowest one not settled, in chunks; 0: not at all. It
	// bounds the memory of an application that needs them in order.
	MaxAhead int64
	// Manifest: the manifest is fetched even when its digests came with the metadata, so that the flow has an Interest.
	Manifest bool
	// Stall is Config.Stall for this transfer; 0: the engine's.
	Stall machine.Time
	// Trust says who may answer for the object; nil: everybody, and nobody need sign.
	Trust Trust
}

// Object is what a name resolved to.
type Object struct {
	Name    wire.Name
	Version uint64
	Digest  wire.Digest // of the manifest
	Layout  wire.Layout
	Author  wire.Author // who signed; zero: nobody
	MTime   int64       // ns since 1970, of the file's last change, as its producer says: nothing verifies it; 0: not known
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
	Bytes   int64  // verified
	Resumed int64  // of these, verified on disk rather than fetched
	Corrupt int64  // chunks and segments that came with a wrong hash
	Resent  uint64 // Interests for chunks and segments sent again

	// Of the flow, which the transfer shares with others from the same producer prefix.
	Window   float64      // W, chunks
	Rate     float64      // R, bytes/s
	RTT      machine.Time // mean of the last round trips
	InFlight int          // Interests
}

// Config sets up an Engine.
type Config struct {
	Src          []byte // source forwarder's id, the src component of flow names
	Seed         uint64
	MaxUnsettled int          // chunks handed out and not settled, per transfer; 0: 1024
	Window       float64      // first W of a flow, chunks; 0: 256
	Standing     machine.Time // what a flow may have in flight, as time of delivery; 0: 250 ms (ADR 0011)
	// Backpressure: the node's windows set the pace, and a flow keeps its Interest queue there filled. Otherwise Algorithm 1 does.
	Backpressure bool
	Stall        machine.Time // a transfer without progress for this long fails with ErrTimeout; 0: 30 s
}
