package mars

import (
	"context"
	"time"

	"mars/internal/driver"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/status"
)

const (
	// keepEvery is how often a node reads its counters.
	keepEvery = machine.Second
	// lossWindow is how far back losses are counted.
	lossWindow = 10 * machine.Second
	// recentFlow is how long ago a flow that is told about was used, and maxFlows how many are told about.
	recentFlow = 30 * machine.Second
	maxFlows   = 256
)

// observer is what a node remembers of its own counters, so that it can tell rates.
type observer struct {
	readings []counters // one a second, oldest first
}

// counters are those of a node at one moment.
type counters struct {
	at, asleep machine.Time
	faces      map[machine.FaceID]faceCounters
	paths      map[pathKey]uint64 // bytes
}

type faceCounters struct{ in, out, sent, missed uint64 }

type pathKey struct {
	flow string
	face machine.FaceID
}

// keepWatch keeps the node's counters until ctx is done.
func (n *Node) keepWatch(ctx context.Context) {
	every(ctx, time.Duration(keepEvery), func() {
		n.driver.Post(func(now machine.Time) { n.watch.keep(n.count(now)) })
	})
}

// every calls f again and again, the first time after an interval, until ctx is done.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// keep adds a reading and forgets those that are too old.
func (w *observer) keep(c counters) {
	w.readings = append(w.readings, c)
	for len(w.readings) > 2 && c.at-w.readings[1].at >= lossWindow {
		w.readings = append(w.readings[:0], w.readings[1:]...)
	}
}

// count reads the counters. Loop goroutine.
func (n *Node) count(now machine.Time) counters {
	c := counters{at: now, asleep: n.driver.Asleep(), faces: map[machine.FaceID]faceCounters{}, paths: map[pathKey]uint64{}}
	for _, s := range n.node.Forwarder().Stats(nil) {
		c.faces[s.ID] = faceCounters{sent: s.Sent, missed: s.Missed}
	}
	for _, f := range n.driver.Faces() {
		k := c.faces[f.ID]
		k.in, k.out = f.BytesIn, f.BytesOut
		c.faces[f.ID] = k
	}
	for _, f := range n.recent(now) {
		for _, p := range paths(&f) {
			c.paths[pathKey{string(f.Name), p.Face}] = p.Bytes
		}
	}
	return c
}

// recent are the flows that are told about.
func (n *Node) recent(now machine.Time) []forward.FlowState {
	return n.node.Forwarder().Recent(nil, max(now-recentFlow, 0), maxFlows)
}

// paths are those of the epoch of a flow that is in use.
func paths(f *forward.FlowState) []forward.PathState {
	switch {
	case len(f.Epochs) == 0:
		return nil
	case f.Source:
		return f.Epochs[0].Faces
	}
	return f.Epochs[len(f.Epochs)-1].Faces // the newest that came through
}

// before is the newest reading that is at least so old, or the oldest there is; false: there is none.
func (w *observer) before(now, age machine.Time) (c counters, ok bool) {
	for i := len(w.readings) - 1; i >= 0; i-- {
		c, ok = w.readings[i], true
		if now-c.at >= age {
			break
		}
	}
	return c, ok && now > c.at
}

// rate is the growth of a counter per second.
func rate(now, then uint64, d machine.Time) float64 {
	if d <= 0 || now <= then {
		return 0
	}
	return float64(now-then) / d.Seconds()
}

// faces tells of the faces to other nodes, without what they lead to. Loop goroutine.
func (n *Node) faces(now machine.Time) (all []status.Face) {
	stats := make(map[machine.FaceID]forward.FaceStats)
	for _, s := range n.node.Forwarder().Stats(nil) {
		stats[s.ID] = s
	}
	lately, _ := n.watch.before(now, keepEvery)
	once, _ := n.watch.before(now, lossWindow)
	for _, f := range n.driver.Faces() {
		if f.Stream {
			continue
		}
		all = append(all, faceOf(now, f, stats[f.ID], lately, once))
		if id := n.node.Neighbour(f.ID); id != 0 {
			all[len(all)-1].Node = nodeID(id)
		}
	}
	return all
}

func faceOf(now machine.Time, f driver.FaceInfo, s forward.FaceStats, lately, once counters) status.Face {
	x := status.Face{
		ID: uint32(f.ID), Name: f.Name, Peer: f.Remote.String(), Local: f.Local.String(), Dialled: !f.OnDemand, Encrypted: f.Protected, State: status.Up,
		RTT: s.SRTT.Seconds(), LeastRTT: s.LeastRTT.Seconds(), Queue: s.DataQueued, Capacity: s.Capacity, PeerData: s.PeerData, PeerAsks: s.PeerAsks,
		Allowed: s.Rate, Cap: s.Limit, Waiting: s.Outstanding, Changed: (now - s.Changed).Seconds(), Heard: -1, MTU: f.MTU,
		InBytes: f.BytesIn, OutBytes: f.BytesOut, Content: s.ContentIn, Sent: s.Sent, Missed: s.Missed, Drops: s.Drops,
		Errors: f.SendErrors, Oversized: f.Oversized, KernelDrops: f.KernelDrops, ReceiveBuffer: f.ReceiveBuffer,
	}
	if f.LastHeard > 0 {
		x.Heard = (now - f.LastHeard).Seconds()
	}
	if f.Err != nil {
		x.Error = f.Err.Error()
	}
	switch {
	case !f.Up:
		x.State = status.Handshake
	case f.Err != nil:
		x.State = status.Failing
	case !s.Up:
		x.State = status.Down
	case s.Suspended:
		x.State = status.Suspended
	}
	d := now - lately.at
	before := lately.faces[f.ID]
	x.In, x.Out = rate(f.BytesIn, before.in, d), rate(f.BytesOut, before.out, d)
	if was := once.faces[f.ID]; s.Sent > was.sent {
		x.Loss = min(float64(s.Missed-was.missed)/float64(s.Sent-was.sent), 1)
	}
	return x
}
