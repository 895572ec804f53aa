package swarm

import (
	"hash/fnv"
	"os/exec"
	"testing"

	"mars/internal/sim"
)

// always is how many seeds every test run runs.
const always = 50

// TestSwarm runs the first seeds, and one that the commit decides: every commit adds one that nobody has run.
func TestSwarm(t *testing.T) {
	search(t, Options{Seeds: always})
	if seed, ok := commitSeed(); ok {
		search(t, Options{Start: seed, Seeds: 1})
	}
}

func search(t *testing.T, o Options) {
	t.Helper()
	out := Run(t.Context(), o)
	if out.Done != o.Seeds {
		t.Errorf("%d of %d seeds were run", out.Done, o.Seeds)
	}
	for _, f := range out.Failures {
		small, v := Shrink(f.Plan, f.Verdict.Kind, 200)
		t.Errorf("seed %d: %s: %s\n%s\nmars sim swarm --seeds 1 --start %d runs it again; made smaller:\n%s",
			f.Plan.Seed, f.Verdict.Kind, f.Verdict.Why, f.Verdict.Stack, f.Plan.Seed, small.Text("small", v.Why))
	}
}

// commitSeed is derived from the commit that is checked out; false: there is none.
func commitSeed() (uint64, bool) {
	rev, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return 0, false
	}
	h := fnv.New32a() // 32 bits: short enough to be typed
	h.Write(rev)      // never fails
	return uint64(h.Sum32()), true
}

// TestWorkersDontMatter: plans that run side by side do what they do one after the other.
func TestWorkersDontMatter(t *testing.T) {
	const seeds = 24
	var traces []string
	for seed := range uint64(seeds) {
		p := Make(seed)
		traces = append(traces, Judge(&p, false).Run.TraceHash)
	}
	for _, workers := range []int{1, 4} {
		if got, want := Run(t.Context(), Options{Seeds: seeds, Workers: workers}).Hash, digest(traces); got != want {
			t.Errorf("%d workers: the traces' hash is %s, and alone %s", workers, got, want)
		}
	}
	traces[3], traces[4] = traces[4], traces[3]
	if digest(traces) == Run(t.Context(), Options{Seeds: seeds}).Hash {
		t.Error("the hash doesn't tell which seed did what")
	}
}

// TestKindsAppear: all kinds of fault, and none, are among the plans.
func TestKindsAppear(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(500) {
		p := Make(seed)
		if len(p.World.Faults) == 0 {
			seen["calm"]++
		}
		for _, f := range p.World.Faults {
			seen[string(f.Kind)]++
		}
		seen[p.System]++
	}
	for _, k := range kinds {
		if seen[string(k)] < 10 {
			t.Errorf("%s appears %d times", k, seen[string(k)])
		}
	}
	if seen["calm"] < 50 || seen["PCON"] == 0 || seen["MARS-IP-paper"] == 0 {
		t.Errorf("%v", seen)
	}
}

// TestJudgeRefuses: a plan that can't be run is told as such.
func TestJudgeRefuses(t *testing.T) {
	p := Make(1)
	p.System = "no such system"
	if v := Judge(&p, false); v.Kind != Impossible {
		t.Errorf("%+v", v)
	}
	if p = Make(1); Judge(&p, true).Kind != sim.Fine {
		t.Error("seed 1 fails")
	}
}
