package node

import (
	"bytes"
	"encoding/json"
	"fmt"

	"mars/internal/machine"
	"mars/internal/wire"
)

// Every node answers its neighbours, whom it may know nothing of, below /localhop/mars/ping, and everybody below
// /32=mars/<id>/32=ping, with who it is, what its clock says and so many bytes of padding as the question wants: to measure round
// trips, and whether datagrams of a size pass.

// NeighbourPing is what the node at the other end of a face answers; it goes no further.
var NeighbourPing = wire.MustParseName("/localhop/mars/ping")

const keywordPing = "ping"

// MaxPing bounds the size of an answer, bytes.
const MaxPing = 8000

// AnswerPings has a node without routing answer its neighbours; one with routing does anyway.
func (n *Node) AnswerPings() {
	if n.routing == nil {
		n.Attach(0, &inspector{node: n}, NeighbourPing)
	}
}

// NodePing is what the node with an id answers wherever it is.
func NodePing(id uint64) wire.Name { return NodeName(id).Append(wire.TypeKeyword, []byte(keywordPing)) }

// PingQuery asks below base for an answer of size bytes, 0 … MaxPing; one that is too small is what the answer needs. salt makes the name
// fresh.
func PingQuery(base wire.Name, size int, salt uint64) wire.Name {
	return base.Clone().AppendNumber(wire.TypeSegment, uint64(size)).AppendNumber(wire.TypeSequence, salt)
}

// Pong is the answer to a ping.
type Pong struct {
	Node string `json:"node"`
	Wall uint64 `json:"time_ms"` // its clock, ms since 1970; 0: it has none
}

// ParsePong reads an answer.
func ParsePong(content []byte) (p Pong, err error) {
	err = json.Unmarshal(bytes.TrimRight(content, "\x00"), &p)
	return p, err
}

// pong answers a ping with size bytes.
func (n *Node) pong(now machine.Time, size int) []byte {
	p := Pong{Node: fmt.Sprintf("%016x", n.id)}
	if start := n.manage.cfg.Start; start > 0 {
		p.Wall = start + uint64(now/machine.Millisecond)
	}
	content, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	return append(content, make([]byte, max(size-len(content), 0))...)
}

// parsePing tells how many bytes a ping wants; false: the name is none.
func parsePing(n wire.Name) (size int, ok bool) {
	last, _ := n.At(n.Len() - 1)
	wanted, _ := n.At(n.Len() - 2)
	number, isNumber := wanted.Number()
	keyword, _ := n.At(2)
	switch {
	case n.Len() < 5 || last.Type != wire.TypeSequence || wanted.Type != wire.TypeSegment || !isNumber || number > MaxPing:
		return 0, false
	case n.Len() == NeighbourPing.Len()+2 && n.HasPrefix(NeighbourPing):
		return int(number), true
	}
	return int(number), n.Len() == 5 && keyword.Type == wire.TypeKeyword && string(keyword.Value) == keywordPing
}
