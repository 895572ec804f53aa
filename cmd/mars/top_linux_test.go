package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestTop: on a terminal the page is drawn again when its size changes, and q ends it with the screen as it was.
func TestTop(t *testing.T) {
	t.Parallel()
	control, tty := terminal(t)
	defer control.Close()
	s := newShell(t)
	s.withNode("--face", "up=plain+udp4://127.0.0.1:9")
	c := s.command(binary, "top", "--interval", "100ms")
	c.Stdin, c.Stdout = tty, tty
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	var seen bytes.Buffer
	pressed := false
	for buf := make([]byte, 4096); ; {
		n, err := control.Read(buf) // EIO when the other side is closed
		seen.Write(buf[:n])
		if !pressed && bytes.Count(seen.Bytes(), []byte("FACE")) >= 2 {
			pressed = true
			if _, err := control.Write([]byte("q")); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil || !strings.Contains(seen.String(), "relay") || !strings.HasSuffix(seen.String(), leaveScreen) {
		t.Errorf("%v\n%q", err, seen.String())
	}
}
