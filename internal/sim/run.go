package sim

import (
	"fmt"
	"io"
	"math"
	"slices"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// Options are what a run may be asked for beside its result.
type Options struct {
	Series machine.Time // step of the goodput series in the result; 0: none
	Trace  io.Writer    // where to stream what happens, as NDJSON; nil: nowhere
	Every  int64        // trace every n-th packet only; 0: all
	Graph  bool         // each flow's paths in the result

	// Dilation has the kernel's own times in TCP and MPTCP be shorter by this factor, as they are in a lab of that dilation; 0: 1.
	Dilation float64

	Control string // congestion control of endpoint systems that don't name one; "": CUBIC
	Tuning  Tuning
	tracer  *tracer
}

// Run plays one world with one system and one seed. It fails for a system that there isn't, and when the trace can't be
// written.
func Run(w *scenario.World, systemName string, seed uint64, opt Options) (scenario.Run, error) {
	s, err := findSystem(systemName)
	if err != nil {
		return scenario.Run{}, err
	}
	if opt.Trace != nil {
		opt.tracer = newTracer(opt.Trace, opt.Every)
	}
	world, err := s.build(w, seed, opt)
	if err != nil {
		return scenario.Run{}, err
	}
	world.net.trace = opt.tracer
	world.run(machine.Time(w.Limit))
	if opt.tracer != nil {
		if err := opt.tracer.close(); err != nil {
			return scenario.Run{}, fmt.Errorf("write the trace: %w", err)
		}
	}
	if err := world.audit(); err != nil {
		return scenario.Run{}, err
	}
	return world.result(opt), nil
}

// audit checks the books of every link: no more left than its rate carries, and what was taken in has arrived or is under way.
func (w *world) audit() error {
	now := w.net.now
	for i := range w.net.links {
		l := &w.net.links[i]
		if l.taken+int64(l.n) != l.packets {
			return fmt.Errorf("link %s: %d packets were taken in, %d arrived and %d are under way", l.name, l.packets, l.taken, l.n)
		}
		l.settle(now)
		if w.rated(i / 2) {
			continue
		}
		sent := machine.Time(uint64(l.bytes-int64(l.wait)) * l.perByte >> rateShift)
		if sent > now+machine.Time(l.packets) { // a rounding of 1 ns per packet
			return fmt.Errorf("link %s: what it sent takes %v ns at its rate, and only %v ns have passed", l.name, sent, now)
		}
	}
	return nil
}

// rated tells whether a fault changes the rate of a link.
func (w *world) rated(link int) bool {
	return slices.ContainsFunc(w.w.Faults, func(f scenario.Fault) bool { return f.Kind == scenario.SetRate && f.Link == link })
}

// run plays until every flow is over, or to the limit.
func (w *world) run(limit machine.Time) {
	w.net.done = func() bool {
		for ; w.left < len(w.flows); w.left++ {
			if !w.flows[w.left].over() {
				return false
			}
		}
		return true
	}
	w.net.run(limit)
}

func (w *world) result(opt Options) scenario.Run {
	r := scenario.Run{
		Seed: w.net.seed, TraceHash: fmt.Sprintf("%016x", w.net.hash), Events: w.net.events,
		SimSeconds: w.net.now.Seconds(), Looped: w.looped(),
	}
	for i := range w.net.links {
		l := &w.net.links[i]
		r.LinkBytes += l.bytes
		r.LinkDrops += l.drops
		r.LinkLosses += l.losses
	}
	r.LinkDrops += w.queueDrops()
	for _, f := range w.flows {
		if f.follow != nil {
			f.follow()
		}
		r.Flows = append(r.Flows, f.result(opt))
		if f.measured != nil {
			f.measured.result(&w.w.Measure, &r.Flows[len(r.Flows)-1])
		}
	}
	if w.w.Measure != (scenario.Measure{}) {
		r.Measured = w.w.Measured(&r)
	}
	return r
}

func (f *flow) result(opt Options) scenario.FlowResult {
	r := scenario.FlowResult{
		Name: f.name, Group: f.group, T95: -1, T95AfterDiscovery: -1, T100: -1, Paths: f.paths,
		DiscoveryMS: float64(f.discovery.Seconds() * 1e3), Requests: f.requests, Resent: f.resent, Corrupt: f.corrupt, Graph: f.graph,
	}
	if f.t95 >= 0 {
		r.T95 = f.t95.Seconds()
		if f.discovered >= 0 {
			r.T95AfterDiscovery = (f.t95 - (f.discovered - f.start)).Seconds()
		}
	}
	if f.t100 >= 0 {
		r.T100 = f.t100.Seconds()
		r.Goodput = float64(f.size*8) / 1e6 / r.T100
	}
	if opt.Series > 0 {
		r.SeriesStep = opt.Series.Seconds()
		for _, b := range f.series {
			r.Series = append(r.Series, math.Round(float64(b*8)/1e4/r.SeriesStep)/100)
		}
	}
	return r
}
