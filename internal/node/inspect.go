package node

import (
	"encoding/json"
	"fmt"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/wire"
)

// Every node answers Interests below /32=mars/<id>, which routing announces, about itself: how a flow is forwarded here. The
// content is JSON. Whoever may use the overlay may ask; it tells topology, not content.
const (
	keywordNode = "mars"
	keywordFlow = "flow"
)

// NodeName is the name below which the node with an id answers about itself.
func NodeName(id uint64) wire.Name {
	return wire.Name(nil).Append(wire.TypeKeyword, []byte(keywordNode)).Append(wire.TypeGeneric, fmt.Appendf(nil, "%016x", id))
}

// IsNodeName tells whether a name is, or is below, the name by which some node answers about itself.
func IsNodeName(n wire.Name) bool { return n.HasPrefix(nodeNames) }

var nodeNames = wire.Name(nil).Append(wire.TypeKeyword, []byte(keywordNode))

// FlowQuery asks the node with an id about a flow (dest and src); salt makes the name fresh.
func FlowQuery(id uint64, flow wire.Name, salt uint64) wire.Name {
	n := append(NodeName(id).Append(wire.TypeKeyword, []byte(keywordFlow)), flow...)
	return n.AppendNumber(wire.TypeSequence, salt)
}

// Hop is how one node forwards a flow, as it tells whoever asks.
type Hop struct {
	Node   string `json:"node"`
	Known  bool   `json:"known"` // the node has seen the flow
	Source bool   `json:"source,omitempty"`
	Queued int    `json:"queued_interests"`
	Label  string `json:"label,omitempty"`
	Epoch  uint32 `json:"epoch,omitempty"`
	// Converged and Discovery are told at the source.
	Converged bool      `json:"converged,omitempty"`
	Discovery float64   `json:"discovery_seconds,omitempty"`
	Paths     []PathHop `json:"paths"`
}

// PathHop is one candidate face of a Hop.
type PathHop struct {
	Face  uint32  `json:"face"`
	Peer  string  `json:"peer"` // node id; "local": the producer is on this node; "": no MARS neighbour known there
	Hops  int     `json:"hops"` // 255: not known
	Tier  int     `json:"tier"`
	State string  `json:"state"`
	Used  bool    `json:"used"`
	Why   string  `json:"why,omitempty"` // why it isn't used
	RTT   float64 `json:"rtt_seconds"`
	Rate  float64 `json:"rate_bytes_per_second"`
}

// Hop describes how this node forwards a flow.
func (n *Node) Hop(flow wire.Name) Hop {
	h := Hop{Node: fmt.Sprintf("%016x", n.id), Paths: []PathHop{}}
	s, ok := n.fw.Flow(flow)
	if !ok || len(s.Epochs) == 0 {
		return h
	}
	e := &s.Epochs[0]
	if !s.Source {
		e = &s.Epochs[len(s.Epochs)-1] // the newest that came through
	}
	h.Known, h.Source, h.Queued, h.Epoch = true, s.Source, s.Queued, e.Epoch
	h.Converged, h.Discovery = e.Converged, s.Duration.Seconds()
	h.Label = "source"
	if !s.Source {
		h.Label = fmt.Sprintf("%d/%04x", e.LabelHops, e.LabelHash>>48)
	}
	for _, p := range e.Faces {
		h.Paths = append(h.Paths, n.pathHop(p))
	}
	return h
}

func (n *Node) pathHop(p forward.PathState) PathHop {
	h := PathHop{
		Face: uint32(p.Face), Hops: p.Hops, Tier: p.Tier, State: p.State, Used: p.Valid && p.Why == "", Why: p.Why,
		RTT: p.SRTT.Seconds(), Rate: p.Rate,
	}
	if p.Local {
		h.Peer = "local"
	} else if n.routing != nil {
		if id, _ := n.routing.router.Neighbour(p.Face); id != 0 {
			h.Peer = fmt.Sprintf("%016x", id)
		}
	}
	return h
}

// Neighbour is the identifier of the node at the other end of a face; 0: not known.
func (n *Node) Neighbour(face machine.FaceID) uint64 {
	if n.routing == nil {
		return 0
	}
	id, _ := n.routing.router.Neighbour(face)
	return id
}

// inspector is the application that answers about the node.
type inspector struct {
	node *Node
	out  [][]byte
}

func (i *inspector) FaceUp(machine.Time, machine.FaceID, machine.Face) {}
func (i *inspector) FaceDown(machine.Time, machine.FaceID)             {}
func (i *inspector) Advance(machine.Time)                              {}
func (i *inspector) Deadline() machine.Time                            { return machine.Never }
func (i *inspector) Ready(dst []machine.FaceID) []machine.FaceID       { return dst }

// maxAnswers bounds the answers that wait: nobody may make a node remember more questions than that.
const maxAnswers = 64

func (i *inspector) Accepts() bool { return len(i.out) < maxAnswers }

func (i *inspector) Receive(now machine.Time, _ machine.FaceID, _ machine.ECN, datagram []byte) {
	var p wire.Packet
	var q wire.Interest
	if p.Decode(datagram) != nil || p.Nack || q.Decode(p.Fragment) != nil {
		return
	}
	content, known := i.reply(now, q.Name)
	if !known {
		p.Nack, p.NackReason = true, wire.NackNoRoute
		i.out = append(i.out, p.Append(nil))
		return
	}
	if len(content) == 0 || len(content) > wire.ChunkSize {
		return
	}
	d := wire.Data{Name: q.Name, Content: content, SignatureType: wire.SignatureNull}
	reply := wire.Packet{PitToken: p.PitToken, Fragment: d.Append(nil)}
	i.out = append(i.out, reply.Append(nil))
}

// reply is the answer to a question; false: it is none of ours.
func (i *inspector) reply(now machine.Time, question wire.Name) (content []byte, known bool) {
	if size, ok := parsePing(question); ok {
		return i.node.pong(now, size), true
	}
	flow, ok := parseFlowQuery(question)
	if !ok {
		return nil, false
	}
	content, err := json.Marshal(i.node.Hop(flow))
	if err != nil {
		return nil, true
	}
	return content, true
}

// parseFlowQuery takes the flow out of /32=mars/<id>/32=flow/<flow…>/58=<salt>.
func parseFlowQuery(n wire.Name) (flow wire.Name, ok bool) {
	c, ok := n.At(2)
	last, _ := n.At(n.Len() - 1)
	if !ok || n.Len() < 6 || c.Type != wire.TypeKeyword || string(c.Value) != keywordFlow || last.Type != wire.TypeSequence {
		return nil, false
	}
	return n[len(n.Prefix(3)):len(n.Prefix(n.Len()-1))], true
}

func (i *inspector) Transmit(_ machine.Time, _ machine.FaceID, buf []byte) (int, machine.ECN) {
	if len(i.out) == 0 {
		return 0, machine.NotECT
	}
	n := copy(buf, i.out[0])
	i.out = i.out[1:]
	return n, machine.NotECT
}
