//go:build acceptance

package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is the binary on a host of a world.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all that it printed is here

	mu     sync.Mutex
	lines  []string // of stdout and stderr
	events []event  // of `mars get --json`
	change *sync.Cond
	ended  bool
}

// event is what these tests read of the events of `mars get --json`.
type event struct {
	Event   string  `json:"event"`
	Bytes   int64   `json:"bytes"`
	Size    int64   `json:"size"`
	Resumed int64   `json:"resumed_bytes"`
	Seconds float64 `json:"seconds"`
	Code    string  `json:"code"`
	Paths   []struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
	} `json:"paths"`
}

// start starts the binary on a host. The kernel kills it should the test end without doing so.
func (w *world) start(host string, args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, name: host, done: make(chan struct{})}
	p.change = sync.NewCond(&p.mu)
	p.cmd = w.command(host, append([]string{w.binary}, args...)...)
	p.cmd.Env = append(p.cmd.Environ(), own(host)...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout) })
	readers.Go(func() { p.read(stderr) })
	go func() {
		readers.Wait()
		_ = p.cmd.Wait() // how it ended is in ProcessState
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		p.change.Broadcast()
		close(p.done)
	}()
	w.t.Cleanup(func() {
		p.kill()
		if w.t.Failed() {
			w.t.Logf("%s printed:\n%s", p.name, strings.Join(p.lines, "\n"))
		}
	})
	return p
}

func (p *process) read(r io.Reader) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		p.mu.Lock()
		var e event
		if strings.HasPrefix(in.Text(), "{") && json.Unmarshal(in.Bytes(), &e) == nil {
			p.events = append(p.events, e)
		}
		if len(p.lines) < 1000 {
			p.lines = append(p.lines, in.Text())
		}
		p.mu.Unlock()
		p.change.Broadcast()
	}
	_, _ = io.Copy(io.Discard, r) // so that a line that is too long doesn't stop the process
}

// says waits until the process has printed a line that holds text.
func (p *process) says(text string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	late := false
	timer := time.AfterFunc(patience, func() {
		p.mu.Lock()
		late = true
		p.mu.Unlock()
		p.change.Broadcast()
	})
	defer timer.Stop()
	for {
		if slices.ContainsFunc(p.lines, func(l string) bool { return strings.Contains(l, text) }) {
			return
		}
		if late {
			p.t.Fatalf("%s doesn't say %q", p.name, text)
		}
		if p.ended {
			p.t.Fatalf("%s ended without %q: %v", p.name, text, p.cmd.ProcessState)
		}
		p.change.Wait()
	}
}

// kill ends the process at once, as a power cut would, and waits for its end.
func (p *process) kill() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

// exit waits for the end of the process, for at most patience, and returns its exit code.
func (p *process) exit(patience time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
		p.t.Fatalf("%s still ran after %v", p.name, patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// last returns the last event of a kind; false: there was none.
func (p *process) last(kind string) (event, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range slices.Backward(p.events) {
		if e.Event == kind {
			return e, true
		}
	}
	return event{}, false
}

// cost tells what an ended process has used.
func (p *process) cost() string {
	s := p.cmd.ProcessState
	text := fmt.Sprintf("%s %.2f CPU-s (%.2f user, %.2f system)", p.name, p.seconds(), s.UserTime().Seconds(), s.SystemTime().Seconds())
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		text += fmt.Sprintf(", %d MB at most", u.Maxrss/1024)
	}
	return text
}

// seconds is the processor time of an ended process.
func (p *process) seconds() float64 {
	return (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds()
}
