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

// Protector seals the datagrams of one face before they leave and opens what arrives. It stands between the driver
// and the Machine, since it decides framing and demultiplexing.
type Protector interface {
	// Overhead is the number of bytes that Seal adds to each datagram.
	Overhead() int
	// Seal appends the protected form of plain to dst.
	Seal(dst, plain []byte) []byte
	// Open appends the plain form of sealed to dst, or fails; a datagram that fails is dropped and counted.
	Open(dst, sealed []byte) ([]byte, error)
}

// Null is the Protector that protects nothing: plain faces.
type Null struct{}

// Overhead returns 0.
func (Null) Overhead() int { return 0 }

// Seal appends plain unchanged.
func (Null) Seal(dst, plain []byte) []byte { return append(dst, plain...) }

// Open appends sealed unchanged.
func (Null) Open(dst, sealed []byte) ([]byte, error) { return append(dst, sealed...), nil }
