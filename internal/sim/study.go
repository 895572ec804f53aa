package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"mars/internal/machine"
	"mars/internal/scenario"
)

// StudyOptions say which part of a scenario is run, and how.
type StudyOptions struct {
	Systems []string           // nil: those of the scenario that can be simulated
	Control []string           // congestion controllers of endpoint systems that name none; nil: those of the scenario
	Seeds   scenario.Seeds     // Count 0: those of the scenario
	Points  map[string]float64 // parameters that a point must have; nil: all points
	// Keep tells which points are run; nil: all.
	Keep    func(params map[string]float64) bool
	Workers int     // runs at once; 0: one per processor
	Run     Options // its Graph is kept for the first seed alone
	// Traced returns the options of one run, if they are to differ from Run; nil: they don't.
	Traced func(point int, system string, seed uint64) (Options, error)
	// Progress is told how many runs there are before the first, and of every run that has ended; nil: nobody is.
	Progress func(done, total int)
	// Earlier returns a run that was made before and needn't be made again; nil: none was.
	Earlier func(params map[string]float64, system string, seed uint64) (scenario.Run, bool)
	// Made is told of every run that was made now, never twice at once; nil: nobody is.
	Made  func(params map[string]float64, system string, seed uint64, run scenario.Run) error
	Clock func() float64 // wall clock in seconds; nil: runs aren't timed
}

// ErrNothing is returned when nothing is left to run.
var ErrNothing = errors.New("nothing to run")

// Study runs every point of a scenario with every system and every seed. The result doesn't depend on the number of workers.
// Systems that can't be simulated yet are left out when the scenario names them, and noted in the manifest.
func Study(ctx context.Context, s *scenario.Scenario, opt StudyOptions) (*scenario.Result, error) {
	worlds, err := s.Worlds()
	if err != nil {
		return nil, err
	}
	worlds = slices.DeleteFunc(worlds, func(w scenario.World) bool {
		return !selected(&w, opt.Points) || opt.Keep != nil && !opt.Keep(w.ParamMap())
	})
	if len(worlds) == 0 {
		return nil, fmt.Errorf("%w: no point of the sweep has these parameters", ErrNothing)
	}
	names, missing, err := chooseSystems(s, opt.Systems)
	if err != nil {
		return nil, err
	}
	if opt.Control == nil {
		opt.Control = s.Controls
	}
	if names, err = controlled(names, opt.Control); err != nil {
		return nil, err
	}
	seeds := opt.Seeds
	if seeds.Count == 0 {
		seeds = s.Seeds
	}
	opt.Seeds = seeds
	r := &scenario.Result{
		SchemaVersion: scenario.SchemaVersion, Scenario: s.Name, Title: s.Title,
		Manifest: scenario.Manifest{
			Runner: "sim", ScenarioHash: s.Hash(), FirstSeed: seeds.First, Seeds: seeds.Count,
			GOARCH: runtime.GOARCH, GOOS: runtime.GOOS, Notes: slices.Clone(s.Notes),
		},
	}
	if t := opt.Run.Tuning; t != (Tuning{}) {
		r.Manifest.Notes = append(r.Manifest.Notes, fmt.Sprintf("Tuned (0 is the profile's value): window %v chunks, standing %v ms", t.Window, int64(t.Standing/machine.Millisecond)))
	}
	for _, m := range missing {
		r.Manifest.Notes = append(r.Manifest.Notes, m+" can't be simulated yet and is left out")
	}
	for _, name := range names {
		if n := Note(name); n != "" {
			r.Manifest.Notes = append(r.Manifest.Notes, n)
		}
	}
	for i := range worlds {
		r.Points = append(r.Points, newPoint(s, &worlds[i], names, seeds.Count))
	}
	if err := runAll(ctx, worlds, r, names, seeds, opt); err != nil {
		return nil, err
	}
	for i := range r.Points {
		if err := conclude(&worlds[i], &r.Points[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// selected tells whether a point has the parameters wanted.
func selected(w *scenario.World, want map[string]float64) bool {
	have := w.ParamMap()
	for name := range want { // order: all must hold
		if v, ok := have[name]; !ok || v != want[name] {
			return false
		}
	}
	return true
}

func chooseSystems(s *scenario.Scenario, asked []string) (names, missing []string, err error) {
	if asked != nil {
		for _, name := range asked {
			if _, err := findSystem(name); err != nil {
				return nil, nil, err
			}
		}
		return asked, nil, nil
	}
	for _, name := range s.Systems {
		if _, err := findSystem(name); err != nil {
			missing = append(missing, name)
		} else {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%w: none of the scenario's systems can be simulated", ErrNothing)
	}
	return names, missing, nil
}

// controlled gives each endpoint system that names no congestion controller each of some.
func controlled(names, controls []string) (all []string, err error) {
	for _, name := range names {
		s, err := findSystem(name)
		if err != nil {
			return nil, err
		}
		if s.endpoints == nil || s.controller != "" || len(controls) == 0 {
			all = append(all, name)
			continue
		}
		for _, c := range controls {
			if _, err := findSystem(name + ":" + c); err != nil {
				return nil, err
			}
			all = append(all, name+":"+c)
		}
	}
	return all, nil
}

// job is one run and where its result goes.
type job struct {
	point  int
	system int
	index  int // of the seed
}

// runAll plays all runs, several at once, each in a world of its own.
func runAll(ctx context.Context, worlds []scenario.World, r *scenario.Result, names []string, seeds scenario.Seeds, opt StudyOptions) error {
	var jobs []job
	made := 0
	for p := range worlds {
		for i := range seeds.Count {
			for s := range names {
				if opt.Earlier != nil {
					if run, ok := opt.Earlier(r.Points[p].Params, names[s], seeds.First+uint64(i)); ok {
						r.Points[p].Systems[s].Runs[i] = run
						made++
						continue
					}
				}
				jobs = append(jobs, job{p, s, i})
			}
		}
	}
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		next  int
		ended = made
		first error
	)
	if opt.Progress != nil {
		opt.Progress(made, made+len(jobs))
	}
	for range min(workers, len(jobs)) {
		wait.Go(func() {
			for {
				mutex.Lock()
				if next == len(jobs) || first != nil || ctx.Err() != nil {
					mutex.Unlock()
					return
				}
				j := jobs[next]
				next++
				mutex.Unlock()
				run, err := runOne(&worlds[j.point], names[j.system], seeds.First+uint64(j.index), j.point, opt)
				mutex.Lock()
				if err != nil && first == nil {
					first = fmt.Errorf("%s, seed %d: %w", names[j.system], seeds.First+uint64(j.index), err)
				}
				r.Points[j.point].Systems[j.system].Runs[j.index] = run
				if err == nil && opt.Made != nil && first == nil {
					first = opt.Made(r.Points[j.point].Params, names[j.system], run.Seed, run)
				}
				ended++
				if opt.Progress != nil {
					opt.Progress(ended, made+len(jobs))
				}
				mutex.Unlock()
			}
		})
	}
	wait.Wait()
	return errors.Join(first, ctx.Err())
}

func runOne(w *scenario.World, system string, seed uint64, point int, opt StudyOptions) (scenario.Run, error) {
	o := opt.Run
	if opt.Traced != nil {
		var err error
		if o, err = opt.Traced(point, system, seed); err != nil {
			return scenario.Run{}, err
		}
	}
	if seed != opt.Seeds.First { // pictures of one seed are enough
		o.Graph = false
	}
	began := 0.0
	if opt.Clock != nil {
		began = opt.Clock()
	}
	run, err := Run(w, system, seed, o)
	if seed != opt.Seeds.First {
		for i := range run.Flows {
			for k := range run.Flows[i].Subflows {
				run.Flows[i].Subflows[k].Series = nil
			}
		}
	}
	if c, ok := o.Trace.(io.Closer); ok && opt.Traced != nil {
		err = errors.Join(err, c.Close())
	}
	if opt.Clock != nil {
		run.WallSecond = opt.Clock() - began
	}
	return run, err
}

// newPoint is a point with room for its runs.
func newPoint(s *scenario.Scenario, w *scenario.World, systems []string, seeds int) scenario.Point {
	p := scenario.Point{Params: w.ParamMap(), Paper: s.PaperAt(w)}
	for _, name := range systems {
		p.Systems = append(p.Systems, scenario.System{Name: name, Runs: make([]scenario.Run, seeds)})
	}
	return p
}
