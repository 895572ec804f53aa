package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Job is what a process of a transfer is told on its standard input, as the first line.
type Job struct {
	Listen   []string `json:"listen,omitempty"`  // addresses, as --listen
	Via      string   `json:"via,omitempty"`     // address, as --via
	Socket   string   `json:"socket,omitempty"`  // for applications
	Attach   string   `json:"attach,omitempty"`  // socket of the node to use
	Dir      string   `json:"dir,omitempty"`     // to serve under Prefix
	Key      string   `json:"key,omitempty"`     // file
	Datagram int      `json:"datagram"`          // bytes; 0: as usual
	Buffers  bool     `json:"buffers"`           // false: the kernel's default sizes
	Profile  string   `json:"profile,omitempty"` // file for a CPU profile
}

// Prefix is that of what is served, and Whole, Small the names of files in it.
const (
	Prefix = "/bench"
	Whole  = "object"
	Small  = "small"
)

// Order is a further line.
type Order struct {
	Do    string `json:"do"` // usage, look (resolve Name), fetch (Name to File, else nowhere), often (fetch Name Times)
	Name  string `json:"name,omitempty"`
	File  string `json:"file,omitempty"`
	Times int    `json:"times,omitempty"`
}

// Reply is the answer to the job, which the process has begun with it, and to each order: one line.
type Reply struct {
	Error     string     `json:"error,omitempty"`
	CPU       float64    `json:"cpu_s"` // of the process so far, user and system
	Drops     uint64     `json:"kernel_drops"`
	Seconds   float64    `json:"seconds,omitempty"`
	Bytes     int64      `json:"bytes,omitempty"`
	Resent    uint64     `json:"resent,omitempty"`
	Intervals []Interval `json:"intervals,omitempty"`
	Times     []float64  `json:"times_s,omitempty"`
}

// host is a process with a job. It ends when its input does, and so with this process.
type host struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	notes strings.Builder // of stderr
}

// startHost starts the command with a job and waits until it is ready.
func startHost(name string, command []string, env []string, j Job) (*host, error) {
	h := &host{name: name, cmd: exec.Command(command[0], command[1:]...)}
	h.cmd.Env = append(h.cmd.Environ(), env...)
	h.cmd.Stderr = &h.notes
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.in, h.lines = in, bufio.NewScanner(out)
	h.lines.Buffer(nil, 16<<20)
	own(h.cmd)
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	if _, err := h.tell(j); err != nil {
		return nil, errors.Join(err, h.end())
	}
	return h, nil
}

// tell writes a line and reads the reply.
func (h *host) tell(v any) (r Reply, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return r, err
	}
	if _, err := h.in.Write(append(text, '\n')); err != nil {
		return r, h.why(err)
	}
	if !h.lines.Scan() {
		return r, h.why(errors.Join(errors.New("it ended before its time"), h.lines.Err()))
	}
	if err := json.Unmarshal(h.lines.Bytes(), &r); err != nil {
		return r, h.why(err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("the %s: %s", h.name, r.Error)
	}
	return r, nil
}

func (h *host) why(err error) error {
	return fmt.Errorf("the %s: %w: %s", h.name, err, strings.TrimSpace(h.notes.String()))
}

// end has the process end, and waits for it.
func (h *host) end() error {
	h.in.Close()
	return h.cmd.Wait()
}

// kill ends it at once; end then waits.
func (h *host) kill() {
	if h.cmd.Process != nil {
		_ = h.cmd.Process.Kill()
	}
}
