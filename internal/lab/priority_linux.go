package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ahead is the nice value of the lab's processes: before whatever else runs here, and behind the emulator, which has a deadline.
const ahead = -10

// promote puts a process that leads a session of its own before others. Where the kernel groups processes by session
// (kernel.sched_autogroup_enabled, sched(7)) nice values count within a session only, so the session gets the same one.
func promote(pid int) error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, ahead); err != nil {
		return fmt.Errorf("nice %d: %w", ahead, err)
	}
	if !autogroups() {
		return nil
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), fmt.Appendf(nil, "%d", ahead), 0); err != nil {
		return fmt.Errorf("nice %d of a session: %w", ahead, err)
	}
	return nil
}

// turn is how long a thread of the lab's processes may run before others that wait. Whoever runs keeps a processor for that long, 3 ms
// unless said otherwise, but for those who ask for less (Linux 6.12, sched(7): sched_runtime of usual threads): for the many short turns
// of the lab it counts more than nice values how soon they come.
const turn = 100 * time.Microsecond

// shorten gives all threads of a process short turns, and those that they make.
func shorten(pid int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, path := range threads { // where the kernel has no such thing threads wait longer, which is measured
		_ = unix.SchedSetAttr(threadID(path), &unix.SchedAttr{
			Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: ahead, Runtime: uint64(turn),
		}, 0)
	}
}

// leisure is by how much the kernel may delay the timeouts of the lab's processes, but not their timers (prctl(2), PR_SET_TIMERSLACK).
const leisure = 2 * time.Millisecond

// rest is that of the monitor thread of Go's runtime, which else wakes up every 20 µs while its process does anything: with a process
// per host these threads took half of the machine, and at 2 ms still a sixth. It is there to take the place of a thread that a system
// call holds up, which the lab's processes make none of while objects are under way.
const rest = 50 * time.Millisecond

// unhurried lets the timeouts of all threads of a process be late, and of those that they make. Faces pace by timers.
func unhurried(pid int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	slices.SortFunc(threads, func(a, b string) int { return threadID(a) - threadID(b) })
	for i, path := range threads { // what is refused makes the lab slower, which is measured
		late := leisure
		if i == 1 { // the monitor: the first that the runtime makes beside the main thread
			late = rest
		}
		_ = os.WriteFile("/proc/"+filepath.Base(path)+"/timerslack_ns", fmt.Appendf(nil, "%d", late.Nanoseconds()), 0)
	}
}

func threadID(path string) int {
	id, _ := strconv.Atoi(filepath.Base(path))
	return id
}

// autogroups tells whether the kernel shares processors out to sessions first.
func autogroups() bool {
	text, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	return err == nil && strings.TrimSpace(string(text)) == "1"
}

// waits is how long threads that could run waited for a processor, and how often they got one.
type waits struct {
	time  time.Duration
	turns int64
}

// waitsOf adds up those of all threads of a process (Documentation/scheduler/sched-stats: /proc/PID/task/TID/schedstat).
func waitsOf(pid int) (w waits) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range threads {
		var ran, waited, turns int64
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if _, err := fmt.Sscan(string(text), &ran, &waited, &turns); err == nil {
			w.time, w.turns = w.time+time.Duration(waited), w.turns+turns
		}
	}
	return w
}

func (w waits) minus(before waits) waits {
	return waits{w.time - before.time, w.turns - before.turns}
}

// mean is what one turn waited for.
func (w waits) mean() time.Duration { return w.time / time.Duration(max(w.turns, 1)) }
