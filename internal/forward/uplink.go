package forward

import (
	"slices"

	"mars/internal/machine"
)

// uplink is the faces that leave by one local address. What is asked for by all of them is bounded together: they share
// what lies between here and where their ways part, and windows apart would let the flows of one have more than those of another.
type uplink struct {
	*gate
	number int // machine.Face.Uplink
	faces  []*upstream
	first  float64      // W to begin with, chunks: what its flows begin with
	resume machine.Time // pacing: the next Interest may leave then
}

// plug puts a face onto the uplink that it leaves by.
func (s *flows) plug(u *upstream, number int) {
	for _, o := range s.upList {
		if number != 0 && o.line != nil && o.line.number == number {
			u.line = o.line
			u.line.faces = append(u.line.faces, u)
			return
		}
	}
	u.line = &uplink{gate: newGate(firstWindow), number: number, faces: []*upstream{u}}
}

// unplug takes a face off its uplink.
func (u *upstream) unplug() {
	if u.line != nil {
		u.line.faces = slices.DeleteFunc(u.line.faces, func(o *upstream) bool { return o == u })
	}
}

// alone tells whether a face has its uplink for itself.
func (u *upstream) alone() bool { return len(u.line.faces) == 1 }
