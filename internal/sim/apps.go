package sim

import (
	"bytes"
	"fmt"

	"mars/internal/fetch"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/publish"
	"mars/internal/scenario"
	"mars/internal/wire"
)

// flow is one object on its way, as its consumer sees it.
type flow struct {
	name     string
	group    int
	object   wire.Name
	path     wire.Name // dest and src: what discovery knows it by
	size     int64
	chunk    int // bytes of content per Data packet
	start    machine.Time
	content  *content
	received int64
	t95      machine.Time // −1: not yet
	t100     machine.Time
	failed   error
	failedAt machine.Time

	discovered machine.Time // when the first discovery ended; −1: not yet
	discovery  machine.Time // how long it took
	paths      int          // validated by then
	requests   int64
	resent     int64
	corrupt    int64
	series     []float64                // bytes per step
	then       []func(now machine.Time) // to do when discovery has ended
	graph      []scenario.Hop
	follow     func()    // fills graph, if that was asked for
	measured   *measured // nil: it isn't measured over a window
	stopped    bool      // by the plan

	id fetch.ID
}

// over tells whether nothing more will happen.
func (f *flow) over() bool { return f.t100 >= 0 || f.failed != nil || f.stopped }

// got counts verified bytes.
func (f *flow) got(now machine.Time, n int, step machine.Time) {
	f.received += int64(n)
	if f.t95 < 0 && f.received*100 >= f.size*95 {
		f.t95 = now - f.start
	}
	if step > 0 {
		i := int((now - f.start) / step)
		for len(f.series) <= i {
			f.series = append(f.series, 0)
		}
		f.series[i] += float64(n)
	}
}

// consumer is the application layer of a host that fetches with the MARS engine.
type consumer struct {
	node   *node.Node
	engine *fetch.Engine
	flows  []*flow // those begun
	// undiscovered are those of them whose first discovery hasn't ended.
	undiscovered []*flow
	live         int
	events       []fetch.Event
	step         machine.Time // of series
	trace        *tracer
	eye          *watch // nil: nobody looks
}

// begin starts a flow.
func (c *consumer) begin(now machine.Time, f *flow) {
	f.id = c.engine.Start(now, fetch.Request{Name: f.object, Stall: 120 * machine.Second})
	c.flows = append(c.flows, f)
	c.undiscovered = append(c.undiscovered, f)
	c.live++
	c.node.Touch(now)
}

func (c *consumer) turn(now machine.Time) {
	for {
		c.events = c.engine.Events(c.events[:0])
		if len(c.events) == 0 {
			break
		}
		for i := range c.events {
			c.handle(now, &c.events[i])
		}
		c.node.Touch(now)
	}
	c.watch(now)
}

func (c *consumer) handle(now machine.Time, ev *fetch.Event) {
	f := c.flows[int(ev.ID)-1]
	switch ev.Kind {
	case fetch.Resolved:
		c.engine.Accept(now, ev.ID, nil)
	case fetch.Chunk:
		want := f.content.chunk(ev.Chunk)
		ok := bytes.Equal(ev.Data, want) && ev.Want == f.content.manifest.ChunkDigest(ev.Chunk)
		n := len(ev.Data)
		c.engine.Settle(now, ev.ID, ev.Chunk, ev.Data, ok)
		if !ok {
			f.corrupt++
			return
		}
		f.got(now, n, c.step)
		c.eye.chunk(f, ev.Chunk)
		if c.trace != nil {
			s := c.engine.Stats(f.id)
			c.trace.flow(now, "chunk", f.name, figure{"chunk", float64(ev.Chunk)}, figure{"received", float64(f.received)},
				figure{"rate_mbps", s.Rate * 8 / 1e6}, figure{"window", s.Window}, figure{"in_flight", float64(s.InFlight)})
		}
	case fetch.Done:
		f.t100 = now - f.start
		c.end(f)
	case fetch.Failed:
		f.failed, f.failedAt = ev.Err, now
		c.end(f)
	}
}

func (c *consumer) end(f *flow) {
	s := c.engine.Stats(f.id)
	f.resent, f.requests = int64(s.Resent), f.content.manifest.Chunks()
	c.live--
}

// watch notes when discoveries end.
func (c *consumer) watch(now machine.Time) {
	waiting := c.undiscovered[:0]
	for _, f := range c.undiscovered {
		s, ok := c.node.Forwarder().Flow(f.path)
		if !ok || s.Duration == 0 || len(s.Epochs) == 0 {
			if !f.over() {
				waiting = append(waiting, f)
			}
			continue
		}
		f.discovered, f.discovery = now, s.Duration
		for _, p := range s.Epochs[0].Faces {
			if p.Valid {
				f.paths++
			}
		}
		if c.trace != nil {
			c.trace.flow(now, "discovered", f.name, figure{"paths", float64(f.paths)}, figure{"took_s", f.discovery.Seconds()})
		}
		for _, do := range f.then {
			do(now)
		}
	}
	c.undiscovered = waiting
}

// producer is the application layer of a host that serves.
type producer struct {
	node     *node.Node
	engine   *publish.Engine
	prefix   wire.Name
	objects  map[string]*content
	requests []publish.Request
}

func (p *producer) turn(now machine.Time) {
	for {
		p.requests = p.engine.Requests(p.requests[:0])
		p.engine.Spent(nil)
		if len(p.requests) == 0 {
			return
		}
		for _, r := range p.requests {
			p.answer(now, r)
		}
		p.node.Touch(now)
	}
}

func (p *producer) answer(now machine.Time, r publish.Request) {
	if r.Kind == publish.Read {
		p.engine.Read(now, r.ID, r.Object.Handle.(*content).chunk(r.Chunk), nil)
		return
	}
	c := p.objects[string(r.Name)]
	if c == nil {
		p.engine.Resolved(now, r.ID, nil, fmt.Errorf("%w: %v", publish.ErrNotFound, r.Name))
		return
	}
	p.engine.Resolved(now, r.ID, &publish.Object{Name: r.Name, Dest: p.prefix, Manifest: c.manifest, Handle: c}, nil)
}
