package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mars/internal/scenario"
)

// small is a scenario that takes no time.
const small = `name: small
title: One object over one link
systems: [MARS-paper]
seeds: {count: 2}
limit: 30s
sweep: {loss: [0, 1%]}
topology:
  link: {rate: 10 Mbit/s, delay: 1ms, queue: 100 packets, loss: $loss}
  nodes: [{name: c, role: consumer}, {name: p, role: producer}]
  links: [{between: [c, p]}]
workload:
  flows: [{consumer: c, producer: p, size: 100 kB}]
`

// TestSimRun: a scenario's table, and its result as JSON and as a file, the same each time.
func TestSimRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("small.yaml", []byte(small))
	table := s.mars("sim", "run", "small.yaml")
	table.want(t, 0)
	for _, text := range []string{"MARS-paper", "wire bound", "loss = 0.01"} {
		if !strings.Contains(table.stdout, text) {
			t.Errorf("no %q in the table:\n%s", text, table.stdout)
		}
	}
	first := s.mars("sim", "run", "small.yaml", "--json", "-q", "--point", "loss=1%", "-o", "out", "--trace")
	first.want(t, 0)
	var r, again scenario.Result
	if err := json.Unmarshal([]byte(first.stdout), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 1 || len(r.Points[0].Systems[0].Runs) != 2 || r.Points[0].Systems[0].Runs[0].Flows[0].T100 <= 0 {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(s.path("out/result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &again); err != nil || again.Points[0].Systems[0].Runs[1].TraceHash != r.Points[0].Systems[0].Runs[1].TraceHash {
		t.Errorf("the file differs from what was printed (%v)", err)
	}
	if traces, _ := filepath.Glob(s.path("out/trace-*.ndjson")); len(traces) != 2 {
		t.Errorf("traces: %v", traces)
	}
}

// TestSimMistakes: what is wrong is told with its place and a remedy, and the exit code is that of a usage error.
func TestSimMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("small.yaml", []byte(small))
	s.write("typo.yaml", []byte(strings.Replace(small, "delay:", "dely:", 1)))
	s.write("still.yaml", []byte(strings.Replace(small, "10 Mbit/s", "0 Mbit/s", 1)))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nothing.yaml"}, "no such file"},
		{[]string{"typo.yaml"}, "typo.yaml:8:"},
		{[]string{"still.yaml"}, "still.yaml:8:"},
		{[]string{"small.yaml", "--system", "MARZ"}, "MARS-paper"},
		{[]string{"small.yaml", "--point", "loss=0.5"}, "no point of the sweep"},
		{[]string{"small.yaml", "--point", "loss"}, "PARAM=VALUE"},
		{[]string{"small.yaml", "--seeds", "-1"}, "--seeds"},
		{[]string{"small.yaml", "--trace"}, "-o DIR"},
	} {
		s.mars(append([]string{"sim", "run"}, c.args...)...).want(t, 2, c.want)
	}
}
