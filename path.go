package mars

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/wire"
)

// PathNode is one node of the graph over which an object's flow is forwarded, as that node itself tells.
type PathNode struct {
	node.Hop
	Answered bool `json:"answered"` // false: the node was named by a neighbour and didn't tell about itself
	Depth    int  `json:"depth"`    // hops from here
}

// PathHop is one candidate face of a PathNode.
type PathHop = node.PathHop

// PathGraph is how the overlay forwards the flow to one object's producer.
type PathGraph struct {
	Name string `json:"name"`
	Flow string `json:"flow"` // producer prefix and source
	// Faces maps the faces of this node to their names.
	Faces map[uint32]string `json:"faces"`
	Nodes []PathNode        `json:"nodes"` // this node first
}

const (
	// pathWait is how long discovery may take before the graph is drawn as it is.
	pathWait = 4 * time.Second
	// pathNodes bounds the graph.
	pathNodes = 256
)

// Path discovers how the flow to an object's producer is forwarded, and asks every node on the way. The node must be running.
func (n *Node) Path(ctx context.Context, object string) (*PathGraph, error) {
	name, err := wire.ParseName(object)
	if err != nil || len(name) == 0 {
		return nil, UsageError(fmt.Errorf("%q is not an object name: write /prefix/path (%w)", object, err))
	}
	req := fetch.Request{Name: name, Stall: 10 * machine.Second, Manifest: true} // an Interest on the flow; nothing is kept, so anybody may answer
	if _, _, err := n.fetchTo(ctx, req, &lookStore{}); err != nil {
		return nil, fetchError(object, err)
	}
	discovered := n.discovered
	if n.home != nil {
		discovered = n.discoveredAtHome
	}
	flow, err := discovered(ctx, name)
	if err != nil {
		return nil, fetchError(object, err)
	}
	g := &PathGraph{Name: name.String(), Flow: flow.String(), Faces: map[uint32]string{}}
	for _, f := range n.driver.Faces() {
		g.Faces[uint32(f.ID)] = f.Name
		if f.Name == "" {
			g.Faces[uint32(f.ID)] = f.Remote.String()
		}
	}
	return g, n.explore(ctx, g, flow)
}

// discovered waits until the flow toward name has been discovered, and returns it.
func (n *Node) discovered(ctx context.Context, name wire.Name) (wire.Name, error) {
	end := time.Now().Add(pathWait)
	for {
		var flow wire.Name
		done := false
		err := n.driver.Do(func(machine.Time) {
			for _, f := range n.node.Forwarder().Flows(nil) {
				if f.Source && len(f.Name) > 0 && name.HasPrefix(f.Name.Prefix(f.Name.Len()-1)) {
					flow, done = f.Name.Clone(), len(f.Epochs) == 1 && f.Epochs[0].Converged
				}
			}
		})
		if err != nil {
			return nil, err
		}
		if done || flow != nil && time.Now().After(end) {
			return flow, nil
		}
		if err := rest(ctx); err != nil {
			return nil, err
		}
		if flow == nil && time.Now().After(end) {
			return nil, fetch.ErrTimeout
		}
	}
}

// discoveredAtHome is discovered for an application: its flow is the node's, which is asked about those that it may be.
func (n *Node) discoveredAtHome(ctx context.Context, name wire.Name) (flow wire.Name, err error) {
	for end := time.Now().Add(pathWait); ; {
		for k := name.Len() - 1; k > 0 && flow == nil; k-- {
			may := name.Prefix(k).Clone().Append(wire.TypeGeneric, n.home.source)
			if h, _, err := n.hop(ctx, n.home.id(), may); err != nil {
				return nil, err
			} else if h.Known {
				flow = may
			}
		}
		if flow != nil {
			if h, _, err := n.hop(ctx, n.home.id(), flow); err != nil || h.Converged {
				return flow, err
			}
		}
		if time.Now().After(end) {
			if flow == nil {
				err = fetch.ErrTimeout
			}
			return flow, err
		}
		if err := rest(ctx); err != nil {
			return nil, err
		}
	}
}

// rest is the pause between two looks at discovery; the error is that of a context that ends meanwhile.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// firstHop is how the flow leaves this host.
func (n *Node) firstHop(ctx context.Context, flow wire.Name) (own node.Hop, err error) {
	if n.home != nil {
		own, _, err = n.hop(ctx, n.home.id(), flow)
		return own, err
	}
	err = n.driver.Do(func(machine.Time) { own = n.node.Hop(flow) })
	return own, err
}

// hop asks a node how it forwards a flow; false: it doesn't answer.
func (n *Node) hop(ctx context.Context, id uint64, flow wire.Name) (h node.Hop, ok bool, err error) {
	content, err := n.ask(ctx, node.FlowQuery(id, flow, uint64(time.Now().UnixNano())))
	ok = err == nil && content != nil && json.Unmarshal(content, &h) == nil && h.Node == fmt.Sprintf("%016x", id)
	return h, ok, err
}

// explore asks the nodes of the graph about the flow, breadth first.
func (n *Node) explore(ctx context.Context, g *PathGraph, flow wire.Name) error {
	own, err := n.firstHop(ctx, flow)
	if err != nil {
		return err
	}
	g.Nodes = []PathNode{{Hop: own, Answered: true}}
	seen := map[string]bool{own.Node: true}
	for i := 0; i < len(g.Nodes) && len(g.Nodes) < pathNodes; i++ {
		for _, p := range g.Nodes[i].Paths {
			if !p.Used || p.Peer == "" || p.Peer == "local" || seen[p.Peer] {
				continue
			}
			seen[p.Peer] = true
			next := PathNode{Hop: node.Hop{Node: p.Peer}, Depth: g.Nodes[i].Depth + 1}
			if id, err := strconv.ParseUint(p.Peer, 16, 64); err == nil {
				h, ok, err := n.hop(ctx, id, flow)
				if err != nil {
					return err
				}
				if ok {
					next.Hop, next.Answered = h, true
				}
			}
			g.Nodes = append(g.Nodes, next)
		}
	}
	return nil
}

// ask asks one question of the overlay; nil: nobody answered.
func (n *Node) ask(ctx context.Context, name wire.Name) ([]byte, error) {
	a, err := n.question(ctx, func(now machine.Time) uint32 { return n.asker.Ask(now, name) })
	return a.Content, err
}

// question puts a question that ask asks, and waits for the answer, which has no Content if nobody answered.
func (n *Node) question(ctx context.Context, ask func(now machine.Time) uint32) (node.Answer, error) {
	answer := make(chan node.Answer, 1)
	err := n.driver.Do(func(now machine.Time) {
		n.asked[ask(now)] = answer
		n.node.Touch(now)
	})
	if err != nil {
		return node.Answer{}, err
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return node.Answer{}, ctx.Err()
	}
}
