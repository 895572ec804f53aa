package main

import (
	"os"
	"path/filepath"
	"testing"

	"mars/internal/scenario"
)

// TestJournal: what was made is there again for the same study, also when the last line was cut off, and for no other one.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	head := journalHead{"hash", "1.0", "options"}
	j, err := openJournal(dir, head)
	if err != nil {
		t.Fatal(err)
	}
	a, b := runKey(map[string]float64{"x": 1, "a": 2}, "TCP:reno", 1), runKey(nil, "TCP", 2)
	for i, key := range []string{a, b} {
		if err := j.add(key, scenario.Run{Seed: uint64(i + 1), Measured: map[string]float64{"jain": 0.1 + 0.2}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, journalFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-9], 0o666); err != nil {
		t.Fatal(err)
	}
	if j, err = openJournal(dir, head); err != nil {
		t.Fatal(err)
	}
	if len(j.made) != 1 || j.made[a].Seed != 1 || j.made[a].Measured["jain"] != 0.1+0.2 {
		t.Errorf("%+v", j.made)
	}
	if err := j.close(false); err != nil {
		t.Fatal(err)
	}
	head.Scenario = "another"
	if j, err = openJournal(dir, head); err != nil || len(j.made) != 0 {
		t.Errorf("%v, %+v", err, j)
	}
	if err := j.close(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a whole study leaves its journal")
	}
}
