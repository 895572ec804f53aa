package lab

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPromote: a process in a session of its own comes before usual ones, and so does its session; its timeouts may be late.
func TestPromote(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root")
	}
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	pid := c.Process.Pid
	if err := promote(pid); err != nil {
		t.Skip("not allowed here: ", err)
	}
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err != nil || nice != 20-ahead { // as the system call has it
		t.Errorf("nice: %d, %v", nice, err)
	}
	if autogroups() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), fmt.Sprintf("nice %d", ahead)) {
			t.Errorf("session: %s, %v", text, err)
		}
	}
	unhurried(pid) // which has no second thread
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", pid))
	if err != nil || strings.TrimSpace(string(text)) != fmt.Sprint(leisure.Nanoseconds()) {
		t.Errorf("slack: %s, %v", text, err)
	}
}

// TestWaits: a process that runs has had turns; means are of the turns between two looks.
func TestWaits(t *testing.T) {
	if w := waitsOf(os.Getpid()); w.turns == 0 {
		t.Skip("this kernel doesn't count them")
	}
	w := waits{10 * time.Millisecond, 30}.minus(waits{4 * time.Millisecond, 10})
	if w.mean() != 300*time.Microsecond {
		t.Error(w.mean())
	}
	if none := (waits{}); none.mean() != 0 {
		t.Error(none.mean())
	}
}
