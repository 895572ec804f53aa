package swarm

import (
	"context"
	"runtime"
	"sync"

	"mars/internal/sim"
)

// Options say which seeds are run, and how.
type Options struct {
	Start   uint64
	Seeds   int
	Workers int                    // at once; 0: one per processor
	Most    int                    // failures after which it stops; 0: it goes on
	Tell    func(done, failed int) // called after each seed, never twice at once; nil: nobody is told
}

// Failure is a plan that failed.
type Failure struct {
	Plan    Plan
	Verdict sim.Verdict
}

// sampled is how many seeds go by for each that is run twice.
const sampled = 16

// Run runs the plans of the seeds, and returns those that failed, by seed, and how many were run.
func Run(ctx context.Context, o Options) (failures []Failure, done int) {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	next := 0
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= o.Seeds || ctx.Err() != nil || o.Most > 0 && len(failures) >= o.Most {
			return 0, false
		}
		next++
		return o.Start + uint64(next-1), true
	}
	put := func(p Plan, v sim.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if v.Kind != sim.Fine {
			failures = insert(failures, Failure{p, v})
		}
		if o.Tell != nil {
			o.Tell(done, len(failures))
		}
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				seed, ok := take()
				if !ok {
					return
				}
				p := Make(seed)
				put(p, Judge(&p, seed%sampled == 0))
			}
		})
	}
	wg.Wait()
	return failures, done
}

// insert keeps failures in order of their seeds.
func insert(all []Failure, f Failure) []Failure {
	all = append(all, f)
	for i := len(all) - 1; i > 0 && all[i-1].Plan.Seed > all[i].Plan.Seed; i-- {
		all[i-1], all[i] = all[i], all[i-1]
	}
	return all
}
