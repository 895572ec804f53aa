package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// QSF-like forwarding is a reconstruction [R]: NDN-QSF's text was not at hand. What is known of it is that nodes report how
// full their queues are, and that Interests go where queues are short. Here an Interest takes a face with a chance in
// proportion to B̂·(1−q): the bandwidth that the face has delivered, and the occupancy that its peer reports of the queue
// toward here.

// qsfLeast is the least weight of a face, as a part of the greatest: one that is never used reports nothing.
const qsfLeast = 0.01

// heardQSF takes what Data tell about the face that they came by.
func (u *upstream) heardQSF(now machine.Time, hdr *wire.Packet, size int) {
	u.ctrl.OnDelivered(now, float64(size))
	if hdr.HasFeedback {
		_, u.full = occupancy(&hdr.Feedback)
		u.ctrl.OnFeedback(now, 0, u.full)
	}
}

// weighQSF sets the weights of ways.
func weighQSF(now machine.Time, ways []*upstream, weights []float64) {
	most := 0.0
	for i, u := range ways {
		u.ctrl.Advance(now)
		// A face of which little was asked delivered little, and that says nothing of what it could: taken for its bandwidth, it
		// would be asked for ever less.
		b := max(u.ctrl.Estimate(), initialRate)
		weights[i] = float64(b * (1 - u.full))
		most = max(most, weights[i])
	}
	for i := range weights {
		weights[i] = max(weights[i], float64(qsfLeast*most))
	}
}
