// Package status is what a node tells about itself: the dataset that it answers with over its socket and by HTTP, of transfers, and what
// a doctor reads in both. Rates are in bytes per second, times in seconds, shares and occupancies from 0 to 1.
package status

import (
	"strconv"
	"time"
)

// Version is the schema_version of Node and Transfer. It changes when programs that read them must change; fields may be added without.
const Version = 1

// Node is all that a node tells at one moment.
type Node struct {
	SchemaVersion int       `json:"schema_version"`
	Time          time.Time `json:"time"`
	Version       string    `json:"version,omitempty"` // of the program
	ID            string    `json:"node"`              // identifier in routing, 16 hexadecimal digits
	Name          string    `json:"name,omitempty"`    // in the configuration
	Key           string    `json:"key,omitempty"`     // public half
	Role          string    `json:"role"`              // leaf, relay
	Uptime        float64   `json:"uptime_seconds"`
	Ready         bool      `json:"ready"` // it listens, or a face is up
	Listening     []string  `json:"listening"`
	Busy          float64   `json:"busy_ratio"` // of the time lately that its loop worked
	Applications  int       `json:"applications"`
	Pending       int       `json:"pending_interests"`
	Routes        int       `json:"routes"`
	FlowCount     int       `json:"flow_count"` // of all that are remembered

	Faces    []Face            `json:"faces"`              // to other nodes, in the order of their numbers
	Flows    []Flow            `json:"flows"`              // those used in the last half minute, 256 at most
	Dropped  map[string]uint64 `json:"dropped"`            // packets so far, by reason
	Rejected uint64            `json:"rejected_datagrams"` // of peers that aren't welcome
}

// The states of a face.
const (
	Up        = "up"
	Suspended = "suspended" // silent though it owes answers: probed until it answers
	Handshake = "handshake" // its peer hasn't answered the handshake
	Failing   = "failing"   // the system can't send by it
	Down      = "down"
)

// Face is one face to another node.
type Face struct {
	ID        uint32 `json:"face"`
	Name      string `json:"name"`  // in the configuration; of neighbours that dialled: ""
	Peer      string `json:"peer"`  // address
	Local     string `json:"local"` // address
	Node      string `json:"peer_node,omitempty"`
	Dialled   bool   `json:"dialled"` // by us
	Encrypted bool   `json:"encrypted"`
	// Way is "direct" where the neighbour itself serves something, "relay:<n>" where n relays are on the shortest way to what lies
	// behind it, and "" where nothing is known to.
	Way   string `json:"way"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"` // it is idle, or isn't up

	RTT      float64 `json:"rtt_seconds"` // smoothed; 0: not known
	LeastRTT float64 `json:"least_rtt_seconds"`
	In       float64 `json:"in_bytes_per_second"` // lately, as datagrams
	Out      float64 `json:"out_bytes_per_second"`
	Loss     float64 `json:"loss_ratio"` // of the requests that left by it in the last ten seconds, asked for again or given up
	Queue    int     `json:"queue_packets"`
	Capacity int     `json:"queue_capacity_packets"`
	// PeerData and PeerAsks are how full the peer says that its queues are: of Data toward here, and of requests that it has for others.
	PeerData float64 `json:"peer_data_queue_ratio"`
	PeerAsks float64 `json:"peer_interest_queue_ratio"`
	Allowed  float64 `json:"allowed_bytes_per_second"` // that congestion control lets it be asked for
	Cap      float64 `json:"cap_bytes_per_second"`     // configured, toward the peer; 0: none
	Waiting  int     `json:"outstanding_interests"`

	Changed   float64 `json:"seconds_since_change"` // of its state
	Heard     float64 `json:"seconds_since_heard"`  // −1: never
	MTU       int     `json:"mtu_bytes"`
	InBytes   uint64  `json:"in_bytes"`
	OutBytes  uint64  `json:"out_bytes"`
	Content   uint64  `json:"content_bytes"` // that came by it
	Sent      uint64  `json:"sent_interests"`
	Missed    uint64  `json:"missed_interests"`
	Drops     uint64  `json:"dropped_packets"`
	Errors    uint64  `json:"send_errors"`
	Oversized uint64  `json:"oversized_datagrams"`
	Error     string  `json:"error,omitempty"`

	// Of its socket, which neighbours that dialled share.
	KernelDrops   uint64 `json:"kernel_dropped_datagrams"`
	ReceiveBuffer int    `json:"receive_buffer_bytes"` // granted by the kernel; 0: not known
}

// Flow is what one consumer node asks of one producer prefix.
type Flow struct {
	Name      string  `json:"flow"`     // producer prefix and source
	Source    bool    `json:"consumer"` // its consumer is on this node
	Rate      float64 `json:"bytes_per_second"`
	Bytes     uint64  `json:"bytes"`
	Queued    int     `json:"queued_interests"`
	Capacity  int     `json:"queue_capacity_interests"`
	Converged bool    `json:"converged"`         // its paths have been found (told where its consumer is)
	Discovery float64 `json:"discovery_seconds"` // how long that took
	Paths     []Path  `json:"paths"`
}

// Path is one face that a flow could use.
type Path struct {
	Face  uint32  `json:"face"` // Face.ID; 0: an application on this node
	Label string  `json:"label"`
	Hops  int     `json:"hops"` // to the producer by it; 255: not known
	Tier  int     `json:"tier"`
	State string  `json:"state"` // of discovery: unsent, in flight, acked, dead, looped
	Used  bool    `json:"used"`
	Why   string  `json:"why,omitempty"` // it isn't used, or is idle
	RTT   float64 `json:"rtt_seconds"`
	Rate  float64 `json:"bytes_per_second"`
	Bytes uint64  `json:"bytes"`
	Spare bool    `json:"spare"` // congestion control would let it be asked for more
}

// Idle is the rate below which a face or path counts as idle, bytes per second: keep-alives and probes are less.
const Idle = 1000

// Carries tells whether anything to speak of passes.
func (f *Face) Carries() bool { return f.In+f.Out >= Idle }

// Label names a face to people: its name, or the peer's address.
func (f *Face) Label() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Peer
}

// Find returns the face that is called so: by number, name, peer's address or host; nil: there is none.
func (n *Node) Find(called string) *Face {
	for i := range n.Faces {
		f := &n.Faces[i]
		if called != "" && (called == f.Name || called == f.Peer || called == strconv.FormatUint(uint64(f.ID), 10)) {
			return f
		}
	}
	return nil
}
