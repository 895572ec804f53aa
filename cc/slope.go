package cc

import "mars/internal/machine"

// slope finds out how fast a queue's occupancy rises or falls: the s of the MARS paper's Algorithm 1. It is the slope of
// the straight line through the occupancies of the last window (least squares).
type slope struct {
	ring  [slopeSlots]occupancy
	head  int // next slot to write
	count int
}

type occupancy struct {
	at machine.Time
	q  float64
}

const (
	slopeSlots = 32
	// Two points make every jitter a trend.
	slopeMin = 3
)

// add records an occupancy. Those within 1/32 of a window share a slot, which keeps the greatest: on a face that several
// flows share they are of different queues, and the fullest one counts.
func (s *slope) add(now machine.Time, q float64, window machine.Time) {
	if s.count > 0 {
		last := s.slot(1)
		if now-last.at < window/slopeSlots {
			last.q = max(last.q, q)
			return
		}
	}
	s.ring[s.head] = occupancy{now, q}
	s.head = (s.head + 1) % slopeSlots
	s.count = min(s.count+1, slopeSlots)
}

// slot returns the i-th newest slot, from 1.
func (s *slope) slot(i int) *occupancy { return &s.ring[(s.head+slopeSlots-i)%slopeSlots] }

// per returns by how much the occupancy rises in one window. It looks at one window before the newest sample, or further
// back if there were fewer than three; 0 when there are fewer than three at all.
func (s *slope) per(window machine.Time) float64 {
	var n, st, sq, stt, stq float64
	for i := 1; i <= s.count; i++ {
		age := s.slot(1).at - s.slot(i).at
		if age > window && n >= slopeMin {
			break
		}
		t, q := -float64(age)/float64(window), s.slot(i).q
		n++
		st += t
		sq += q
		stt += float64(t * t)
		stq += float64(t * q)
	}
	den := float64(n*stt) - float64(st*st)
	if n < slopeMin || !(den > 0) {
		return 0
	}
	return (float64(n*stq) - float64(st*sq)) / den
}
