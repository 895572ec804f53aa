package mars

import (
	"fmt"

	"mars/internal/machine"
)

// Exclude takes a face that this node dials out of service as an operator would, or brings it back: for measurements (mars lab). The
// neighbour isn't told. Unknown names are ErrNotFound.
func (n *Node) Exclude(face string, out bool) error {
	for _, f := range n.driver.Faces() {
		if f.Name != face {
			continue
		}
		back := machine.Face{MTU: f.MTU}
		for i := range n.cfg.Faces {
			if c := &n.cfg.Faces[i]; c.Name == face {
				back.Rate, back.DataQueue = c.Rate.BytesPerSecond(), c.Queue
			}
		}
		return n.driver.Do(func(now machine.Time) {
			if out {
				n.node.FaceDown(now, f.ID)
			} else {
				n.node.FaceUp(now, f.ID, back)
			}
		})
	}
	return &Error{Op: "exclude a face", Kind: ErrNotFound, Err: fmt.Errorf("there is no face %q", face), Next: "mars status lists the faces"}
}
