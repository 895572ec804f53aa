package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mars"
)

// patience bounds what these tests wait for; nothing is asserted about times.
const patience = 60 * time.Second

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mars-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := isolate(filepath.Join(dir, "config")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "mars")
	args := []string{"build", "-o", binary, "-ldflags", "-X main.version=v0.0.0-test"}
	if raced() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// isolate keeps the configuration and the node of whoever runs the tests out of them.
func isolate(dir string) error {
	errs := []error{os.Setenv("XDG_CONFIG_HOME", dir), os.Setenv("TERM", "xterm"), os.Setenv("GORACE", "halt_on_error=1")}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "MARS_") {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	key := filepath.Join(dir, "node.key")
	_, err := mars.NewKeyFile(key)
	return errors.Join(append(errs, err, os.Setenv("MARS_NODE_KEY", key), os.Setenv("MARS_NODE_SOCKET", "none"))...)
}

// raced tells whether the tests run with the race detector; then the program does too.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// shell is a directory in which commands run.
type shell struct {
	t   *testing.T
	dir string
	env []string
	at  string // address of its own producer, for tests that need one later

	apps int // attached so far
}

func newShell(t *testing.T) *shell {
	t.Helper()
	return &shell{t: t, dir: t.TempDir(), env: os.Environ()}
}

func (s *shell) path(name string) string { return filepath.Join(s.dir, name) }

// write makes a file with the content.
func (s *shell) write(name string, content []byte) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), content, 0o644); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

func (s *shell) same(name string, want []byte) {
	s.t.Helper()
	got, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(want) {
		s.t.Fatalf("%s has %d bytes that are not those served (%d)", name, len(got), len(want))
	}
}

func (s *shell) exists(name string) bool {
	_, err := os.Lstat(s.path(name))
	return err == nil
}

// command is a program that lives no longer than the test.
func (s *shell) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(s.t.Context(), name, args...)
	c.Dir, c.Env, c.WaitDelay = s.dir, s.env, patience
	return c
}

// result is what a command left.
type result struct {
	stdout, stderr string
	code           int
}

// inProcess runs a command line that ends at once, without a process.
func inProcess(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, &stdout, &stderr)
	return result{stdout.String(), stderr.String(), code}
}

// mars runs the program to its end.
func (s *shell) mars(args ...string) result { return s.run(binary, args...) }

func (s *shell) run(name string, args ...string) result {
	s.t.Helper()
	c := s.command(name, args...)
	timer := time.AfterFunc(patience, func() { _ = c.Cancel() })
	defer timer.Stop()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	r := result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		s.t.Fatalf("%v: %v\n%s", args, err, r.stderr)
	}
	return r
}

// want checks an exit code and that stderr holds all of the texts.
func (r result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("no %q in stderr:\n%s", text, r.stderr)
		}
	}
}

// process is a running program whose stdout or stderr is read line by line.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // closed at the end of the output
	rest  *lockedBuffer
	wait  func() int
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start starts the program; it is killed if it still runs when the test ends. The lines are those of stdout, with
// logs those of stderr.
func (s *shell) start(logs bool, args ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: s.command(binary, args...), lines: make(chan string, 10000), rest: new(lockedBuffer)}
	reader, writer := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = writer, p.rest
	if logs {
		p.cmd.Stdout, p.cmd.Stderr = p.rest, writer
	}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for sc := bufio.NewScanner(reader); sc.Scan(); {
			p.lines <- sc.Text()
		}
	}()
	p.wait = sync.OnceValue(func() int {
		_ = p.cmd.Wait()
		writer.Close()
		return p.cmd.ProcessState.ExitCode()
	})
	go p.wait() // so that the lines end with the process
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.wait()
	})
	return p
}

// until returns the first line that matches.
func (p *process) until(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	var seen []string
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("ended without %q:\n%s\n%s", pattern, strings.Join(seen, "\n"), p.rest)
			}
			seen = append(seen, line)
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
		case <-timeout:
			p.t.Fatalf("no %q in time:\n%s\n%s", pattern, strings.Join(seen, "\n"), p.rest)
		}
	}
}

// end sends a signal and returns the exit code, −1 if the signal killed it.
func (p *process) end(sig syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// serve serves content as /site/object at n addresses, which it returns as values of --via.
func (s *shell) serve(content []byte, n int) []string {
	s.t.Helper()
	s.write("served/object", content)
	args := []string{"serve", "served", "--prefix", "/site"}
	for range n {
		args = append(args, "--listen", "udp4://127.0.0.1:0")
	}
	return vias(s.start(false, args...))
}

// vias are the addresses of a producer, as it prints them for those who fetch.
func vias(p *process) []string {
	line := p.until(`^get it: mars get \S+ --via (.*)$`)[1]
	return strings.Split(line, " --via ")
}

// serveSlowly is serve at so low a rate that what happens in the middle of a fetch can be tested: 4 MB take 17 s.
func (s *shell) serveSlowly(content []byte, n int) []string {
	s.t.Helper()
	fast := s.env
	defer func() { s.env = fast }()
	s.env = append(slices.Clone(fast), "MARS_NODE_GUEST_RATE=2Mbit")
	return s.serve(content, n)
}

// random returns n bytes, the same each time.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// parseEvents reads JSON lines and holds each to the schema.
func parseEvents(t *testing.T, lines string) []map[string]any {
	t.Helper()
	check := newSchema(t, eventSchema)
	var all []map[string]any
	for line := range strings.Lines(lines) {
		var ev map[string]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if err := check.valid(ev); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
		all = append(all, ev)
	}
	return all
}

// only returns the one event of that kind.
func only(t *testing.T, all []map[string]any, kind string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, ev := range all {
		if ev["event"] == kind {
			found = append(found, ev)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d events %q, want one of them in %v", len(found), kind, all)
	}
	return found[0]
}
