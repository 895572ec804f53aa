package main

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// withNode runs a node with a socket and what else args say; the shell's commands then use it unasked.
func (s *shell) withNode(args ...string) (node *process, address string) {
	s.t.Helper()
	s.env = append(s.env, "MARS_NODE_SOCKET="+s.path("run/node.sock"))
	args = append([]string{"node", "--role", "relay", "--listen", "udp4://127.0.0.1:0"}, args...)
	node = s.start(true, args...)
	return node, node.until(`msg=listening address=(\S+)`)[1]
}

// TestThroughNode: get, ls and serve use the node of this host when there is one; others reach what is served through it, and it
// uses all of its paths for what is got through it.
func TestThroughNode(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(8 << 20)
	at := s.serve(content, 2)
	_, address := s.withNode("--face", "a="+at[0], "--face", "b="+at[1])
	s.mars("get", "/site/object", "-o", "one").want(t, 0, "over the paths of the node of this host, verified")
	s.same("one", content)
	tree := s.mars("path", "/site/object")
	tree.want(t, 0)
	if n := strings.Count(tree.stdout, "acked"); n < 2 {
		t.Errorf("the node uses %d paths, want 2:\n%s", n, tree.stdout)
	}

	s.write("more/file", content[:100_000])
	p := s.start(false, "serve", "more", "--prefix", "/more")
	p.until(`^serving more as /more through the node at .*node\.sock$`)
	p.until(`^get it: mars get /more/file$`)
	s.mars("get", "/more/file", "-o", "two").want(t, 0)
	s.same("two", content[:100_000])
	s.mars("get", "/more/file", "-o", "three", "--via", address).want(t, 0, "over 1 path")
	s.same("three", content[:100_000])
	if r := s.mars("ls", "/more"); r.code != 0 || !strings.Contains(r.stdout, "  file\n") {
		t.Errorf("ls: %+v", r)
	}
	// What a producer leaves behind when it is killed is nothing: the node says at once that nobody has the name.
	p.end(syscall.SIGKILL)
	s.mars("get", "/more/file", "-o", "four", "--stall", "3s").want(t, 3, "mars: get /more/file")
}

// TestNodeRestarts: what is served through a node that dies is served through the next one, and a fetch through it goes on.
func TestNodeRestarts(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(2 << 20)
	at := s.serveSlowly(content, 1) // 8 s
	node, _ := s.withNode("--face", "a="+at[0])
	s.write("more/file", content[:100_000])
	serve := s.start(true, "serve", "more", "--prefix", "/more", "--log-level", "info")
	serve.until(`msg="face up"`)
	get := s.start(false, "get", "/site/object", "-o", "got", "--json")
	get.until(`"event":"progress".*"bytes":[1-9]\d*,"size"`)
	s.mars("get", "/more/file", "-o", "before").want(t, 0)
	node.end(syscall.SIGKILL)
	serve.until("the node of this host has ended")
	s.withNode("--face", "a="+at[0])
	serve.until("the node of this host is back")
	for r := (result{code: 3}); r.code != 0; { // until it is registered again
		if r = s.mars("get", "/more/file", "-o", "after"); r.code != 0 && r.code != 3 {
			t.Fatalf("%+v", r)
		}
	}
	s.same("after", content[:100_000])
	if code := get.wait(); code != 0 {
		t.Fatalf("the fetch ended with %d\n%s", code, get.rest)
	}
	s.same("got", content)
}

// TestSocketErrors: a socket that can't be had or used is told with what to do.
func TestSocketErrors(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	node, _ := s.withNode()
	sock := s.path("run/node.sock")
	if info, err := os.Stat(s.path("run")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory: %v, %v", info.Mode(), err)
	}
	s.mars("node", "--listen", "udp4://127.0.0.1:0", "--socket", "run/node.sock").want(t, 5, "a node answers at "+sock+" already", "choose another path with --socket")
	s.mars("get", "/site/x", "--via", "plain+udp4://127.0.0.1:1", "--socket", "run/node.sock").want(t, 2, "give one")
	s.write("file", []byte("x"))
	s.mars("node", "--listen", "udp4://127.0.0.1:0", "--socket", "file").want(t, 1, "is no socket: move it away or choose another path")
	node.end(syscall.SIGKILL) // the file stays
	s.mars("get", "/site/x", "--socket", "run/node.sock").want(t, 5, "use the node at run/node.sock: ", "start it with mars node, or leave it out with --socket none")
	s.mars("get", "/site/x").want(t, 2, "no node answers at "+sock, "add --via")
	node, _ = s.withNode()
	if code := node.end(syscall.SIGTERM); code != 0 || s.exists("run/node.sock") {
		t.Errorf("exit code %d; the socket's file is there: %v", code, s.exists("run/node.sock"))
	}
	l, err := net.Listen("unix", s.path("mute"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("SSH-2.0-nothing of ours\r\n"))
			_ = c.Close()
		}
	}()
	s.mars("get", "/site/x", "--socket", "mute").want(t, 5, "use the node at mute")
}
