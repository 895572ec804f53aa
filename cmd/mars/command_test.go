package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestServe: what `serve` prints is enough to get a file on another machine, and a signal ends it cleanly.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			content := random(50_000)
			s.write("my data/sub dir/it's.bin", content)
			p := s.start(false, "serve", "my data", "--prefix", "/site/x", "--listen", "udp4://127.0.0.1:0")
			p.until(`^serving my data as /site/x on udp4://127\.0\.0\.1:[1-9]\d*$`)
			line := p.until(`^get it: (mars get .*)$`)[1]
			s.run("sh", "-c", `mars() { "$0" "$@"; }; `+line, binary).want(t, 0, "it's.bin: 50.0 kB in ")
			s.same("it's.bin", content)
			if code := p.end(sig); code != 0 {
				t.Errorf("exit code %d: %s", code, p.rest)
			}
		})
	}
}

// TestServeEveryAddress: the line to use elsewhere must not say 0.0.0.0.
func TestServeEveryAddress(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("data/a", []byte("a"))
	p := s.start(false, "serve", "data", "--prefix", "/x", "--listen", "udp4://0.0.0.0:0")
	p.until(` on udp4://0\.0\.0\.0:`)
	line := p.until(`^get it: (mars get /x/a --via udp4://.*)$`)[1]
	if strings.Contains(line, "0.0.0.0") {
		t.Error(line)
	}
}

// TestRelays: two relays in a row, from flags alone, between a producer and a fetch that knows no distance.
func TestRelays(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := random(1 << 20)
	next := s.serve(content, 1)[0]
	var relays []*process
	for _, route := range []string{"/site=up", "/site=up:2"} {
		p := s.start(true, "node", "--role", "relay", "--listen", "udp4://127.0.0.1:0", "--face", "up="+next, "--route", route)
		next = p.until(`msg=listening address=(\S+)`)[1]
		relays = append(relays, p)
	}
	s.mars("get", "/site/object", "--via", next).want(t, 0, "verified")
	s.same("object", content)
	for _, p := range relays {
		if code := p.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d: %s", code, p.rest)
		}
	}
}

// TestPrecedence: flags override the environment, which overrides the file.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("c.yaml", []byte("node: {role: leaf, name: from-file}\nlisten: [\"udp4://127.0.0.1:1\"]\n"))
	s.env = append(s.env, "MARS_NODE_NAME=from-env", "MARS_CONFIG=c.yaml")
	r := s.mars("config", "print")
	r.want(t, 0)
	for _, text := range []string{"role: leaf", "name: from-env", "udp4://127.0.0.1:1"} {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("no %q in\n%s", text, r.stdout)
		}
	}
	p := s.start(true, "node", "--listen", "udp4://127.0.0.1:0")
	if got := p.until(`msg=listening address=udp4://[\w-]+@127\.0\.0\.1:(\d+)`)[1]; got == "1" {
		t.Error("the file's port was taken")
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("good.yaml", []byte("node:\n  role: relay\n"))
	s.write("bad.yaml", []byte("node:\n  role: boss\nfaces:\n- {name: a, to: \"udp4://h:1\", mtu: big}\n"))
	s.write("whole.yaml", []byte("routes:\n- {prefix: /x, via: a}\n"))
	r := s.mars("config", "check", "good.yaml")
	r.want(t, 0)
	if r.stdout != "good.yaml: valid\n" {
		t.Errorf("%q", r.stdout)
	}
	s.mars("config", "check").want(t, 0)
	s.mars("config", "check", "bad.yaml").want(t, 2, "mars: bad.yaml:2:9: node.role", "mars: bad.yaml:4:")
	s.mars("config", "check", "whole.yaml").want(t, 2, "mars: whole.yaml:2:")
	s.mars("config", "check", "missing.yaml").want(t, 2, "missing.yaml")
	s.mars("node", "--config", "bad.yaml").want(t, 2, "mars: bad.yaml:2:9: node.role")
	s.mars("get", "/a/b", "--config", "bad.yaml").want(t, 2, "mars: bad.yaml:2:9: node.role")
	s.mars("get", "/a/b", "--config", "whole.yaml").want(t, 2, "mars: whole.yaml:2:")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, want string
	}{
		{"gte", "mars: there is no command \"gte\"; did you mean \"get\"?\n  see `mars --help`\n"},
		{"--color", "mars: unknown flag: --color\n"},
		{"config chekc", `mars: config: there is no command "chekc"; did you mean "check"?`},
		{"config check a b", "mars: config check: give one FILE"},
		{"config print a", "mars: config print: it takes no arguments"},
		{"serve", "mars: serve: give one directory"},
		{"serve .", "mars: serve: there is no prefix"},
		{"serve . --prefix x", "begin it with /"},
		{"serve . --prefix /x --listen :1", "mars: serve: --listen: "},
		{"node x", "mars: node: it takes no arguments"},
		{"node --role boss", "--role: \"boss\""},
		{"node --face a", "mars: node: --face: \"a\" is not NAME=ADDRESS"},
		{"node --route /a", "mars: node: --route: \"/a\" is not PREFIX=NAME"},
		{"node --route /a=b:0", "from 1 to 255"},
		{"node --route /a=b", `there is no face "b"`},
		{"node --log-level loud", "mars: node: --log-level: \"loud\""},
		{"version x", "mars: version: it takes no arguments"},
	} {
		r := inProcess(strings.Fields(c.args)...)
		r.want(t, 2, c.want)
		if strings.Contains(r.stderr+r.stdout, "Usage:") {
			t.Errorf("%v prints the usage text", c.args)
		}
	}
	inProcess("serve", "missing", "--prefix", "/x", "--listen", "udp4://127.0.0.1:0").want(t, 1, "mars: serve missing")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if r := s.mars("version"); r.code != 0 || !strings.HasPrefix(r.stdout, "mars v0.0.0-test (go1.") {
		t.Errorf("%v", r)
	}
	if r := s.mars("--version"); r.stdout != "mars v0.0.0-test\n" {
		t.Errorf("%v", r)
	}
	var v struct{ Version, Go, Platform string }
	if err := json.Unmarshal([]byte(s.mars("version", "--json").stdout), &v); err != nil || v.Version != "v0.0.0-test" {
		t.Errorf("%v: %v", v, err)
	}
}

// TestHelp: every command has a short help with its flags, and completions exist.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "get", "serve", "node", "config", "config check", "config print", "version"} {
		r := inProcess(append(strings.Fields(args), "--help")...)
		r.want(t, 0)
		if n := strings.Count(r.stdout, "\n"); n > 40 || !strings.Contains(r.stdout, "Usage:") || r.stderr != "" {
			t.Errorf("help of %q, %d lines:\n%s%s", args, n, r.stdout, r.stderr)
		}
		for line := range strings.Lines(r.stdout) {
			if len(line) > 140 {
				t.Errorf("help of %q has a line of %d characters: %s", args, len(line), line)
			}
		}
	}
	r := inProcess("completion", "bash")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "__start_mars") {
		t.Error("no completion for bash")
	}
	if r := inProcess("get", "--json-schema"); r.code != 0 || r.stdout != eventSchema {
		t.Errorf("%v", r)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/a/b%20c.iso": "/a/b%20c.iso", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$(x)": "'/$(x)'"} {
		if got := quote(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBuildVersion(t *testing.T) {
	t.Parallel()
	if v := buildVersion(); !regexp.MustCompile(`^\S+$`).MatchString(v) {
		t.Errorf("%q", v)
	}
}
