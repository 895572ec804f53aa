package sim

import (
	"bytes"
	"cmp"

	"mars/internal/foreign"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/scenario"
)

// The NDN systems that MARS is compared with (docs/adr/0010). Their consumers ask for plain names, with a window; their
// producers are ours.

// starter is what begins a flow at a consumer.
type starter interface {
	begin(now machine.Time, f *flow)
}

// plainConsumer is the application layer of a host that fetches with the engine for plain NDN objects.
type plainConsumer struct {
	node   *node.Node
	engine *foreign.Engine
	flows  []*flow // those begun
	stored []int64 // bytes of each, in order
	live   []int   // those that aren't over
	events []foreign.Event
	step   machine.Time // of series
	trace  *tracer
}

// plainAhead bounds the segments that a consumer asks for beyond the first one missing: no window comes near.
const plainAhead = 1 << 14

func newPlainConsumer(s *system, seed uint64, opt Options) *plainConsumer {
	return &plainConsumer{
		engine: foreign.New(foreign.Config{Seed: seed, MaxAhead: plainAhead, Control: s.control}),
		step:   opt.Series, trace: opt.tracer,
	}
}

// begin starts a flow.
func (c *plainConsumer) begin(now machine.Time, f *flow) {
	c.engine.Start(now, foreign.Request{Name: f.object, Stall: 120 * machine.Second}) // 1, 2, 3 …
	c.live = append(c.live, len(c.flows))
	c.flows = append(c.flows, f)
	c.stored = append(c.stored, 0)
	c.node.Touch(now)
}

func (c *plainConsumer) turn(now machine.Time) {
	c.count(now)
	for {
		c.events = c.engine.Events(c.events[:0])
		if len(c.events) == 0 {
			return
		}
		for i := range c.events {
			c.handle(now, &c.events[i])
		}
		c.node.Touch(now)
		c.count(now)
	}
}

// count notes what has come, in order or not: a segment that is missing doesn't make the others undelivered.
func (c *plainConsumer) count(now machine.Time) {
	for _, i := range c.live {
		f := c.flows[i]
		if n := c.engine.Stats(foreign.ID(i+1)).Received - f.received; n > 0 {
			f.got(now, int(n), c.step)
		}
	}
}

func (c *plainConsumer) handle(now machine.Time, ev *foreign.Event) {
	i := int(ev.ID) - 1
	f := c.flows[i]
	switch ev.Kind {
	case foreign.Found:
		f.discovered = now
		for _, do := range f.then {
			do(now)
		}
	case foreign.Segment:
		from := c.stored[i]
		c.stored[i] += int64(len(ev.Data))
		if c.stored[i] > f.size || !bytes.Equal(ev.Data, f.content.bytes[from:c.stored[i]]) {
			f.corrupt++
		}
		c.engine.Settle(now, ev.ID, ev.Data)
		if c.trace != nil {
			s := c.engine.Stats(ev.ID)
			c.trace.flow(now, "segment", f.name, figure{"stored", float64(c.stored[i])}, figure{"received", float64(f.received)},
				figure{"window", s.Window}, figure{"in_flight", float64(s.InFlight)}, figure{"resent", float64(s.Resent)})
		}
	case foreign.Done:
		c.count(now)
		if f.t100 = now - f.start; c.stored[i] != f.size {
			f.corrupt++
		}
		c.end(i)
	case foreign.Failed:
		f.failed, f.failedAt = ev.Err, now
		c.end(i)
	}
}

func (c *plainConsumer) end(i int) {
	s := c.engine.Stats(foreign.ID(i + 1))
	f := c.flows[i]
	f.requests, f.resent = s.Segments, int64(s.Resent)
	f.corrupt += int64(s.Corrupt)
	kept := c.live[:0]
	for _, k := range c.live {
		if k != i {
			kept = append(kept, k)
		}
	}
	c.live = kept
}

// dataQueue is the capacity of a face's Data queue, Data packets, that holds what the link's queue holds in a scenario:
// pushData admits twice the capacity.
func (b *builder) dataQueue(d *scenario.Direction) int {
	chunk := 0
	for i := range b.w.Flows {
		chunk = max(chunk, b.w.Flows[i].ChunkSize)
	}
	pieces := 1 + cmp.Or(chunk, defaultChunk)/(d.MTU-headerBytes)
	switch {
	case d.Packets > 0:
		return max(d.Packets/pieces/2, 1)
	case d.Bytes > 0:
		return max(d.Bytes/(pieces*d.MTU)/2, 1)
	}
	return 1 << 20
}

// downhill keeps the next hops from which the way is shorter than from here: those as near as the nearest. No Interest comes
// back by these.
func downhill(hops []nextHop) []nextHop {
	nearest := unreachable
	for _, h := range hops {
		nearest = min(nearest, h.hops)
	}
	var kept []nextHop
	for _, h := range hops {
		if h.hops == nearest {
			kept = append(kept, h)
		}
	}
	return kept
}

// looped is how many Interests came back to a node that had them already.
func (w *world) looped() int64 { return w.dropped(forward.DropLooped) }

// queueDrops is how many Data packets found the Data queue of a face full: where a node knows the rate of its links, that is
// the link's queue.
func (w *world) queueDrops() int64 { return w.dropped(forward.DropDataQueue) }

func (w *world) dropped(r forward.DropReason) (n int64) {
	for _, node := range w.nodes {
		if node != nil {
			n += int64(node.Forwarder().Dropped(r))
		}
	}
	return n
}
