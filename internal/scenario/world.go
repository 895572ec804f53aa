package scenario

import "time"

// World is one concrete point of a scenario: every parameter has its value and every generator has been expanded. A runner
// needs nothing else, and never changes it.
type World struct {
	Params []Param // of the sweep, in the order of the file
	Nodes  []Node
	Links  []Link
	Flows  []Flow
	Faults []Fault
	// Endpoints says how TCP, MPTCP and MPQUIC are set up.
	Endpoints Endpoints `json:",omitzero"`
	// Measure is the window over which flows that go on are measured; without one, flows are timed to their end.
	Measure Measure `json:",omitzero"`
	// Limit ends a run that doesn't end by itself, in simulated time; > 0.
	Limit time.Duration
}

// Endpoints are the choices that endpoint systems leave open.
type Endpoints struct {
	Scheduler string // of new data: minrtt, roundrobin, mainline; "": the system's own
	ECN       bool   // packets are ECN-capable
	Pace      bool   // packets leave at the pacing rate
	Buffer    int    // receive buffer of a connection, bytes; 0: 6 MiB
}

// Param is one swept parameter at its value.
type Param struct {
	Name  string
	Value float64
}

// Role says what a node is there for.
type Role string

// The roles.
const (
	Consumer Role = "consumer" // fetches; never carries others' traffic
	Producer Role = "producer" // serves; never carries others' traffic
	Relay    Role = "relay"    // an overlay forwarder between others
	Router   Role = "router"   // a plain IP router in every system
)

// Node is one host.
type Node struct {
	Name string
	Role Role
	// MARS makes a relay run the strategy of the system under test in every deployment; other relays run it only in the
	// -everywhere deployments and else best-route. Consumers and producers always run it.
	MARS bool
}

// Link joins two nodes; two nodes may be joined by several.
type Link struct {
	Name string // unique; "a-b" unless the file names it: random streams are named after it
	A, B int    // indices into World.Nodes
	AB   Direction
	BA   Direction
}

// Discipline is how a queue drops or marks.
type Discipline string

// The disciplines.
const (
	DropTail  Discipline = "drop-tail"
	CoDelMark Discipline = "codel-mark" // drop-tail, and CE by CoDel's rules (RFC 8289) at dequeue
	RED       Discipline = "red"        // drop-tail, and CE with a probability that grows from MarkMin to MarkMax packets
)

// Direction is one direction of a link.
type Direction struct {
	Rate       float64       // bit/s of IP packets, > 0
	Delay      time.Duration // propagation, ≥ 0
	Jitter     time.Duration // each packet is delayed by up to this much more, without reordering; ≥ 0
	Packets    int           // capacity of the queue in packets; 0: not bounded by packets
	Bytes      int           // and in bytes; 0: not bounded by bytes. One of the two is > 0
	Discipline Discipline
	MarkMin    int // RED only, packets
	MarkMax    int
	MarkProb   float64 // RED only: probability of a mark at MarkMax, (0, 1]
	Loss       Loss
	MTU        int // bytes of an IP packet, 576…65535
}

// Loss says which packets vanish. The chance of each kind is independent of the others.
type Loss struct {
	Random float64 // chance of each packet, 0…1
	// Gilbert model: in the bad state packets are lost with BurstLoss. 0: no bursts.
	BurstEnter float64 // chance per packet to enter the bad state
	BurstLeave float64 // and to leave it
	BurstLoss  float64
}

// Flow is one object that one consumer fetches from one producer.
type Flow struct {
	Name     string // unique
	Consumer int    // indices into World.Nodes
	Producer int
	Bytes    int64 // 0: it goes on until Stop
	Start    time.Duration
	Stop     time.Duration `json:",omitzero"` // 0: when its object is there, or at the limit
	// Background names the congestion control of a flow that is plain TCP in every system; "": it is the system's.
	Background string `json:",omitzero"`
	Group      int    // flows of one group start together and are compared with each other (Jain's index)
	// ChunkSize is the content of one Data packet, bytes; 0: the default of the system.
	ChunkSize int
	// Paths are routes that Oracle systems are given, each as indices into World.Links from consumer to producer; the first is
	// the one that ECMP systems use. Empty: the runner computes them (the shortest, and the four next shortest).
	Paths [][]int
	// Moves are changes of these routes in the course of the run.
	Moves []Move `json:",omitzero"`
}

// FaultKind says what goes wrong.
type FaultKind string

// The faults.
const (
	Blackhole FaultKind = "blackhole" // the link drops everything in both directions and says nothing
	LinkDown  FaultKind = "down"      // both ends are told that the link is down
	Exclude   FaultKind = "exclude"   // the consumer's face is taken out administratively
	SetRate   FaultKind = "rate"      // the rate of both directions becomes Value bit/s
	SetDelay  FaultKind = "delay"     // the delay of both directions becomes Value seconds
	SetLoss   FaultKind = "loss"      // random loss of both directions becomes Value
	SetBurst  FaultKind = "burst"     // bursts of loss in both directions: on average a tenth of the packets meet one, which loses Value of them
	Reorder   FaultKind = "reorder"   // each packet may, with chance Value, be held back by up to 200 ms
	Duplicate FaultKind = "duplicate" // each packet may, with chance Value, come a second time, up to 20 ms later
	Corrupt   FaultKind = "corrupt"   // each packet of Data may, with chance Value, come with a wrong byte in its content
	SetMTU    FaultKind = "mtu"       // IP packets of more than Value bytes vanish, and nobody is told
	Deaf      FaultKind = "deaf"      // Node hears nothing by Link, and what it sends gets through
	Stale     FaultKind = "stale"     // all feedback that comes by the link is that which came first
	Restart   FaultKind = "restart"   // the node loses all state and begins again
	Skew      FaultKind = "skew"      // the node's clock runs too fast by Value, −0.5…0.5
	Heal      FaultKind = "heal"      // every fault and every loss is over
)

// Fault is one event of the plan.
type Fault struct {
	At    time.Duration // from the start of the run, or from the end of discovery of the flow
	After string        // name of a flow: At counts from the end of its discovery; "": from the start of the run
	For   time.Duration // how long it lasts; 0: for ever
	Kind  FaultKind
	Link  int // index into World.Links; −1: none
	Node  int // index into World.Nodes; −1: none
	Value float64
}
