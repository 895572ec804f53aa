package forward

import "mars/internal/machine"

// Transmit writes the next datagram of face id: a fragment of the packet begun, else Nacks and unshaped Interests, else
// an Interest if Algorithm 1 affords one, else Data.
func (fw *Forwarder) Transmit(now machine.Time, id machine.FaceID, buf []byte) (int, machine.ECN) {
	return fw.transmit(now, id, buf, nil), machine.NotECT
}

// TransmitLent is Transmit for a driver that carries the bytes of Data by reference (machine.Lender).
func (fw *Forwarder) TransmitLent(now machine.Time, id machine.FaceID, buf []byte) (n int, tail machine.Part, _ machine.ECN) {
	n = fw.transmit(now, id, buf, &tail)
	return n - tail.Len(), tail, machine.NotECT
}

func (fw *Forwarder) transmit(now machine.Time, id machine.FaceID, buf []byte, tail *machine.Part) int {
	fc := fw.faces.get(id)
	if fc == nil || !fc.up {
		return 0
	}
	l := &fc.link
	if ok, at := l.affords(now); !ok {
		fw.sleep(fc, at)
		return 0
	}
	if l.current == nil && l.repair.on {
		if n := l.mend(now, buf, &fw.bufs); n != 0 {
			fc.n.BytesOut += uint64(max(n, 0))
			return n
		}
	}
	if l.current == nil {
		p, at := fw.next(now, fc)
		if p == nil {
			if n := l.acknowledge(now, buf); l.repair.on && n > 0 {
				fc.n.BytesOut += uint64(n)
				return n
			}
			l.backlog = false
			if l.repair.on {
				at = min(at, l.repair.deadline())
			}
			fw.sleep(fc, at)
			return 0
		}
		l.load(now, p)
	}
	n := l.emit(now, buf, &fw.bufs, tail)
	fc.n.BytesOut += uint64(max(n, 0))
	if l.sent() {
		fw.count(fc, l.current)
		fw.bufs.drop(l.current)
		l.current = nil
	}
	return n
}

// next takes the packet that leaves by a face now. nil: none, and when to ask again.
func (fw *Forwarder) next(now machine.Time, fc *face) (*packet, machine.Time) {
	if fc.link.control.len() > 0 {
		return fc.link.control.pop(), 0
	}
	p, at := fw.flows.pull(now, fc.flow)
	if p == nil && fc.link.data.len() > 0 {
		return fc.link.data.pop(), 0
	}
	return p, at
}

func (fw *Forwarder) count(fc *face, p *packet) {
	switch {
	case p.data:
		fc.n.DataOut++
	case p.hdr.Nack:
		fc.n.NacksOut++
	default:
		fc.n.InterestsOut++
	}
}
