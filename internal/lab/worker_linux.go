package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// worker is a process of the binary on a host, with its job.
type worker struct {
	job   *Job
	cmd   *exec.Cmd
	in    *os.File
	ended chan struct{}
	notes strings.Builder // of stderr; valid when ended is closed
	used  float64         // processor seconds: first until it began, then since
}

// toldEvent is an Event of one of the workers; nil: it has ended.
type toldEvent struct {
	from *worker
	*Event
}

// startWorker starts the binary on a host. Its events go to events.
func (n *network) startWorker(binary, host string, j *Job, env []string, events chan<- toldEvent) (*worker, error) {
	w := &worker{job: j, ended: make(chan struct{})}
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	w.in = in
	w.cmd = exec.Command(binary, "lab", "host")
	w.cmd.Env = append(w.cmd.Environ(), env...)
	w.cmd.Stdin, w.cmd.Stderr = theirs, &w.notes
	// The kernel ends it with the lab, which else closes its input. A session of its own can have a priority of its own.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = inside(host, w.cmd.Start)
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start a process on %s: %w", j.Host, err)
	}
	if err := promote(w.cmd.Process.Pid); err != nil {
		n.unpromoted = err
	}
	if p, ok := processOf(w.cmd.Process.Pid); ok {
		n.state.Processes = append(n.state.Processes, p)
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			e := new(Event)
			if json.Unmarshal(lines.Bytes(), e) == nil && e.Event != "" {
				events <- toldEvent{w, e}
			}
		}
		_ = w.cmd.Wait() // how it ended is in ProcessState
		s := w.cmd.ProcessState
		w.used = (s.UserTime() + s.SystemTime()).Seconds() - w.used
		close(w.ended)
		events <- toldEvent{w, nil}
	}()
	return w, errors.Join(n.state.save(), w.tell(j))
}

func (w *worker) tell(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.in.Write(append(text, '\n'))
	}
	return err
}

// begin tells the process when to begin; what it has used until now isn't counted.
func (w *worker) begin(at time.Time) error {
	unhurried(w.cmd.Process.Pid)
	shorten(w.cmd.Process.Pid)
	if fields := statOf(w.cmd.Process.Pid); len(fields) > 12 {
		user, _ := strconv.ParseFloat(fields[11], 64)
		system, _ := strconv.ParseFloat(fields[12], 64)
		w.used = (user + system) / 100 // clock ticks, of which there are 100 to the second on every Linux
	}
	return w.tell(at.UnixNano())
}

// end has the process end, and waits for it.
func (w *worker) end() {
	w.in.Close()
	select {
	case <-w.ended:
		return
	case <-time.After(5 * time.Second):
	}
	_ = w.cmd.Process.Kill()
	<-w.ended
}

// why is what a process that failed has to say.
func (w *worker) why() error {
	text := strings.TrimSpace(w.notes.String())
	if len(text) > 500 {
		text = text[:500] + " …"
	}
	return fmt.Errorf("the process on %s ended before its time (%v): %s", w.job.Host, w.cmd.ProcessState, text)
}
