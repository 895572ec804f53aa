// Package endpoint holds the transports that MARS is compared with: TCP, MPTCP and MPQUIC, as Machines with real header
// bytes. They run over plain IP routers.
//
// A Host is the Machine of one computer. Its faces are 4-tuples: a local address and a peer's, and so each is one path of one
// connection. The driver adds IP headers (and UDP's, for MPQUIC): Protocol.Overhead. A consumer's Host is told to Fetch an
// object over some of its faces; a producer's Listens on its own and knows how long the object of a number is.
//
// Content isn't carried. A piece of an object begins with its offset in the object, so that a receiver can tell that it got
// the piece it should; the rest of it is whatever the buffer held.
package endpoint
