package swarm

import (
	"path/filepath"
	"reflect"
	"testing"

	"mars/internal/sim"
)

// TestFiles: a plan that is written and read again is the same plan.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(300) {
		p := Make(seed)
		path, err := Save(dir, &p, sim.Verdict{Kind: sim.Stuck, Why: `it says "no": really`})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: wrote %+v, read %+v", seed, p, again)
		}
	}
}

// TestRegressions replays the plans that have failed once.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/regress/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no regression files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if v := Judge(&p, false); v.Kind != sim.Fine {
				t.Errorf("%s at %v: %s\n%s", v.Kind, v.At, v.Why, v.Stack)
			}
		})
	}
}
