package sim

import (
	"fmt"
	"slices"

	"mars/internal/bound"
	"mars/internal/scenario"
)

// conclude computes the limits of a point and every system's summary, and checks that no run has beaten physics.
func conclude(w *scenario.World, p *scenario.Point) error {
	if w.Measure != (scenario.Measure{}) { // nothing is timed to its end
		for i := range p.Systems {
			p.Systems[i].Measured = scenario.Spreads(p.Systems[i].Runs)
			p.Systems[i].Summary = scenario.Summarise(w, scenario.WireBound{}, p.Systems[i].Runs)
		}
		return nil
	}
	var err error
	if p.Bounds, err = bound.Of(w, bound.Options{}); err != nil {
		return fmt.Errorf("bound: %w", err)
	}
	for i := range p.Systems {
		if err := judge(w, p, &p.Systems[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Systems[i].Name, err)
		}
	}
	return nil
}

// judge computes the limit and the summary of one system.
func judge(w *scenario.World, p *scenario.Point, s *scenario.System) error {
	sys, err := findSystem(s.Name)
	if err != nil {
		return err
	}
	cost, err := sys.cost(w)
	if err != nil {
		return err
	}
	if s.Wire, err = bound.Wire(sys.routed(w), cost); err != nil {
		return err
	}
	for k := range s.Runs {
		if err := bound.Check(w, p.Bounds, s.Runs[k]); err != nil {
			return fmt.Errorf("seed %d: %w", s.Runs[k].Seed, err)
		}
	}
	s.Summary = scenario.Summarise(w, s.Wire, s.Runs)
	return nil
}

// cost measures what a system sends per byte of payload, by one object over one lossless link that nothing else uses, and says
// which paths it may use.
func (s *system) cost(w *scenario.World) (bound.Cost, error) {
	const size = 4_000_000
	d := scenario.Direction{Rate: 100e6, Delay: 1e6, Packets: 10_000, MTU: 1500}
	if len(w.Links) > 0 {
		d.MTU = w.Links[0].AB.MTU
	}
	two := &scenario.World{
		Limit: 60e9,
		Nodes: []scenario.Node{{Name: "consumer", Role: scenario.Consumer}, {Name: "producer", Role: scenario.Producer}},
		Links: []scenario.Link{{Name: "link", A: 0, B: 1, AB: d, BA: d}},
		Flows: []scenario.Flow{{Name: "f", Consumer: 0, Producer: 1, Bytes: size, ChunkSize: w.Flows[0].ChunkSize}},
	}
	b, err := s.build(two, 1, Options{})
	if err != nil {
		return bound.Cost{}, err
	}
	b.run(60e9)
	f := b.flows[0]
	if f.t100 < 0 {
		return bound.Cost{}, fmt.Errorf("%s can't move an object over one link: %v", s.name, f.failed)
	}
	again := 1 - float64(f.resent)/float64(max(f.requests+f.resent, 1))
	c := bound.Cost{
		Data:     max(float64(float64(b.net.links[1].bytes)/size*again), 1),
		Interest: float64(float64(b.net.links[0].bytes) / size * again),
	}
	c.Paths = s.paths(w)
	return c, nil
}

// paths is how many routes per flow the system may use at most; 0: all within the stretch.
func (s *system) paths(w *scenario.World) int {
	switch {
	case s.single:
		return 1
	case s.endpoints != nil:
		most, own := 1, s.routed(w)
		for i := range own.Flows {
			most = max(most, len(own.Flows[i].Paths))
		}
		return most
	}
	if s.everyone || slices.ContainsFunc(w.Nodes, func(n scenario.Node) bool { return n.MARS }) {
		return 0 // relays choose too, so detours are open
	}
	g, most := newGraph(w), 1
	for i := range w.Flows {
		f := &w.Flows[i]
		hops := g.nextHops(f.Consumer, f.Producer)
		nearest := unreachable
		for _, h := range hops {
			nearest = min(nearest, h.hops)
		}
		n := 0
		for _, h := range hops {
			if h.hops <= nearest+1 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
