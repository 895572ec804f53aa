package sim

import (
	"fmt"
	"slices"

	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// watch looks at a run from outside: after every act of a host the invariants of protocol.md §5.5 and §8 must hold at that host,
// and the paths of each flow must have no cycle. It stops the run at the first that doesn't.
type watch struct {
	w        *world
	auditors []*forward.Auditor // by host; nil: no forwarder
	lives    []*forward.Forwarder
	edges    [][]forward.Edge // by host, as last seen
	scratch  []forward.Edge
	path     []int // of the search for a cycle
	cyclic   bool  // the system may have cycles: not looked for
	violated string
	seen     map[chunkOf]bool // what the applications have got
	received int64            // at the last look for progress
	moved    machine.Time     // when there was some
}

type chunkOf struct {
	flow  *flow
	chunk int64
}

// newWatch has a world watched.
func newWatch(w *world) *watch {
	n := len(w.net.hosts)
	v := &watch{
		w: w, auditors: make([]*forward.Auditor, n), lives: make([]*forward.Forwarder, n), edges: make([][]forward.Edge, n),
		seen: make(map[chunkOf]bool), cyclic: w.system.plain || w.system.ends != forward.Mars,
	}
	w.net.watch = v.acted
	for _, c := range w.consumers {
		if c, ok := c.(*consumer); ok && c != nil {
			c.eye = v
		}
	}
	return v
}

func (v *watch) fail(format string, args ...any) {
	if v.violated == "" {
		v.violated = fmt.Sprintf(format, args...)
	}
}

// acted checks the host that has just acted.
func (v *watch) acted(host int) {
	node := v.w.nodes[host]
	if node == nil || v.violated != "" {
		return
	}
	fw := node.Forwarder()
	if v.lives[host] != fw { // it was restarted: what it said before is forgotten
		v.lives[host], v.auditors[host] = fw, forward.NewAuditor()
		v.auditors[host].Least = func(face machine.FaceID) machine.Time { return v.w.least(host, face) }
	}
	h := &v.w.net.hosts[host]
	if wrong := v.auditors[host].Check(h.local(v.w.net.now), fw); wrong != "" {
		v.fail("%s: %s", h.name, wrong)
		return
	}
	if v.cyclic {
		return
	}
	v.scratch = fw.Edges(v.scratch[:0])
	if slices.Equal(v.scratch, v.edges[host]) {
		return
	}
	v.edges[host] = append(v.edges[host][:0], v.scratch...)
	for _, e := range v.scratch {
		v.path = v.path[:0]
		if v.returns(host, host, e) {
			v.fail("%s: the paths of a flow in epoch %d go in a circle through %d nodes", h.name, e.Epoch, len(v.path))
			return
		}
	}
}

// least is less than any round trip by a face of a host: clocks may run a little slow.
func (w *world) least(host int, face machine.FaceID) machine.Time {
	ports := w.net.hosts[host].ports
	if int(face) < 1 || int(face) > len(ports) {
		return 0
	}
	l := &w.w.Links[ports[face-1].link/2]
	return machine.Time(l.AB.Delay+l.BA.Delay) * 3 / 4
}

// returns tells whether the paths of e's flow and epoch that go on from node at lead back to the node home.
func (v *watch) returns(home, at int, e forward.Edge) bool {
	v.path = append(v.path, at)
	for _, f := range v.edges[at] {
		if f.Flow != e.Flow || f.Boot != e.Boot || f.Epoch != e.Epoch || int(f.Face) > len(v.w.net.hosts[at].ports) {
			continue
		}
		next := int(v.w.net.addrs[v.w.net.hosts[at].ports[f.Face-1].addr])
		if next == home {
			return true
		}
		if !slices.Contains(v.path, next) && v.returns(home, next, e) {
			return true
		}
	}
	return false
}

// chunk is told of every verified chunk that an application gets.
func (v *watch) chunk(f *flow, chunk int64) {
	if v == nil {
		return
	}
	key := chunkOf{f, chunk}
	if v.seen[key] {
		v.fail("%s: chunk %d came to the application twice", f.name, chunk)
	}
	v.seen[key] = true
}

// whole checks what a flow that has ended leaves.
func (v *watch) whole(f *flow) {
	if f.corrupt > 0 && !v.corrupted() {
		v.fail("%s: %d chunks came with a wrong hash, and no fault corrupts packets", f.name, f.corrupt)
	}
	if f.t100 >= 0 && f.received != f.size {
		v.fail("%s: it ended with %d bytes of %d", f.name, f.received, f.size)
	}
	if f.failed != nil && !v.mayFail(f.failedAt) {
		v.fail("%s: it failed: %v", f.name, f.failed)
	}
}

// grace is how long after healing a transfer may still end with an error: it told the truth when it gave up waiting.
const grace = 3 * machine.Second

// mayFail tells whether a transfer may end with an error at a time: a fault is on, or was just before.
func (v *watch) mayFail(at machine.Time) bool {
	last := machine.Time(-grace)
	for i := range v.w.w.Faults {
		last = max(last, machine.Time(v.w.w.Faults[i].At+v.w.w.Faults[i].For))
	}
	return at <= last+grace && len(v.w.w.Faults) > 0
}

func (v *watch) corrupted() bool {
	return slices.ContainsFunc(v.w.w.Faults, func(f scenario.Fault) bool { return f.Kind == scenario.Corrupt })
}
