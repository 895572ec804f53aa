package mars

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/status"
	"mars/internal/wire"
)

// NodeStatus is all that a node tells about itself at one moment.
type NodeStatus = status.Node

// NodeStatus tells about the node. It fails when the node doesn't run.
func (n *Node) NodeStatus() (s *NodeStatus, err error) {
	err = n.driver.Do(func(now machine.Time) { s = n.report(now) })
	return s, err
}

// answerStatus is the dataset. Loop goroutine.
func (n *Node) answerStatus(now machine.Time) []byte {
	text, err := json.Marshal(n.report(now))
	if err != nil {
		n.log.Error("the status can't be told", "err", err)
	}
	return text
}

func nodeID(id uint64) string { return fmt.Sprintf("%016x", id) }

// report gathers the status. Loop goroutine.
func (n *Node) report(now machine.Time) *NodeStatus {
	fw := n.node.Forwarder()
	s := &NodeStatus{
		SchemaVersion: status.Version, Time: time.Now().UTC(), Version: n.cfg.Program, ID: nodeID(n.node.ID()), Name: n.cfg.Node.Name,
		Key: n.key.String(), Role: n.cfg.Node.Role, Uptime: now.Seconds(), Pending: fw.Pending(), FlowCount: fw.FlowCount(), Listening: []string{},
		Faces: n.faces(now), Dropped: map[string]uint64{}, Rejected: n.driver.Rejected(),
	}
	if s.Role == "" {
		s.Role = RoleLeaf
	}
	for _, u := range n.Listening() {
		s.Listening = append(s.Listening, u.String())
	}
	for _, f := range n.driver.Faces() {
		if f.Stream {
			s.Applications++
		}
	}
	if n.home != nil { // the stream is to the node
		s.Applications--
	}
	for _, r := range forward.DropReasons() {
		s.Dropped[r.String()] = fw.Dropped(r)
	}
	lately, ok := n.watch.before(now, keepEvery)
	if ok {
		s.Busy = max(0, 1-(n.driver.Asleep()-lately.asleep).Seconds()/(now-lately.at).Seconds())
	}
	s.Flows = n.flowStatus(now, lately)
	n.tellWays(s)
	s.Explain()
	s.Ready = len(s.Listening) > 0 || n.home != nil && n.home.face != 0
	for i := range s.Faces {
		s.Ready = s.Ready || s.Faces[i].State == status.Up
	}
	if s.Faces == nil {
		s.Faces = []status.Face{}
	}
	return s
}

// flowStatus tells of the flows that were used lately.
func (n *Node) flowStatus(now machine.Time, before counters) []status.Flow {
	names := map[machine.FaceID]string{}
	for _, f := range n.driver.Faces() {
		if names[f.ID] = f.Name; f.Name == "" {
			names[f.ID] = f.Remote.String()
		}
	}
	all := []status.Flow{}
	for _, f := range n.recent(now) {
		x := status.Flow{
			Name: f.Name.String(), Source: f.Source, Queued: f.Queued, Capacity: f.Capacity, Discovery: f.Duration.Seconds(), Paths: []status.Path{},
		}
		x.Converged = f.Source && len(f.Epochs) > 0 && f.Epochs[0].Converged
		for _, p := range paths(&f) {
			y := status.Path{
				Face: uint32(p.Face), Label: names[p.Face], Hops: p.Hops, Tier: p.Tier, State: p.State, Used: p.Valid && p.Why == "", Why: p.Why,
				RTT: p.SRTT.Seconds(), Bytes: p.Bytes, Spare: p.Credit, Rate: rate(p.Bytes, before.paths[pathKey{string(f.Name), p.Face}], now-before.at),
			}
			if p.Local {
				y.Face, y.Label = 0, "producer here"
			}
			x.Rate, x.Bytes = x.Rate+y.Rate, x.Bytes+y.Bytes
			x.Paths = append(x.Paths, y)
		}
		all = append(all, x)
	}
	return all
}

// tellWays says what lies behind each face: what flows have found out, else what routing says.
func (n *Node) tellWays(s *NodeStatus) {
	least := map[uint32]int{}
	note := func(face uint32, hops int) {
		if old, ok := least[face]; hops > 0 && (!ok || hops < old) {
			least[face] = hops
		}
	}
	for i := range s.Flows {
		for _, p := range s.Flows[i].Paths {
			note(p.Face, p.Hops)
		}
	}
	for _, r := range n.node.Forwarder().Routes(nil) {
		s.Routes++
		if node.IsNodeName(r.Prefix) || r.Prefix.HasPrefix(localhop) {
			continue
		}
		for _, h := range r.Hops {
			note(uint32(h.Face), h.Hops)
		}
	}
	for i := range s.Faces {
		s.Faces[i].Way = status.Way(least[s.Faces[i].ID])
	}
}

var localhop = wire.MustParseName("/localhop")

// ReadStatus asks the node at a socket about itself.
func ReadStatus(socket string) (*NodeStatus, error) {
	text, err := readDataset(socket, node.StatusName)
	if err != nil {
		return nil, err
	}
	s := &NodeStatus{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, noNode(socket, err)
	}
	if s.SchemaVersion != status.Version {
		return nil, &Error{
			Op: "read the status of the node", Err: fmt.Errorf("it is of schema version %d, and this program knows %d", s.SchemaVersion, status.Version),
			Next: "use the mars of the same release as the node",
		}
	}
	return s, nil
}

// maxDataset bounds what is read of a dataset, bytes.
const maxDataset = 64 << 20

// readDataset reads all segments of a dataset of the node at a socket.
func readDataset(socket string, name wire.Name) ([]byte, error) {
	i := wire.Interest{Name: name, CanBePrefix: true, MustBeFresh: true, HasNonce: true, Nonce: 1}
	var content []byte
	for segment := uint64(0); ; segment++ {
		d, err := askSocket(socket, i, 0, askNode)
		if err != nil {
			return nil, err
		}
		content = append(content, d.Content...)
		last, ok := d.FinalSegment()
		switch {
		case !ok || segment >= last:
			return content, nil
		case len(content) > maxDataset:
			return nil, noNode(socket, errors.New("its status has no end"))
		}
		i.Name, i.CanBePrefix = d.Name.Prefix(d.Name.Len()-1).Clone().AppendNumber(wire.TypeSegment, segment+1), false
	}
}
