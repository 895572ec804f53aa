package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// occupancy normalises feedback as the paper does: items over capacity (protocol.md §4, profile `paper`).
func occupancy(f *wire.Feedback) (qInt, qData float64) {
	if f.InterestCapacity > 0 {
		qInt = float64(f.InterestItems) / float64(f.InterestCapacity)
	}
	if f.DataCapacity > 0 {
		qData = float64(f.DataItems) / float64(f.DataCapacity)
	}
	return min(qInt, 1), min(qData, 1)
}

// mixTag folds a face into a path tag, so that the receiver can tell paths apart (protocol.md §3).
func mixTag(tag uint32, face machine.FaceID) uint32 {
	h := (tag ^ uint32(face)) * 0x9e3779b1
	return h ^ h>>15
}
