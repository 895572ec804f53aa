package forward

import (
	"mars/internal/machine"
	"mars/internal/planted"
	"mars/internal/wire"
)

// Flow defaults.
const (
	// DefaultInterestQueue is the capacity of a flow's Interest queue (per-prefix queue of MARS paper §III-A1).
	DefaultInterestQueue = 100
	// DefaultCost is charged for an Interest without a size hint, bytes of expected Data.
	DefaultCost = wire.ChunkSize
	// minCost is charged at least: what claims to bring nothing would have endless turns.
	minCost = 500
	// DefaultMaxFlows bounds the flows that a forwarder remembers; one downstream face may have a quarter of them. The one used
	// longest ago goes first.
	DefaultMaxFlows = 65536
	// scanLimit bounds how far a face looks past queued Interests that it must not take.
	scanLimit = 16
)

// flow is all traffic of one consumer toward one producer prefix: (dest, src) (protocol.md §1). Its Interests wait
// here until a valid face pulls them; none is bound to a face before that, or one slow face would block the rest.
type flow struct {
	name    wire.Name // dest and src
	dest    wire.Name
	src     []byte
	lanes   []*lane // the faces that an epoch may use
	version uint64  // of the FIB when its candidates were last those of the newest epoch
	retry   refs    // Interests to express again; they go first
	fresh   refs
	live    int     // Interests in the two queues
	virtual float64 // bytes that it has had, of the default profile
	used    machine.Time

	epochs  []*discovery // oldest first; at the source the first is in use and a second is being discovered
	source  bool         // its consumer is an application here
	evicted bool
	entries siblings // pending Interests for Data
	bars    []bar    // few: faces that brought false Data
	place   int      // in flows.order

	hintAt  machine.Time // when the next Nack(MoreWays) may leave, or be followed
	hintGap machine.Time // at the source: between the last two that were followed

	owner        *ingress // the face that it counts for
	older, newer *flow    // of the same face, by last use

	// At the source:
	probing     bool // listed in flows.probing
	outstanding int  // probes
	window      int
	probeSeq    uint64
	probeAt     machine.Time
	started     machine.Time
	found       machine.Time // how long the last discovery took
}

// valid tells whether the epoch in use has face as a valid upstream.
func (f *flow) valid(face machine.FaceID) bool {
	if len(f.epochs) == 0 {
		return false
	}
	p := f.epochs[0].find(face)
	return p != nil && f.epochs[0].valid(p)
}

// oldest is the Interest that waits at the head of the queue.
func (f *flow) oldest() *entry {
	for _, q := range [2]*refs{&f.retry, &f.fresh} {
		if q.trim(); q.n > 0 {
			return q.at(0).e
		}
	}
	return nil
}

// refs is a ring of PIT entries. An entry that was satisfied or expired while it waited stays as a stale ref.
type refs struct {
	ring []ref
	head int
	n    int
}

func (q *refs) push(r ref) {
	if q.n == len(q.ring) {
		grown := make([]ref, max(16, 2*len(q.ring)))
		for i := range q.n {
			grown[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = r
	q.n++
}

func (q *refs) at(i int) *ref { return &q.ring[(q.head+i)%len(q.ring)] }

// take removes the i-th ref; those before it keep their order.
func (q *refs) take(i int) ref {
	r := *q.at(i)
	for ; i > 0; i-- {
		*q.at(i) = *q.at(i - 1)
	}
	*q.at(0) = ref{}
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	return r
}

// trim drops stale refs at the head, so that the ring doesn't fill with them.
func (q *refs) trim() {
	for q.n > 0 && !(q.at(0).valid() && q.at(0).e.queued) {
		q.take(0)
	}
}

// pick finds the first Interest that face may take.
func (q *refs) pick(face machine.FaceID) (int, *entry) {
	q.trim()
	for i := 0; i < min(q.n, scanLimit); i++ {
		r := q.at(i)
		if !r.valid() || !r.e.queued || !r.e.allows(face) || r.e.avoid == face && r.e.alternatives(face) > 0 && !planted.Is(planted.SameDeadFace) {
			continue
		}
		return i, r.e
	}
	return 0, nil
}

// next returns the queue, position and entry of the Interest that face would take from f; nil if there is none.
func (f *flow) next(face machine.FaceID) (*refs, int, *entry) {
	if i, e := f.retry.pick(face); e != nil {
		return &f.retry, i, e
	}
	if i, e := f.fresh.pick(face); e != nil {
		return &f.fresh, i, e
	}
	return nil, 0, nil
}

// sojourn is how long the oldest queued fresh Interest has waited.
func (f *flow) sojourn(now machine.Time) uint32 {
	f.fresh.trim()
	if f.fresh.n == 0 {
		return 0
	}
	return micros(now - f.fresh.at(0).e.since)
}
