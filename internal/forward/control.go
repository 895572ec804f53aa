package forward

import (
	"mars/internal/machine"
	"mars/internal/wire"
)

// Control messages travel one hop between MARS nodes as Interests with parameters under controlName: every NDN forwarder
// carries or refuses them like any other, and fragmentation comes for free. They are neither answered nor forwarded.
var controlName = wire.MustParseName("/localhop/mars/route")

// Control is a message from a neighbour, or for one.
type Control struct {
	Face    machine.FaceID
	Message []byte
}

// isControl tells whether an Interest is a control message.
func isControl(i *wire.Interest) bool { return i.HasParameters && i.Name.HasPrefix(controlName) }

// maxControl bounds the messages that wait to be taken: whoever composes the node takes them after every packet.
const maxControl = 256

// takeIn keeps a control message for TakeControl.
func (fw *Forwarder) takeIn(fc *face, message []byte) {
	if len(fw.control) >= maxControl {
		fw.dropped[DropControl]++
		fc.n.Drops++
		return
	}
	fw.control = append(fw.control, Control{fc.id, append([]byte(nil), message...)})
}

// DropControl drops, and counts, the control messages that have come: for nodes without routing.
func (fw *Forwarder) DropControl() {
	fw.dropped[DropControl] += uint64(len(fw.control))
	clear(fw.control)
	fw.control = fw.control[:0]
}

// TakeControl appends the control messages that came from neighbours since the last call to dst.
func (fw *Forwarder) TakeControl(dst []Control) []Control {
	dst = append(dst, fw.control...)
	clear(fw.control)
	fw.control = fw.control[:0]
	return dst
}

// SendControl queues a control message for the neighbour on face. It is dropped, and counted, when the face is down or its
// queue full: routing repeats itself.
func (fw *Forwarder) SendControl(now machine.Time, face machine.FaceID, message []byte) {
	i := wire.Interest{
		Parameters: message, HasParameters: true, Nonce: fw.flows.rand.Uint32(), HasNonce: true,
		Lifetime: 1000, HopLimit: 1, HasHopLimit: true,
	}
	digest := i.ParametersDigest()
	i.Name = controlName.Clone().Append(wire.TypeParamsDigest, digest[:])
	p := fw.bufs.packet(i.Append(fw.bufs.get()))
	p.queued = now
	fw.enqueue(face, p)
}
