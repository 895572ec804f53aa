package endpoint

import (
	"errors"
	"fmt"
	"strings"

	"mars/cc"
	"mars/internal/machine"
)

// Protocol is a transport protocol.
type Protocol uint8

// The protocols.
const (
	TCP Protocol = iota
	MPTCP
	MPQUIC
)

// Overhead is the bytes that the driver adds to each datagram: an IPv4 header, and UDP's for MPQUIC.
func (p Protocol) Overhead() int {
	if p == MPQUIC {
		return 28
	}
	return 20
}

// Scheduler chooses the path that new data takes.
type Scheduler uint8

// The schedulers.
const (
	MinRTT     Scheduler = iota // the least round-trip time among the paths whose window has room
	RoundRobin                  // the paths whose window has room in turn
	Mainline                    // MPTCP only: the least time to drain what is queued, queued bytes ÷ pacing rate (Linux mainline)
)

var schedulers = [...]string{"minrtt", "roundrobin", "mainline"}

func (s Scheduler) String() string { return schedulers[s] }

// LookupScheduler finds a scheduler by name. The error lists what there is.
func LookupScheduler(name string) (Scheduler, error) {
	for i, n := range schedulers {
		if n == name {
			return Scheduler(i), nil
		}
	}
	return 0, fmt.Errorf("no scheduler %q: use one of %s", name, strings.Join(schedulers[:], ", "))
}

// Transport says how connections are made: what a study varies.
type Transport struct {
	Protocol  Protocol
	Control   cc.Algorithm // of cc.Algorithms
	Scheduler Scheduler
	ECN       bool // packets are ECN-capable, and marks count
	Pace      bool // packets leave at the controller's pacing rate, not in bursts of a window's room
	Buffer    int  // receive buffer of a connection, bytes; 0: DefaultBuffer
	// Dilation is how many times slower the world runs than the kernel whose TCP this is, as in the lab: the kernel's own times (least
	// timeout, delayed acknowledgements, probes, SYNs) are shorter by it. 0: 1.
	Dilation float64
	// Assignment gives each path of MPQUIC its controller as mp-quic did, instead of Control (quic*.go).
	Assignment bool
}

// NewTransport is a protocol as people have it who name only what they want: without a congestion control it is CUBIC, or for MPQUIC
// what mp-quic had; without a scheduler Linux' own for MPTCP, and the lowest round-trip time for others. The errors list what there is.
func NewTransport(p Protocol, control, scheduler string) (*Transport, error) {
	t := &Transport{Protocol: p, Assignment: p == MPQUIC && control == ""}
	if control == "" {
		control = "cubic"
	}
	if scheduler == "" {
		scheduler = MinRTT.String()
		if p == MPTCP {
			scheduler = Mainline.String()
		}
	}
	var err error
	if t.Control, err = cc.Lookup(control); err != nil {
		return nil, err
	}
	if t.Scheduler, err = LookupScheduler(scheduler); err != nil {
		return nil, err
	}
	t.Pace = control == "bbr" || p == MPQUIC && !t.Assignment // RFC 9002 §7.7 wants it; mp-quic had none
	return t, nil
}

// DefaultBuffer is the receive buffer of a connection, bytes: what Linux grows one to (net.ipv4.tcp_rmem).
const DefaultBuffer = 6 << 20

// ID names a transfer of a Host that fetches: 1, 2, 3 … in the order of Fetch.
type ID int

// Request asks for an object over some faces; the first opens the connection.
type Request struct {
	Object    uint64
	Faces     []machine.FaceID
	Transport *Transport
}

// Event tells what has become of a transfer. Bytes count when they can be read, in order.
type Event struct {
	ID    ID
	Bytes int64 // more that have come
	Done  bool  // the whole object is there
	Err   error // the transfer has failed
}

// Why transfers fail.
var (
	ErrReset   = errors.New("the peer has reset the connection")
	ErrTimeout = errors.New("the peer doesn't answer")
	ErrContent = errors.New("the wrong bytes came")
)

// Stats are the figures of one connection at one end.
type Stats struct {
	Paths    int   // established
	Segments int64 // packets with data that were sent for the first time
	Resent   int64 // and again
	Lost     int64 // packets taken for lost
	Spurious int64 // reactions to loss that were taken back
	Timeouts int64
	Marked   int64 // acknowledgements that told of marks
	PerPath  []PathStats
}

// PathStats are the figures of one path at one end.
type PathStats struct {
	Window   int // bytes
	InFlight int // bytes
	RTT      machine.Time
	Sent     int64 // bytes of data sent by it, repeated ones included
	Received int64 // and received
	Lost     int64 // packets taken for lost
}

// transfer is the application's end of a connection, whatever the protocol: what comes in order is told to it.
type transfer struct {
	host    *Host
	id      ID // 0: at the producer
	object  uint64
	bytes   int64 // in order, not told yet
	done    bool
	err     error
	changed bool // it is in host.changed
	told    bool // its end is
}

// got records n more bytes in order.
func (t *transfer) got(n int) {
	t.bytes += int64(n)
	t.change()
}

// finish records that all is there.
func (t *transfer) finish() {
	t.done = true
	t.change()
}

// fail ends the transfer; only the first reason counts.
func (t *transfer) fail(err error) {
	if t.err == nil && !t.done {
		t.err = err
		t.change()
	}
}

// change has the Host tell about it. What happens at a producer isn't told.
func (t *transfer) change() {
	if t.id != 0 && !t.changed {
		t.changed = true
		t.host.changed = append(t.host.changed, t)
	}
}

// Eventful tells whether Events has any.
func (h *Host) Eventful() bool { return len(h.changed) > 0 }

// Events appends what has happened since the last call.
func (h *Host) Events(dst []Event) []Event {
	for i, t := range h.changed {
		if !t.told {
			dst = append(dst, Event{t.id, t.bytes, t.done, t.err})
		}
		t.told = t.done || t.err != nil
		t.bytes, t.changed = 0, false
		h.changed[i] = nil
	}
	h.changed = h.changed[:0]
	return dst
}
