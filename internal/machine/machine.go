// Package machine is the contract between protocol code and whatever drives it: a UDP driver,
// a simulated world or a test.
//
// Protocol code is sans-I/O: time, randomness and packets are passed in. A Machine owns no socket,
// goroutine, channel or clock, and it is never called concurrently. After any Receive, Advance or
// application call the driver drains Ready and Transmit, then reads Deadline.
package machine

import "math"

// Time is nanoseconds since the driver started (or since the simulated world began).
type Time int64

// Durations in units of Time.
const (
	Microsecond Time = 1_000
	Millisecond Time = 1_000_000
	Second      Time = 1_000_000_000

	// Never is later than every moment: an unarmed deadline.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// FaceID names one face of a Machine. The driver (or whoever composes Machines) assigns it; it is never
// reused while the Machine lives. 0 is no face.
type FaceID uint32

// ECN is the two-bit ECN codepoint of an IP packet (RFC 3168).
type ECN uint8

// The ECN codepoints.
const (
	NotECT ECN = 0
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3
)

// Face describes a face when it comes up. The peer's address stays in the driver.
type Face struct {
	MTU       int     // largest datagram that the face carries, bytes, before protection overhead is added
	Rate      float64 // drain rate in datagram bytes per second; 0: not limited
	DataQueue int     // capacity of the Data queue in packets; 0: the default
	Local     bool    // the peer is an application on this node, not another node
	Node      bool    // Local, seen from the application: the peer is the node of this host
	Uplink    int     // faces with the same one, which isn't 0, leave by one local address, and what is in flight on them is bounded together
	OnDemand  bool    // the peer made it: once down it never comes back, and nothing about it need be kept
}

// Machine is protocol code as seen by its driver.
//
// Drain rate and pacing live in the Machine: Ready lists only faces whose credit allows a packet now, and the
// driver adds nothing but socket writability.
type Machine interface {
	// FaceUp tells that a face exists (or has come back) and what it can carry.
	FaceUp(now Time, face FaceID, f Face)
	// FaceDown tells that a face is gone; packets bound to it are re-routed or dropped by the Machine.
	FaceDown(now Time, face FaceID)
	// Receive handles one datagram; it must not keep the slice.
	Receive(now Time, face FaceID, ecn ECN, datagram []byte)
	// Advance fires the timers due by now.
	Advance(now Time)
	// Transmit writes the next datagram of face into buf and returns its length. 0: nothing to send now.
	// −n: the next datagram needs n bytes, buf is too small, and the datagram is kept.
	Transmit(now Time, face FaceID, buf []byte) (n int, ecn ECN)
	// Ready appends the faces that may send now to dst, in a fixed order.
	Ready(dst []FaceID) []FaceID
	// Deadline is the next moment at which Advance has something to do; Never if unarmed.
	Deadline() Time
}

// Guard protects faces: it seals the datagrams that leave and opens those that arrive, and shakes hands with peers before
// that. It stands between the driver and the Machine, since it decides framing and which datagram is of which face. Like
// a Machine it is sans-I/O and never called concurrently.
type Guard interface {
	// Dial begins to protect a face toward the holder of a public key. Receive tells when it is up.
	Dial(now Time, face FaceID, key [32]byte) error
	// Close ends the protection of a face.
	Close(face FaceID)
	// Closed appends the faces that the Guard itself has ended since the last call.
	Closed(dst []FaceID) []FaceID
	// Owns tells whether a datagram has the looks of a protected one; plain packets never have.
	Owns(datagram []byte) bool
	// Receive handles one datagram from the wire. source is the address that it came from, in any form that is the same
	// every time; what the datagram carries is appended to dst. The result is valid until the next call.
	Receive(now Time, source, datagram, dst []byte) Arrival
	// Seal appends the protected form of plain to dst, and nothing when there are no keys. It may write into the
	// capacity of plain.
	Seal(now Time, face FaceID, dst, plain []byte) []byte
	// Overhead is by how many bytes Seal makes a datagram longer.
	Overhead() int
	// Transmit writes the Guard's next own datagram into buf, of at least 1,200 bytes, and tells by which face it is to
	// leave. 0: there is none.
	Transmit(now Time, buf []byte) (face FaceID, n int)
	// Advance fires the timers due by now, and Deadline is when the next one is due.
	Advance(now Time)
	Deadline() Time
}

// Arrival is what became of a datagram that a Guard received.
type Arrival struct {
	Face   FaceID // whose it is; 0: nobody's
	Plain  []byte // for the Machine; nil: it was for the Guard alone, or was dropped
	Reply  []byte // to be sent back to where it came from; nil: nothing
	Up     bool   // the face is up from now on
	Newest bool   // nothing newer has come by the face: where it came from is where the peer is
}
