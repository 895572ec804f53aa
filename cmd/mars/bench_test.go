package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mars/internal/bench"
)

// TestBenchPath moves an object between two processes over loopback, and a small one many times.
func TestBenchPath(t *testing.T) {
	s := newShell(t)
	for _, more := range [][]string{{"--plain"}, {"--encrypted", "--discard"}, {"--plain", "--applications"}} {
		r := s.mars(append([]string{"bench", "path", "latency", "--over", "loopback", "--size", "3MB", "--runs", "2", "--fetches", "20", "--json", "-q"}, more...)...)
		r.want(t, 0)
		var report bench.Report
		if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
			t.Fatalf("%v: %v", more, err)
		}
		if len(report.End.Paths) != 1 || len(report.End.Latency) != 1 || len(report.End.Limits) == 0 || len(report.Intervals) == 0 {
			t.Fatalf("%v: %+v", more, report)
		}
		p, l := report.End.Paths[0], report.End.Latency[0]
		if len(p.Runs) != 2 || p.PerGB <= 0 || p.BitRate <= 0 || p.Bytes != 3e6 || p.Encrypted != (more[0] == "--encrypted") {
			t.Errorf("%v: %+v", more, p)
		}
		if l.Fetches != 20 || l.Median <= 0 || l.P99 < l.Median {
			t.Errorf("%v: %+v", more, l)
		}
	}
}

// TestBenchLeavesNothing interrupts a benchmark between namespaces.
func TestBenchLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	s := newShell(t)
	p := s.start(true, "bench", "path", "--over", "veth", "--mtu", "1500", "--size", "20MB", "--runs", "1000", "--plain")
	line, ok := <-p.lines // of the first run
	if !ok || !strings.Contains(line, "run 1:") {
		t.Fatalf("%q: %s", line, p.rest)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for range p.lines {
	}
	if code := p.wait(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	for _, pattern := range []string{"/run/netns/marsbench-*", "/dev/shm/mars-bench-*"} {
		left, err := filepath.Glob(pattern)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "sideways"},
		{"bench", "path", "--over", "air"},
		{"bench", "path", "--size", "0"},
		{"bench", "path", "--size", "3 furlongs"},
		{"bench", "path", "--mtu", "100"},
		{"bench", "path", "--plain", "--encrypted"},
		{"bench", "path", "--runs", "0"},
		{"bench", "path", "--over", "loopback", "--no-offload"},
	} {
		inProcess(args...).want(t, 2, "mars: bench")
	}
	newShell(t).mars("bench", "host").want(t, 2, "no job on standard input")
}
