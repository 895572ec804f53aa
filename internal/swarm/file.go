package swarm

import (
	"fmt"
	"os"
	"path/filepath"

	"mars/internal/scenario"
	"mars/internal/sim"
)

// Text is a plan as a scenario file; why is told in its title.
func (p *Plan) Text(name, why string) string {
	return scenario.Write(name, why, p.System, p.Seed, []string{fmt.Sprintf("Made smaller from swarm seed %d.", p.Seed)}, &p.World)
}

// Save writes a failed plan to a directory, and returns the file's path.
func Save(dir string, p *Plan, v sim.Verdict) (string, error) {
	name := fmt.Sprintf("swarm-%d-%s", p.Seed, v.Kind)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".yaml")
	return path, os.WriteFile(path, []byte(p.Text(name, v.Why)), 0o666)
}

// Load reads a plan: a scenario file with one point, one system and one seed.
func Load(path string) (Plan, error) {
	s, err := scenario.Load(path)
	if err != nil {
		return Plan{}, err
	}
	worlds, err := s.Worlds()
	if err != nil {
		return Plan{}, err
	}
	if len(worlds) != 1 || len(s.Systems) != 1 || s.Seeds.Count != 1 {
		return Plan{}, fmt.Errorf("%s: a plan has one point, one system and one seed; split it", path)
	}
	return Plan{Seed: s.Seeds.First, System: s.Systems[0], World: worlds[0]}, nil
}
