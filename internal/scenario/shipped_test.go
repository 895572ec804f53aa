package scenario

import (
	"path/filepath"
	"testing"
)

func shipped(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	return files
}

// TestShippedScenarios loads every scenario that we ship.
func TestShippedScenarios(t *testing.T) {
	for _, file := range shipped(t) {
		s, err := Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := s.Name + ".yaml"; filepath.Base(file) != want {
			t.Errorf("%s is called %s: its file should be %s", file, s.Name, want)
		}
		worlds, err := s.Worlds()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%s: %d points, first: %d nodes, %d links, %d flows", s.Name, len(worlds), len(worlds[0].Nodes), len(worlds[0].Links), len(worlds[0].Flows))
	}
}
