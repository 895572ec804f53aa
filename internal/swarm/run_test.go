package swarm

import (
	"hash/fnv"
	"os/exec"
	"reflect"
	"testing"

	"mars/internal/sim"
)

// always is how many seeds every test run runs. Seeds with bugs that are known and open are listed in scenarios/regress/open.
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
	failures, done := Run(t.Context(), o)
	if done != o.Seeds {
		t.Errorf("%d of %d seeds were run", done, o.Seeds)
	}
	for _, f := range failures {
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

// TestWorkersDontMatter: the same seeds fail, whoever runs them.
func TestWorkersDontMatter(t *testing.T) {
	hashes := func(workers int) (all []string) {
		for seed := range uint64(8) {
			p := Make(seed)
			all = append(all, Judge(&p, false).Run.TraceHash)
		}
		_, done := Run(t.Context(), Options{Seeds: 8, Workers: workers})
		if done != 8 {
			t.Errorf("%d of 8 were run", done)
		}
		return all
	}
	if one, two := hashes(1), hashes(2); !reflect.DeepEqual(one, two) {
		t.Errorf("%v, and then %v", one, two)
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
