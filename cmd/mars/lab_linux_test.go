package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mars/internal/lab"
	"mars/internal/scenario"
)

// twoPaths is a scenario whose shorter path dies silently in the midst of the object.
const twoPaths = `name: twopaths
title: Two paths, of which one dies
systems: [MARS, MPTCP-Oracle, MPQUIC-Oracle]
seeds: {count: 1}
limit: 20s
topology:
  link: {rate: 20 Mbit/s, delay: 5ms, queue: 100 packets}
  nodes: [{name: c, role: consumer}, {name: a, role: relay}, {name: b, role: relay}, {name: p, role: producer}]
  links:
    - {between: [c, a]}
    - {between: [a, p]}
    - {between: [c, b], rate: 10 Mbit/s}
    - {between: [b, p], rate: 10 Mbit/s}
workload:
  flows: [{consumer: c, producer: p, size: 2 MB}]
faults:
  - {kind: blackhole, link: c-a, at: 400ms}
`

func needsLab(t *testing.T) {
	t.Helper()
	if err := lab.Check(); err != nil {
		t.Skip("no lab here: ", err)
	}
}

// TestLab: MARS, the kernel's MPTCP and MPQUIC bring an object whole over two emulated paths though one of them dies, and nothing of the
// lab is left. No time is asserted but that which physics asks for: the machine may be loaded.
func TestLab(t *testing.T) {
	needsLab(t)
	s := newShell(t)
	s.write("two.yaml", []byte(twoPaths))
	run := s.command(binary, "lab", "run", "two.yaml", "--anyway", "--json", "-q", "-o", "out")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	stdout, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var r scenario.Result
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout)); err != nil || schema.Validate(v) != nil {
		t.Errorf("the result isn't what its schema says: %v, %v", err, schema.Validate(v))
	}
	if r.Manifest.Runner != "lab" || r.Manifest.Kernel == "" || len(r.Points) != 1 || len(r.Points[0].Systems) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, sys := range r.Points[0].Systems {
		f := sys.Runs[0].Flows[0]
		if f.T100 <= 0 || f.T95 <= 0 || f.T95 > f.T100 || f.Paths != 2 {
			t.Errorf("%s: %+v", sys.Name, f)
		}
		if least := r.Points[0].Bounds.PayloadT100[0]; f.T100 < least {
			t.Errorf("%s: %.3f s for what takes %.3f s at least", sys.Name, f.T100, least)
		}
		if sys.Runs[0].LinkLosses == 0 {
			t.Errorf("%s met no blackhole", sys.Name)
		}
		t.Logf("%s: T100 %.2f s", sys.Name, f.T100)
	}
	s.mars("report", "out", "-o", "page.html", "-q").want(t, 0)
	page, err := os.ReadFile(s.path("page.html"))
	if err != nil || !strings.Contains(string(page), "MPTCP-Oracle") {
		t.Errorf("the report lacks the result (%v)", err)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/run/netns/marslab-%d-*", run.Process.Pid)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLabCompare: one command runs the lab and the simulator and sets one beside the other. What is only in the lab is left out.
func TestLabCompare(t *testing.T) {
	needsLab(t)
	s := newShell(t)
	s.write("one.yaml", []byte(strings.NewReplacer("faults:\n", "", "  - {kind: blackhole, link: c-a, at: 400ms}\n", "", "2 MB", "300 kB").Replace(twoPaths)))
	r := s.mars("lab", "compare", "one.yaml", "--anyway", "--json", "-q", "--system", "TCP:reno", "--system", "8xTCP", "--dilation", "2", "-o", "out")
	r.want(t, 0)
	var a scenario.Agreement
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil {
		t.Fatal(err)
	}
	if a.Dilation != 2 || len(a.Points) != 1 || len(a.Points[0].Rows) == 0 {
		t.Fatalf("%+v", a)
	}
	for _, row := range a.Points[0].Rows {
		if row.System != "TCP:reno" || row.Seeds != 1 {
			t.Errorf("%+v", row)
		}
		if row.Metric == "max_t95_s" && (row.Lab.Median <= 0 || row.Simulator.Median <= 0 || row.Limit != 0.2 || row.Verdict == "") {
			t.Errorf("%+v", row)
		}
	}
	for _, name := range []string{"lab", "simulator"} {
		if _, err := readResult(s.path("out/" + name + "/result.json")); err != nil {
			t.Error(err)
		}
	}
}

// TestLabExclude: a consumer whose face is taken out in the midst of the object gets the rest by the other one, and the link keeps what it
// carried before.
func TestLabExclude(t *testing.T) {
	needsLab(t)
	s := newShell(t)
	s.write("two.yaml", []byte(strings.Replace(twoPaths, "blackhole", "exclude", 1)))
	stdout, err := s.command(binary, "lab", "run", "two.yaml", "--system", "MARS", "--system", "MPTCP-Oracle", "--anyway", "--json", "-q").Output()
	if err != nil {
		t.Fatal(err)
	}
	var r scenario.Result
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatal(err)
	}
	for _, sys := range r.Points[0].Systems {
		f := sys.Runs[0].Flows[0]
		if f.T100 <= 0 || f.Paths != 2 {
			t.Errorf("%s: %+v", sys.Name, f)
		}
		// Less than 0.4 s of the faster path and the slower one: both together take 0.55 s.
		if f.T100 < 0.8 {
			t.Errorf("%s took %.2f s: nothing was taken out", sys.Name, f.T100)
		}
		t.Logf("%s: T100 %.2f s", sys.Name, f.T100)
	}
}

// TestLabKilled: what a lab that was killed leaves is there, and `mars lab clean` removes it.
func TestLabKilled(t *testing.T) {
	needsLab(t)
	s := newShell(t)
	s.write("two.yaml", []byte(strings.Replace(twoPaths, "2 MB", "20 MB", 1)))
	settings := func() (all []string) {
		for _, name := range []string{"ipv4/ip_forward", "ipv4/tcp_congestion_control", "ipv4/tcp_allowed_congestion_control", "ipv4/tcp_no_metrics_save", "mptcp/enabled"} {
			text, err := os.ReadFile("/proc/sys/net/" + name)
			all = append(all, fmt.Sprint(name, ": ", string(text), err))
		}
		devices, err := filepath.Glob("/sys/class/net/*")
		return append(all, fmt.Sprint(devices, err))
	}
	before := settings()
	p := s.start(false, "lab", "run", "two.yaml", "--anyway", "-q")
	file := fmt.Sprintf("/run/mars-lab/%d.json", p.cmd.Process.Pid)
	var state struct {
		Namespaces []string
		Processes  []struct{ PID int }
		Dirs       []string
	}
	for deadline := time.Now().Add(patience); len(state.Processes) < 4; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the lab starts no processes")
		}
		if text, err := os.ReadFile(file); err == nil {
			_ = json.Unmarshal(text, &state) // it may be the one before
		}
	}
	p.end(syscall.SIGKILL)
	for _, name := range state.Namespaces {
		if _, err := os.Stat("/run/netns/" + name); err != nil {
			t.Errorf("what is to be removed isn't there: %v", err)
		}
	}
	s.mars("lab", "clean").want(t, 0)
	left := []string{file}
	for _, name := range state.Namespaces {
		left = append(left, "/run/netns/"+name)
	}
	for _, p := range state.Processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		if err == nil && !strings.Contains(string(text), ") Z ") { // one that has ended may still wait to be told so
			t.Errorf("process %d runs: %s", p.PID, text)
		}
	}
	for _, path := range append(left, state.Dirs...) {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	if after := settings(); !slices.Equal(before, after) {
		t.Errorf("settings before:\n%v\nafter:\n%v", before, after)
	}
}

// TestLabMistakes: what is wrong is told before anything is built.
func TestLabMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("two.yaml", []byte(twoPaths))
	s.mars("lab", "run", "two.yaml", "--dilation", "0.5").want(t, 2, "--dilation")
	s.mars("lab", "run", "nothing.yaml").want(t, 2, "no such file")
	s.mars("lab", "host").want(t, 2, "mars lab run")
	if lab.Check() == nil {
		s.mars("lab", "run", "two.yaml", "--system", "TCP:vegas").want(t, 2, "cubic")
		s.mars("lab", "run", "two.yaml", "--system", "PCON").want(t, 2, "MPTCP-Oracle")
		s.mars("lab", "compare", "two.yaml", "--system", "8xTCP").want(t, 2, "the simulator has none")
	}
}
