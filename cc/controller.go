package cc

import "mars/internal/machine"

// Time is nanoseconds since any fixed moment; what calls a controller passes it in.
type Time = machine.Time

// Subflow names one subflow of a connection's Controller. A number is used again after RemoveSubflow.
type Subflow int

// Controller is the congestion control of one connection with one or more subflows: of an MPTCP or MPQUIC connection, or of
// a consumer with one window per face.
//
// Times must not decrease. The controller keeps the smoothed round-trip times and tells one congestion event from the next, so
// that a subflow's window falls at most once per round trip (RFC 6582, "recover"); the caller reports what it sees. A Subflow
// that doesn't exist is ignored, and has no window. A Controller isn't safe for concurrent use; its methods allocate
// nothing, except AddSubflow.
type Controller interface {
	// AddSubflow starts a subflow in slow start, with the initial window of RFC 6928.
	AddSubflow(now Time) Subflow
	// RemoveSubflow forgets a subflow; its siblings' coupling goes on without it.
	RemoveSubflow(now Time, s Subflow)
	// OnAck records that data arrived.
	OnAck(now Time, s Subflow, a Ack)
	// OnLoss records that data is lost, by whatever detection the transport has.
	OnLoss(now Time, s Subflow, l Loss)
	// OnTimeout records a retransmission timeout: nothing at all came (RFC 5681 §3.1).
	OnTimeout(now Time, s Subflow)
	// OnUndo takes the last reaction to a loss or timeout back, which reordering or a late acknowledgement had feigned (RFC 4015,
	// RFC 9438 §4.9).
	OnUndo(now Time, s Subflow)
	// Cwnd returns how many bytes the subflow may have in flight: at least one segment.
	Cwnd(s Subflow) int
	// PacingRate returns the bytes per second at which the subflow should send; 0: not known yet, send without pacing.
	PacingRate(s Subflow) float64
}

// Sharer is a Controller that detects which subflows share a bottleneck.
type Sharer interface {
	// Shared tells whether two subflows count as sharing a bottleneck now.
	Shared(a, b Subflow) bool
	// Verdicts returns how often the question has been decided, whatever came out.
	Verdicts() uint64
}

// Ack is what one acknowledgement tells. Only Bytes and Sent are needed by all; what is not known stays 0.
type Ack struct {
	Bytes  int  // newly acknowledged
	Marked int  // of them, bytes that were marked CE (RFC 3168); with TCP's ECE: all
	Sent   Time // when the newest of them was sent
	RTT    Time // sample of the round-trip time, acknowledgement delay taken off; 0: none (Karn's algorithm)
	Delay  Time // one-way delay against any fixed offset, for the detection of shared bottlenecks; 0: not measured

	InFlight   int     // bytes sent and not acknowledged, after this (BBR)
	Rate       float64 // sample of the delivery rate, bytes per second; 0: BBR makes its own, once per round trip
	AppLimited bool    // something else than the window limited what was sent: then the window doesn't grow
}

// Loss is what is lost.
type Loss struct {
	Bytes    int  // lost, found at once
	Sent     Time // when the newest of them was sent
	InFlight int  // bytes sent and not acknowledged, the lost ones included; 0: the window's worth
}

const (
	// floorPackets is the least window after a loss and leastPackets the least of all, after a timeout (RFC 5681 §3.1).
	floorPackets = 2
	leastPackets = 1
	mostPackets  = cubicMost
	// initialPackets and initialBytes give the initial window (RFC 6928 §2): min(10·MSS, max(2·MSS, 14600)).
	initialPackets = 10
	initialBytes   = 14600
)

// initial returns the initial window in packets.
func initial(mss int) float64 {
	return min(initialPackets, max(2, float64(initialBytes)/float64(mss)))
}
