// Package publish is the producer engine: it answers Interests for objects, their manifests and their metadata.
//
// It is a machine.Machine with one face, to the node it is attached to, and it owns no file: what it needs from the
// application (which version of an object is current, the bytes of a chunk) it asks for through Requests and gets through
// Resolved and Read, so that a slow disk never stops the node.
//
// An Interest is an inquiry until it is answered:
//
//	            version known, manifest or nonsense
//	Receive ──┬──────────────────────────────────────────────────────┬──► replies ──► Transmit
//	          │ version unknown              Resolved                │ Read
//	          ├───────────────► waits for its resolve ──┐            │
//	          │ chunk                                   ▼            │
//	          └─────────────────────────────► waits for the bytes ───┘
//
// One that waits longer than the Interest lives is not answered any more.
package publish
