//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiskFull: a destination on a small file system.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	// A mount namespace of its own: the mount goes when the command does.
	if out, err := s.command("unshare", "--mount", "mount", "-t", "tmpfs", "none", s.dir).CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here: %v: %s", err, out)
	}
	if err := os.Mkdir(s.path("small"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := s.serve(random(4<<20), 1)
	const script = `mount -t tmpfs -o size=6m none small && dd if=/dev/zero of=small/else bs=1M count=4 2>/dev/null &&
		cd small && "$0" get /site/object --json --via "$1"; code=$?; ls >&2; exit $code`
	r := s.run("unshare", "--mount", "sh", "-c", script, binary, at[0])
	r.want(t, 12, "disk full", "\n  free some space", "object.mars-journal")
	if e := only(t, parseEvents(t, r.stdout), "error"); e["code"] != "disk_full" || e["exit_code"] != 12.0 {
		t.Errorf("%v", e)
	}
}

// terminal opens a pseudo-terminal.
func terminal(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(control.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 110})
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return control, tty
}

// TestTerminal: on a terminal a bar for the whole and one per path, and at an interruption what to do.
func TestTerminal(t *testing.T) {
	t.Parallel()
	control, tty := terminal(t)
	defer control.Close()
	s := newShell(t)
	content := random(4 << 20)
	at := s.serveSlowly(content, 2)
	c := s.command(binary, "get", "/site/object", "--via", at[0], "--via", at[1])
	c.Stderr = tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	both := regexp.MustCompile(`object +\d+% \[[=>-]+\] +[\d.]+ \w?B of 4\.2 MB[^\n]*\s+path1 127\.0\.0\.1:\d+ +\d+% \[[=>-]+\][^\n]*\s+path2 `)
	var seen bytes.Buffer
	interrupted := false
	for buf := make([]byte, 4096); ; {
		n, err := control.Read(buf) // EIO when the other side is closed
		seen.Write(buf[:n])
		if !interrupted && both.Match(seen.Bytes()) {
			interrupted = true
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 130 {
		t.Error(err)
	}
	if !interrupted {
		t.Fatalf("no bars in %q", seen.Bytes()[:min(seen.Len(), 4000)])
	}
	if up := regexp.MustCompile(`[^\r]\x1b\[\d+A`).Find(seen.Bytes()); up != nil {
		t.Errorf("%q: bars are drawn again from wherever an echo left the cursor", up)
	}
	last := strings.Split(strings.TrimSpace(seen.String()), "\n")
	if end := last[len(last)-1]; !strings.Contains(end, "run the same command again to resume; ") {
		t.Errorf("ended with %q", end)
	}
}

// TestStreamToTerminal: the bytes of an object don't reach a terminal unless somebody insists.
func TestStreamToTerminal(t *testing.T) {
	t.Parallel()
	control, tty := terminal(t)
	defer control.Close()
	s := newShell(t)
	content := []byte("object bytes")
	at := s.serve(content, 1)[0]
	for _, force := range []bool{false, true} {
		c := s.command(binary, "get", "/site/object", "-o", "-", "--via", at, fmt.Sprintf("--force=%v", force))
		var stderr bytes.Buffer
		c.Stdout, c.Stderr = tty, &stderr
		err := c.Run()
		if code := c.ProcessState.ExitCode(); force != (code == 0) || !force && (code != 2 || !strings.Contains(stderr.String(), "pipe it on, choose a file, or add --force")) {
			t.Errorf("force %v: %v\n%s", force, err, &stderr)
		}
	}
	tty.Close()
	if seen, _ := io.ReadAll(control); !bytes.Equal(seen, content) { // EIO when the other side is closed
		t.Errorf("the terminal shows %q", seen)
	}
}
