package swarm

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
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

// Outcome is what a run of many seeds came to.
type Outcome struct {
	Failures []Failure // by seed
	Done     int       // seeds that were run
	Hash     string    // of the traces of all seeds, by seed: the same whoever ran them, on every machine
}

// sampled is how many seeds go by for each that is run twice.
const sampled = 16

// Run runs the plans of the seeds. It ends early with ctx, and after Most failures.
func Run(ctx context.Context, o Options) Outcome {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	var out Outcome
	next := 0
	traces := make([]string, o.Seeds)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= o.Seeds || ctx.Err() != nil || o.Most > 0 && len(out.Failures) >= o.Most {
			return 0, false
		}
		next++
		return next - 1, true
	}
	put := func(i int, p Plan, v sim.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		out.Done++
		traces[i] = v.Run.TraceHash
		if v.Kind != sim.Fine {
			out.Failures = append(out.Failures, Failure{p, v})
		}
		if o.Tell != nil {
			o.Tell(out.Done, len(out.Failures))
		}
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i, ok := take()
				if !ok {
					return
				}
				p := Make(o.Start + uint64(i))
				put(i, p, Judge(&p, p.Seed%sampled == 0))
			}
		})
	}
	wg.Wait()
	slices.SortFunc(out.Failures, func(a, b Failure) int { return cmp.Compare(a.Plan.Seed, b.Plan.Seed) })
	out.Hash = digest(traces)
	return out
}

func digest(traces []string) string {
	h := fnv.New64a()
	for _, t := range traces {
		fmt.Fprintln(h, t)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
