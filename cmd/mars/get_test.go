package main

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mars"
)

// TestGetOverTwoPaths: two addresses of one producer, human output.
func TestGetOverTwoPaths(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(16 << 20)
	at := s.serve(content, 2)
	r := s.mars("get", "/site/object", "--via", at[0], "--via", at[1])
	r.want(t, 0, "path1", "path2", "goodput", "object: 16.8 MB in ", " over 2 paths, verified, signed by ")
	if r.stdout != "" {
		t.Errorf("stdout: %s", r.stdout)
	}
	s.same("object", content)
	if s.exists("object.mars-part") || s.exists("object.mars-journal") {
		t.Error("a complete fetch left its partial file or journal")
	}
}

// TestGetJSON: the same address twice is two paths; every event is as the schema says, and the last holds the result.
func TestGetJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(16 << 20)
	at := s.serve(content, 1)
	r := s.mars("get", "/site/object", "--json", "-o", "copy", "--via", at[0], "--via", at[0])
	r.want(t, 0)
	s.same("copy", content)
	all := parseEvents(t, r.stdout)
	order := ""
	for _, ev := range all {
		order += ev["event"].(string) + " "
	}
	if !regexp.MustCompile(`^version phase (path_up path_up phase|phase path_up path_up|path_up path_up (path_\w+ |progress )*phase) (path_\w+ |progress )*progress verify complete $`).MatchString(order) {
		t.Errorf("order of events: %s", order)
	}
	if v := only(t, all, "version")["version"]; v != "v0.0.0-test" {
		t.Errorf("version %v", v)
	}
	c := only(t, all, "complete")
	if c["name"] != "/site/object" || c["file"] != "copy" || c["bytes"] != float64(len(content)) || c["resumed_bytes"] != 0.0 {
		t.Errorf("%v", c)
	}
	sum := 0.0
	for i, p := range c["paths"].([]any) {
		p := p.(map[string]any)
		if p["name"] != fmt.Sprintf("path%d", i+1) || !strings.HasSuffix(at[0], "@"+p["peer"].(string)) || p["bytes"] == 0.0 {
			t.Errorf("path %v", p)
		}
		sum += p["bytes"].(float64)
	}
	if sum < float64(len(content)) {
		t.Errorf("the paths brought %v bytes of %d", sum, len(content))
	}
	if key, _, _ := strings.Cut(strings.TrimPrefix(at[0], "udp4://"), "@"); c["signer"] != key {
		t.Errorf("signed by %v, served by %s", c["signer"], key)
	}
	if c["version"] != c["digest"].(string)[:16] {
		t.Errorf("version %v of digest %v", c["version"], c["digest"])
	}
}

func TestGetToPipe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(3<<20 + 17)
	at := s.serve(content, 1)
	r := s.mars("get", "/site/object", "-o", "-", "--json", "--via", at[0])
	r.want(t, 0)
	if sha256.Sum256([]byte(r.stdout)) != sha256.Sum256(content) {
		t.Errorf("%d bytes on stdout are not those served", len(r.stdout))
	}
	if c := only(t, parseEvents(t, r.stderr), "complete"); c["file"] != "-" {
		t.Errorf("%v", c)
	}
	r = s.mars("get", "/site/object", "-o", "-", "-q", "--via", at[0])
	r.want(t, 0)
	if r.stderr != "" || len(r.stdout) != len(content) {
		t.Errorf("quiet: %d bytes and %q", len(r.stdout), r.stderr)
	}
	if left, _ := filepath.Glob(s.path("*")); len(left) != 1 {
		t.Errorf("files appeared: %v", left)
	}
}

// interrupt starts a fetch and ends it by a signal when a part is stored.
func (s *shell) interrupt(content []byte, sig syscall.Signal, code int) *process {
	s.t.Helper()
	slow := s.serveSlowly(content, 1)
	p := s.start(false, "get", "/site/object", "--json", "--via", slow[0])
	// Progress comes once a second and the journal is written ten times a second: what the first progress that shows
	// bytes counted is in the journal when the next one comes.
	p.until(`"event":"progress".*"bytes":[1-9]\d*,"size"`)
	p.until(`"event":"progress"`)
	if got := p.end(sig); got != code {
		s.t.Fatalf("exit code %d after %v, want %d: %s", got, sig, code, p.rest)
	}
	if s.exists("object") || !s.exists("object.mars-part") || !s.exists("object.mars-journal") {
		s.t.Fatal("an interrupted fetch must leave a partial file and a journal, and no file")
	}
	return p
}

// resumes fetches the rest and checks that it was only the rest.
func (s *shell) resumes(content []byte) {
	s.t.Helper()
	r := s.mars("get", "/site/object", "--json", "--via", s.serve(content, 1)[0])
	r.want(s.t, 0)
	s.same("object", content)
	c := only(s.t, parseEvents(s.t, r.stdout), "complete")
	resumed := c["resumed_bytes"].(float64)
	fetched := c["paths"].([]any)[0].(map[string]any)["bytes"].(float64)
	if resumed <= 0 || resumed >= float64(len(content)) || fetched >= float64(len(content)) {
		s.t.Errorf("resumed %v and fetched %v of %d bytes", resumed, fetched, len(content))
	}
	if s.exists("object.mars-part") || s.exists("object.mars-journal") {
		s.t.Error("a complete fetch left its partial file or journal")
	}
}

func TestResumeAfterKill(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(4 << 20)
	s.interrupt(content, syscall.SIGKILL, -1)
	s.resumes(content)
}

func TestResumeAfterInterrupt(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			content := random(4 << 20)
			p := s.interrupt(content, sig, 130)
			for _, text := range []string{"mars: get /site/object: interrupted\n", "run the same command again to resume; ", " of 4.2 MB are here"} {
				if !strings.Contains(p.rest.String(), text) {
					t.Errorf("no %q in %s", text, p.rest)
				}
			}
			var events strings.Builder
			for line := range p.lines {
				events.WriteString(line + "\n")
			}
			if e := only(t, parseEvents(t, events.String()), "error"); e["code"] != "interrupted" || e["exit_code"] != 130.0 {
				t.Errorf("%v", e)
			}
			s.resumes(content)
		})
	}
}

// TestStartAnew: -C=false fetches everything, and an existing file is replaced.
func TestStartAnew(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(4 << 20)
	s.interrupt(content, syscall.SIGINT, 130)
	s.write("object", []byte("what was there before"))
	r := s.mars("get", "/site/object", "-C=false", "--json", "--via", s.serve(content, 1)[0])
	r.want(t, 0)
	s.same("object", content)
	if c := only(t, parseEvents(t, r.stdout), "complete"); c["resumed_bytes"] != 0.0 {
		t.Errorf("resumed %v bytes", c["resumed_bytes"])
	}
}

func TestGetFails(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	at := s.serve([]byte("short"), 1)
	s.mars("get", "/site/nothing", "--via", at[0]).want(t, 3, "mars: get /site/nothing: not found", "\n  check the name")

	silent, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r := s.mars("get", "/site/object", "--json", "--stall", "1s", "--via", "plain+udp4://"+silent.LocalAddr().String())
	r.want(t, 5, "mars: get /site/object: no answer", "--via")
	e := only(t, parseEvents(t, r.stdout), "error")
	if e["code"] != "timeout" || e["exit_code"] != 5.0 || e["message"] == "" || e["next"] == "" {
		t.Errorf("%v", e)
	}
	if left, _ := filepath.Glob(s.path("*.mars-*")); len(left) != 0 {
		t.Errorf("failures left %v", left)
	}
}

// TestGetByConfig: without --via the faces and routes of the configuration lead to the object.
func TestGetByConfig(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(100_000)
	at := s.serve(content, 2)
	s.write("c.yaml", fmt.Appendf(nil, `listen: ["udp4://127.0.0.1:1"] # not for a fetch
faces: [{name: isp-a, to: %q}, {name: isp-b, to: %q}]
routes: [{prefix: /site, via: isp-a}, {prefix: /site, via: isp-b}]
`, at[0], at[1]))
	r := s.mars("get", "/site/object", "--config", "c.yaml", "-O")
	r.want(t, 0, "isp-a", "isp-b", "verified")
	s.same("object", content)
}

func TestGetUsage(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	via := []string{"--via", "plain+udp4://127.0.0.1:1"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get"}, "mars: get: give one object name"},
		{append([]string{"get", "/a", "/b/a"}, via...), `/a and /b/a would both become "a"`},
		{append([]string{"get", "/a", "/b", "-o", "-"}, via...), "-o - takes one object"},
		{append([]string{"get", "/a/", "-o", "-"}, via...), "-o - takes one object"},
		{append([]string{"get", "/a", "/b", "--checksum", "sha256=" + strings.Repeat("0", 64)}, via...), "--checksum is for one object"},
		{append([]string{"get", "/a/b", "--checksum", "md5=0"}, via...), "is not sha256= and 64 hexadecimal digits"},
		{append([]string{"get", "/a/b", "--limit-rate", "fast"}, via...), "--limit-rate: \"fast\" is not a rate"},
		{append([]string{"get", "/a/b", "--limit-rate", "10"}, via...), "less than 1 kB/s"},
		{append([]string{"get", "/a/b", "--max-duration", "0s"}, via...), "--max-duration"},
		{append([]string{"get", "/a/b", "--retry", "-1"}, via...), "--retry"},
		{[]string{"get", "/a"}, `faces: [{name: up, to: "udp4://KEY@host:port"}]`},
		{append([]string{"get", "a b"}, via...), "is not an object name"},
		{append([]string{"get", "/"}, via...), "names no object"},
		{append([]string{"get", "/a/%2E%2Fb"}, via...), "can't be a file name here (it holds a slash)"},
		{append([]string{"get", "/a/b", "-o", "x", "-O"}, via...), "give one"},
		{append([]string{"get", "/a/b", "--stall", "0"}, via...), "--stall"},
		{append([]string{"get", "/a/b", "--stall", "soon"}, via...), "--stall"},
		{[]string{"get", "/a", "--via", "127.0.0.1:1"}, "write udp4://127.0.0.1:1"},
		{[]string{"get", "/a", "--via", "udp4://127.0.0.1:0"}, "port 0"},
		{[]string{"get", "/a", "--via", "udp4://127.0.0.1:1"}, "there is no key in udp4://127.0.0.1:1: write udp4://KEY@127.0.0.1:1 with"},
		{[]string{"get", "/a", "--vai", "udp4://127.0.0.1:1"}, "mars: get: unknown flag: --vai\n  see `mars get --help`\n"},
	} {
		r := s.mars(c.args...)
		r.want(t, 2, c.want)
		if strings.Contains(r.stderr+r.stdout, "Usage:") {
			t.Errorf("%v prints the usage text", c.args)
		}
	}
	all := parseEvents(t, s.mars("get", "/a/b", "--json", "-o", "x", "-O").stdout)
	if e := only(t, all, "error"); e["code"] != "usage" || e["exit_code"] != 2.0 {
		t.Errorf("%v", e)
	}
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("files appeared: %v", left)
	}
}

func TestUnsafeFileNames(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", ".", "..", "a/b", `a\b`, "a\x00", "a\nb", "\x1b[2J", "\xff", strings.Repeat("a", 256)} {
		if unsafe(true, file) == "" {
			t.Errorf("%q may become a file", file)
		}
	}
	for _, file := range []string{"a", "file.iso", ".profile", "-rf", "Grüße.txt", "a b"} {
		if why := unsafe(true, file); why != "" {
			t.Errorf("%q must not become a file: %s", file, why)
		}
		if unsafe(false, file) == "" {
			t.Errorf("a marker %q may become a file", file)
		}
	}
}

// TestGetTrust: behind a plain face --trust says whose object it is to be, and --unsigned that it may be anybody's.
func TestGetTrust(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(100_000)
	s.write("served/object", content)
	const path = "other.key"
	public, err := mars.NewKeyFile(s.path(path))
	if err != nil {
		t.Fatal(err)
	}
	key := public.String()
	own := s.env
	s.env = append(append([]string(nil), own...), "MARS_NODE_KEY="+s.path(path))
	p := s.start(false, "serve", "served", "--prefix", "/site", "--listen", "plain+udp4://127.0.0.1:0")
	_, address, _ := strings.Cut(vias(p)[0], "@")
	s.env = own
	via := []string{"--via", "plain+udp4://" + address}
	get := func(args ...string) result {
		return s.mars(append(append([]string{"get", "/site/object"}, args...), via...)...)
	}
	get("-o", "none").want(t, 7, "get /site/object: not trusted: signed by "+key, "add --trust "+key)
	if s.exists("none") {
		t.Error("what isn't trusted was written")
	}
	get("-o", "none", "--trust", key, "--unsigned").want(t, 2, "give one")
	get("-o", "none", "--trust", "x").want(t, 2, "--trust: it is no key")
	get("-o", "one", "--trust", key).want(t, 0, "verified, signed by "+key)
	get("-o", "two", "--unsigned").want(t, 0, "verified, signed by "+key)
	s.same("one", content)
	s.same("two", content)
	s.mars(append([]string{"ls", "/site"}, via...)...).want(t, 7, "not trusted")
	s.mars(append([]string{"ls", "/site", "--trust", key}, via...)...).want(t, 0, "signed by "+key)
}
