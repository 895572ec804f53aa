// Package fetch is the consumer engine: it resolves a name to a version, fetches its manifest and chunks with Interests,
// and recovers what is lost (MARS paper §III-C "Consumer Congestion Control", §III-E; protocol.md §6.1, §8).
//
// It is a machine.Machine with one face, to the node it is attached to, and it owns no file: whole chunks come out as
// Events together with the digest that they must have; the application hashes and stores them on its own time and
// answers with Settle. Nothing counts as delivered before that.
//
// All transfers from one producer prefix share a flow: one rate, one window, one loss detector.
package fetch
