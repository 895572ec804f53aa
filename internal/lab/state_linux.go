package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stateDir holds one file per lab that runs or didn't come to its end.
const stateDir = "/run/mars-lab"

// namespacePrefix begins the names of our network namespaces; the lab's process id and the host follow.
const namespacePrefix = "marslab-"

// state is what a lab leaves behind if it is killed. It is on disk before each thing is made.
type state struct {
	Owner      process   `json:"owner"`
	Namespaces []string  `json:"namespaces"`
	Processes  []process `json:"processes"`
	Dirs       []string  `json:"dirs"`

	path string
}

// process is one that can't be taken for a later one of the same number.
type process struct {
	PID   int   `json:"pid"`
	Start int64 `json:"start"` // in clock ticks since boot
}

// processOf looks a process up; false: there is none, or it has ended.
func processOf(pid int) (process, bool) {
	fields := statOf(pid)
	if len(fields) < 20 || fields[0] == "Z" {
		return process{}, false
	}
	start, err := strconv.ParseInt(fields[19], 10, 64)
	return process{pid, start}, err == nil
}

// statOf are the fields of /proc/PID/stat from the third on (proc(5)); nil: there is no such process.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ") // a name may hold spaces
	return strings.Fields(rest)
}

func (p process) alive() bool {
	now, ok := processOf(p.PID)
	return ok && now == p
}

// newState begins the state of a lab of this process.
func newState() (*state, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	own, ok := processOf(os.Getpid())
	if !ok {
		return nil, errors.New("/proc isn't there")
	}
	s := &state{Owner: own, path: filepath.Join(stateDir, fmt.Sprintf("%d.json", own.PID))}
	return s, s.save()
}

func (s *state) save() error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	fresh := s.path + ".new"
	if err := os.WriteFile(fresh, text, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, s.path)
}

// remove undoes all that the state tells of, and forgets it. What can't be undone stays in the file.
func (s *state) remove() error {
	var failed []error
	for _, name := range s.Namespaces { // what runs in them is ours too
		out, err := exec.Command("ip", "netns", "pids", name).Output()
		if err != nil {
			continue // it is gone
		}
		for _, field := range strings.Fields(string(out)) {
			if pid, err := strconv.Atoi(field); err == nil {
				if p, ok := processOf(pid); ok && !slices.Contains(s.Processes, p) && pid != os.Getpid() {
					s.Processes = append(s.Processes, p)
				}
			}
		}
	}
	for _, p := range s.Processes {
		if p.alive() {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended meanwhile
		}
	}
	for _, p := range s.Processes {
		for range 200 {
			if !p.alive() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if p.alive() {
			failed = append(failed, fmt.Errorf("process %d doesn't end", p.PID))
		}
	}
	s.Namespaces = slices.DeleteFunc(s.Namespaces, func(name string) bool {
		if _, err := os.Stat("/run/netns/" + name); errors.Is(err, fs.ErrNotExist) {
			return true
		}
		out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput()
		if err != nil {
			failed = append(failed, fmt.Errorf("namespace %s: %w: %s", name, err, out))
		}
		return err == nil
	})
	for _, dir := range s.Dirs {
		failed = append(failed, os.RemoveAll(dir))
	}
	if err := errors.Join(failed...); err != nil {
		return errors.Join(err, s.save())
	}
	return os.Remove(s.path)
}

// Clean removes what killed labs left: processes, namespaces with all interfaces and settings in them, directories.
func Clean() (Cleaned, error) {
	var c Cleaned
	files, err := filepath.Glob(filepath.Join(stateDir, "*.json"))
	if err != nil {
		return c, err
	}
	var failed []error
	for _, path := range files {
		text, err := os.ReadFile(path)
		s := &state{path: path}
		if err == nil {
			err = json.Unmarshal(text, s)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		if s.Owner.alive() {
			c.Running = append(c.Running, s.Owner.PID)
			continue
		}
		c.Labs++
		for _, name := range s.Namespaces {
			if _, err := os.Stat("/run/netns/" + name); err == nil {
				c.Namespaces = append(c.Namespaces, name)
			}
		}
		for _, p := range s.Processes {
			if p.alive() {
				c.Processes = append(c.Processes, p.PID)
			}
		}
		failed = append(failed, s.remove())
	}
	halves, _ := filepath.Glob(filepath.Join(stateDir, "*.json.new")) // of labs that were killed while they wrote
	for _, path := range halves {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json.new"))
		if _, runs := processOf(pid); err == nil && !runs {
			failed = append(failed, os.Remove(path))
		}
	}
	return c, errors.Join(failed...)
}
