package mars

import (
	"context"
	"errors"
	"time"

	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/wire"
)

// PingOptions says whom to ask by which way.
type PingOptions struct {
	Face uint32        // the face that it leaves by: of the node of this host, if this one is attached to it, else of this node
	Node uint64        // who is to answer; 0: the neighbour at the other end of the face
	Size int           // bytes of the answer, at most 8000; 0: as few as it needs
	Wait time.Duration // for the answer; 0: 1 s
}

// PingReply is the answer to a ping.
type PingReply struct {
	RTT  time.Duration
	Node string    // who answered
	Wall time.Time // what its clock said; zero: it has none
}

// ErrNoReply says that a ping wasn't answered in time.
var ErrNoReply = errors.New("no reply")

// Ping asks a node for a sign of life by one face, once. The node must be running.
func (n *Node) Ping(ctx context.Context, o PingOptions) (r PingReply, err error) {
	if o.Wait <= 0 {
		o.Wait = time.Second
	}
	base := node.NeighbourPing
	if o.Node != 0 {
		base = node.NodePing(o.Node)
	}
	name := node.PingQuery(base, min(max(o.Size, 0), node.MaxPing), uint64(time.Now().UnixNano()))
	var content []byte
	if n.home != nil {
		content, r.RTT, err = pingBySocket(n.home.path, name, o)
	} else {
		n.settle()
		var a node.Answer
		a, err = n.question(ctx, func(now machine.Time) uint32 {
			return n.asker.Ping(now, name, machine.FaceID(o.Face), machine.Time(o.Wait))
		})
		content, r.RTT = a.Content, time.Duration(a.RTT)
	}
	if err != nil {
		return r, err
	}
	p, err := node.ParsePong(content)
	if content == nil || err != nil {
		return r, ErrNoReply
	}
	r.Node = p.Node
	if p.Wall > 0 {
		r.Wall = time.UnixMilli(int64(p.Wall))
	}
	return r, nil
}

// pingBySocket has the node of this host ask.
func pingBySocket(path string, name wire.Name, o PingOptions) ([]byte, time.Duration, error) {
	i := wire.Interest{Name: name, MustBeFresh: true, HasNonce: true, Nonce: uint32(time.Now().UnixNano()), HasHopLimit: true, HopLimit: 64}
	if o.Node == 0 {
		i.HopLimit = 1
	}
	i.Lifetime = uint64(o.Wait / time.Millisecond)
	start := time.Now()
	d, err := askSocket(path, i, uint64(o.Face), o.Wait)
	if err != nil && NodeRuns(path) { // it had nothing to say
		return nil, 0, nil
	}
	return d.Content, time.Since(start), err
}
