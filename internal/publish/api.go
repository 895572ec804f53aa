package publish

import (
	"errors"

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
	CodeBusy     = "busy" // the object is being hashed, or the disk is slow: ask again
)

// Object is one published version of a named object. Once it was given to Resolved it belongs to the engine.
type Object struct {
	Name     wire.Name // full name, Dest included, without version
	Dest     wire.Name // producer prefix
	Manifest *wire.Manifest
	MTime    int64 // ns since 1970, of the last change; 0: not known
	Handle   any   // the application's own

	used machine.Time
	seal seal
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
	Object *Object   // Read: Resolved may give it another Handle while the request is under way
	Chunk  int64
}

// Config sets up an Engine.
type Config struct {
	Prefix wire.Name // objects served are below it; it is also their producer prefix (dest)
	// MaxPending is how many chunks the application is asked for at once; 0: 256. Reads that take longer than an Interest
	// lives don't count, but at most twice as many Requests for chunks are ever under way.
	MaxPending int
	Freshness  uint64 // of metadata, ms; 0: 1000
	// Signer signs metadata and the refusals of it; nil: they carry a digest, which says that they came whole.
	Signer *Signer
}

// Counters counts what an Engine did.
type Counters struct {
	Interests, Malformed uint64 // received
	Data                 uint64 // answers: metadata, manifest segments and chunks
	Nacks                uint64 // refusals, of either form
	Expired              uint64 // Interests that waited in vain
	ContentBytes         uint64 // of chunks
}
