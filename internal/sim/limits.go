package sim

import (
	"errors"
	"fmt"

	"mars/internal/bound"
	"mars/internal/scenario"
)

// fewPaths is how many routes per flow a limit is taken over where there are too many for all of them.
const fewPaths = 5

// conclude computes the limits of a point and every system's summary, and checks that no run has beaten physics.
func conclude(w *scenario.World, p *scenario.Point) error {
	var err error
	p.Bounds, err = bound.Of(w, bound.Options{})
	if errors.Is(err, bound.ErrTooManyPaths) { // then of the shortest few, which is a lower capacity: no bound in the strict sense
		p.Bounds, err = bound.Of(w, bound.Options{Paths: fewPaths})
		p.Bounds.PathsPerFlow = fewPaths
	}
	if err != nil {
		return fmt.Errorf("bound: %w", err)
	}
	for i := range p.Systems {
		s := &p.Systems[i]
		sys, err := findSystem(s.Name)
		if err != nil {
			return err
		}
		cost, err := sys.cost(w)
		if err != nil {
			return err
		}
		if p.Bounds.PathsPerFlow > 0 {
			cost.Paths = min(max(cost.Paths, 1), fewPaths)
		}
		if s.Wire, err = bound.Wire(w, cost); err != nil {
			return fmt.Errorf("bound of %s: %w", s.Name, err)
		}
		for k := range s.Runs {
			if err := plausible(w, p, &s.Runs[k]); err != nil {
				return fmt.Errorf("%s, seed %d: %w", s.Name, s.Runs[k].Seed, err)
			}
		}
		s.Summary = scenario.Summarise(w, s.Wire, s.Runs)
	}
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
	if s.single {
		return 1
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

// plausible checks a run against what physics allows: no flow is faster than its max-flow alone. What
// fails here is an error of accounting.
func plausible(w *scenario.World, p *scenario.Point, r *scenario.Run) error {
	const slack = 1 - 1e-9
	for i := range r.Flows {
		f := &r.Flows[i]
		if f.T100 < 0 || i >= len(p.Bounds.Isolated) || p.Bounds.Isolated[i] <= 0 {
			continue
		}
		if least := float64(w.Flows[i].Bytes*8) / 1e6 / p.Bounds.Isolated[i]; f.T100 < float64(least*slack) {
			return fmt.Errorf("flow %s took %.3f s, and alone it can't take less than %.3f s: the accounting is wrong", f.Name, f.T100, least)
		}
	}
	return nil
}
