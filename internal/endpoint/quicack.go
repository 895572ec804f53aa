package endpoint

import (
	"slices"

	"mars/internal/machine"
)

const (
	// quicAckDelay is how long an acknowledgement may wait (RFC 9000 §18.2, max_ack_delay).
	quicAckDelay = 25 * machine.Millisecond
	// quicAckEvery is how many packets that want an acknowledgement get one at once (RFC 9000 §13.2.2).
	quicAckEvery = 2
	// pingEvery is how many packets that only acknowledge go by until one asks for an acknowledgement, so that the ranges told
	// become fewer (RFC 9000 §13.2.4).
	pingEvery = 32
)

// inNumbers is what has come of one packet number space, and what of it has still to be acknowledged.
type inNumbers struct {
	got       []gap // ranges, the lowest first
	floor     int64 // what is before it isn't told any more
	largest   int64 // −1: none
	largestAt machine.Time
	unacked   int // packets that want an acknowledgement
	now       bool
	at        machine.Time // an acknowledgement has to go by then
	bare      int          // acknowledgements that went alone since one asked for an answer
	marked    bool         // there were marks
	marks     ecnCounts
}

func newInNumbers() inNumbers { return inNumbers{largest: -1, at: machine.Never} }

// add records a packet; false: it has come before, or may have.
func (a *inNumbers) add(now machine.Time, n int64) bool {
	if n < a.floor {
		return false
	}
	i := len(a.got)
	for i > 0 && a.got[i-1].from > n {
		i--
	}
	switch {
	case i > 0 && n < a.got[i-1].to:
		return false
	case i > 0 && n == a.got[i-1].to:
		a.got[i-1].to++
		if i < len(a.got) && a.got[i].from == n+1 {
			a.got[i-1].to = a.got[i].to
			a.got = slices.Delete(a.got, i, i+1)
		}
	case i < len(a.got) && a.got[i].from == n+1:
		a.got[i].from = n
	default:
		a.got = slices.Insert(a.got, i, gap{n, n + 1})
	}
	if len(a.got) > mostAckRanges {
		a.forget(a.got[0].to)
	}
	if n > a.largest {
		a.largest, a.largestAt = n, now
	}
	return true
}

// forget drops what is before a number: the peer knows that it has come.
func (a *inNumbers) forget(before int64) {
	a.floor = max(a.floor, before)
	k := 0
	for k < len(a.got)-1 && a.got[k].to <= a.floor { // the highest stays: something must be told
		k++
	}
	a.got = slices.Delete(a.got, 0, k)
}

// want notes that a packet wants an acknowledgement, and when (RFC 9000 §13.2.1): at once if it is out of order or marked.
func (a *inNumbers) want(now machine.Time, n int64, ce bool) {
	a.unacked++
	hole := len(a.got) > 1 && a.got[len(a.got)-1].from == n // the first after a hole
	if n < a.largest || hole || ce || a.unacked >= quicAckEvery {
		a.now = true
	} else if a.at == machine.Never {
		a.at = now + quicAckDelay
	}
}

// mark counts the ECN codepoint of a packet.
func (a *inNumbers) mark(e machine.ECN) {
	switch e {
	case machine.ECT0:
		a.marks.ect0++
	case machine.ECT1:
		a.marks.ect1++
	case machine.CE:
		a.marks.ce++
	default:
		return
	}
	a.marked = true
}

// told notes that an acknowledgement goes.
func (a *inNumbers) told() { a.now, a.at, a.unacked = false, machine.Never, 0 }
