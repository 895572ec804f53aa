package status

import "fmt"

// Explain fills in the way of every face and why faces and paths are idle.
func (n *Node) Explain() {
	for i := range n.Flows {
		n.Flows[i].explain()
	}
	for i := range n.Faces {
		n.Faces[i].explain(n.Flows)
	}
}

func (f *Flow) explain() {
	for i := range f.Paths {
		p := &f.Paths[i]
		switch {
		case p.Why != "" || p.Rate >= Idle:
		case f.Rate < Idle && f.Queued == 0:
			p.Why = "the flow asks for nothing"
		case f.Rate < Idle:
			p.Why = "asked, and nothing comes yet"
		case p.Spare:
			p.Why = "the other paths carry all that is asked for"
		default:
			p.Why = "what it may be asked for is in use"
		}
	}
}

// explain says why a face isn't up or is idle.
func (f *Face) explain(flows []Flow) {
	switch {
	case f.Why != "":
	case f.State == Handshake && f.Errors > 0 && f.Error != "":
		f.Why = "sending fails: " + f.Error
	case f.State == Handshake:
		f.Why = "the peer doesn't answer the handshake: it isn't there, has another key, or doesn't let this node in"
	case f.State == Failing:
		f.Why = "sending fails: " + f.Error
	case f.State == Suspended:
		f.Why = "silent: probed until it answers"
	case f.State == Down:
		f.Why = "it is down"
	case f.Carries():
	default:
		f.Why = f.idle(flows)
	}
}

// idle is why a face that could carry something doesn't.
func (f *Face) idle(flows []Flow) string {
	offered := ""
	for i := range flows {
		for _, p := range flows[i].Paths {
			if p.Face == f.ID && p.Why != "" && (offered == "" || flows[i].Rate >= Idle) {
				offered = p.Why
			}
		}
	}
	switch {
	case offered != "":
		return offered
	case f.Way == "" && f.Dialled:
		return "no route leads over it"
	case f.Dialled:
		return "nothing is asked for over it"
	}
	return "the peer asks for nothing"
}

// Way is the way of a face by the least number of hops that something lies behind it; 0, and 255 and more: nothing is known to.
func Way(hops int) string {
	switch {
	case hops <= 0 || hops >= 255:
		return ""
	case hops == 1:
		return "direct"
	}
	return fmt.Sprintf("relay:%d", hops-1)
}
