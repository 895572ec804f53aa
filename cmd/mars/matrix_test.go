package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trouble is one row of the error matrix: what is wrong, and what the program must say, return and leave behind.
type trouble struct {
	name    string
	prepare func(s *shell)
	args    string                        // {fast}, {slow} and {dead} are addresses; a first word with a slash is a shell script in place of the program
	during  func(s *shell, site *process) // when bytes have come: the producer is the row's own then, slow, of "served/object"
	code    int
	says    []string          // on stderr
	left    string            // names of the files in the directory afterwards
	content map[string]string // of some of them
}

const (
	object    = "object bytes" // /site/small
	journalOf = ".mars-journal"
	partOf    = ".mars-part"
)

// matrix is everything that goes wrong every day.
var matrix = []trouble{
	{
		name: "target is a directory", prepare: func(s *shell) { s.mkdir("d/e") },
		args: "get /site/small -o d --via {dead}", code: 1, says: []string{`destination "d": is a directory`, "\n  choose another destination"}, left: "d d/e",
	},
	{
		name: "target of a directory is a file", prepare: func(s *shell) { s.write("f", []byte("mine")) },
		args: "get /site/ -o f --via {dead}", code: 1, says: []string{"write into f: not a directory", "\n  choose"}, left: "f", content: map[string]string{"f": "mine"},
	},
	{
		name: "missing parent",
		args: "get /site/small -o no/where --via {dead}", code: 1, says: []string{`directory "no" does not exist`, "create it"},
	},
	{
		name: "missing parent of a directory",
		args: "get /site/ -o no/where/ --via {dead}", code: 1, says: []string{`directory "no" does not exist`, "create it"},
	},
	{
		name: "target is a device",
		args: "get /site/small -o /dev/null --via {dead}", code: 1, says: []string{"not a regular file", "standard output"},
	},
	{
		name: "read-only target", prepare: func(s *shell) { s.mkdir("ro") },
		args: `/mount -t tmpfs -o ro none ro && cd ro && "$0" get /site/small --via {fast}`,
		code: 1, says: []string{"read-only file system", "\n  choose a destination"}, left: "ro",
	},
	{
		name: "full disk", prepare: func(s *shell) { s.mkdir("small") },
		args: `/mount -t tmpfs -o size=2m none small && "$0" get /site/ -o small/x --via {fast}; code=$?; cat small/x/small >&2; exit $code`,
		code: 12, says: []string{"disk full", "1 of 2 objects failed", "\n  free some space", object}, left: "small",
	},
	{
		name: "unknown name",
		args: "get /site/nothing --via {fast}", code: 3, says: []string{"mars: get /site/nothing: not found: the producer has no such object\n  check the name"},
	},
	{
		name: "unknown prefix",
		args: "get /other/small --via {fast}", code: 3, says: []string{"not found: no node on the way knows", "\n  check the name's prefix"},
	},
	{
		name: "unknown directory",
		args: "ls /site/nothing --via {fast}", code: 3, says: []string{"mars: ls /site/nothing: not found"},
	},
	{
		name: "unreachable node",
		args: "get /site/small --stall 1s --via {dead}", code: 5, says: []string{"mars: get /site/small: no answer\n  check the addresses"},
	},
	{
		name: "unreachable node, tried again",
		args: "get /site/small --stall 200ms --retry 1 --via {dead}", code: 5, says: []string{"mars: trying again, object /site/small, after 1s: ", "no answer"},
	},
	{
		name: "port in use",
		args: "serve . --prefix /x --listen {fast}", code: 5, says: []string{"another program uses that port", "\n  end it", "--listen"},
	},
	{
		name: "bad prefix to serve under",
		args: "serve . --prefix site", code: 2, says: []string{"mars: serve: --prefix: \"site\" is not a name prefix; begin it with /\n  see `mars serve --help`"},
	},
	{
		name: "address to listen on twice",
		args: "serve . --prefix /x --listen udp4://127.0.0.1:6363 --listen udp4://127.0.0.1:6363", code: 2, says: []string{"mars: serve: --listen: udp4://127.0.0.1:6363 is there twice\n  see `mars serve"},
	},
	{
		name: "route to nowhere",
		args: "node --socket none --route /x=up", code: 2, says: []string{"mars: node: --route: there is no face \"up\"", "\n  see `mars node --help`"},
	},
	{
		name: "nothing to serve",
		args: "serve gone --prefix /x --listen udp4://127.0.0.1:0", code: 1, says: []string{"mars: serve gone: ", "\n  check the path"},
	},
	{
		name: "bad line of the configuration", prepare: func(s *shell) { s.write("c.yaml", []byte("node:\n  role: boss\n")) },
		args: "get /site/small --config c.yaml", code: 2, says: []string{"mars: c.yaml:2:9: node.role", "leaf", "relay", "\n  mend the configuration"}, left: "c.yaml",
	},
	{
		name: "unknown flag",
		args: "get /site/small --form", code: 2, says: []string{"unknown flag: --form\n  see `mars get --help`"},
	},
	{
		name: "wrong checksum", prepare: func(s *shell) { s.write("small", []byte("mine")) },
		args: "get /site/small --checksum sha256=" + strings.Repeat("0", 64) + " --via {fast}",
		code: 11, says: []string{"integrity check failed: not the checksum", "\n  check the checksum"}, left: "small", content: map[string]string{"small": "mine"},
	},
	{
		name: "journal of another release",
		prepare: func(s *shell) {
			s.write("small"+journalOf, []byte("MARSJNL\x09 things to come"))
			s.write("small"+partOf, []byte("old"))
		},
		args: "get /site/small --via {fast}", says: []string{"starting anew: the journal was written by another release"}, left: "small", content: map[string]string{"small": object},
	},
	{
		name: "truncated journal",
		prepare: func(s *shell) {
			s.write("small"+journalOf, []byte("MARSJNL\x01 thin"))
			s.write("small"+partOf, []byte("old"))
		},
		args: "get /site/small --via {fast}", says: []string{"starting anew: the journal is damaged"}, left: "small", content: map[string]string{"small": object},
	},
	{
		name: "journal is a pipe", prepare: func(s *shell) { s.must(syscall.Mkfifo(s.path("small"+journalOf), 0o600)) },
		args: "get /site/small --via {fast}", code: 1, says: []string{"not a regular file; remove it"}, left: "small" + journalOf,
	},
	{
		name: "one of several fails",
		args: "get /site/small /site/gone --via {fast}", code: 3, says: []string{"mars: get /site/gone: not found", "1 file, 1 failed", "1 of 2 objects failed"}, left: "small", content: map[string]string{"small": object},
	},
	{
		name: "far too few descriptors",
		args: `/ulimit -n 8 && exec "$0" get /site/small --via {fast}`, code: 1, says: []string{"only 8 open files", "\n  allow more: ulimit -n"},
	},
	{
		name: "few descriptors",
		args: `/ulimit -n 24 && exec "$0" get /site/ -o . --via {fast}`, says: []string{"2 files, "}, left: "object small",
	},
	{
		name: "deadline",
		args: "get /site/object --max-duration 1s --via {slow}", code: 10, says: []string{"deadline exceeded\n  run the same command again to resume; "}, left: "object" + journalOf + " object" + partOf,
	},
	{
		name: "vanished producer",
		args: "get /site/object --stall 1s --via {own}", during: func(_ *shell, site *process) { site.end(syscall.SIGKILL) },
		code: 5, says: []string{"no answer\n", "it resumes"}, left: "object" + journalOf + " object" + partOf,
	},
	{
		name: "changed version",
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) { s.write("served/object", bytes.Repeat([]byte("new "), 1<<20)) },
		code: 5, says: []string{"the object changed during the fetch\n  run the same command again"}, left: "object" + journalOf + " object" + partOf,
	},
	{
		name: "served file shrinks",
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) { s.must(os.Truncate(s.path("served/object"), 1000)) },
		code: 5, says: []string{"the object changed during the fetch\n"}, left: "object" + journalOf + " object" + partOf,
	},
	{
		name: "the clock jumps", // the file's time is ahead of ours then, and its bytes are the same
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) {
			ahead := time.Now().Add(time.Hour)
			s.must(os.Chtimes(s.path("served/object"), ahead, ahead))
		},
		says: []string{""}, left: "object",
	},
	{
		name: "partial file is cut short",
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) { s.must(os.Truncate(s.path("object"+partOf), 1000)) },
		code: 1, says: []string{"was changed by another program", "run the same command again"}, left: "object" + journalOf + " object" + partOf,
	},
	{
		name: "partial file has a second name",
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) { s.must(os.Link(s.path("object"+partOf), s.path("other"))) },
		code: 1, says: []string{"has a second name (a hard link); remove it"}, left: "object" + journalOf + " object" + partOf + " other",
	},
	{
		name: "served file is removed", // it is open, so it lives on until nobody wants it
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) { s.must(os.Remove(s.path("served/object"))) },
		says: []string{""}, left: "object",
	},
	{
		name: "two fetches of one file",
		args: "get /site/object --via {own}", during: func(s *shell, _ *process) {
			s.mars("get", "/site/object", "--via", s.at).want(s.t, 5, "another fetch is writing this file", "\n  wait for the other")
		},
		says: []string{""}, left: "object",
	},
}

// TestErrorMatrix walks the matrix with the real program.
func TestErrorMatrix(t *testing.T) {
	t.Parallel()
	site := newShell(t)
	site.write("served/small", []byte(object))
	fast := site.serve(random(4<<20), 1)[0]
	slow := newShell(t).serveSlowly(random(4<<20), 1)[0]
	free, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	dead := "plain+udp4://" + free.LocalAddr().String() // listened on, and never read
	t.Cleanup(func() { free.Close() })
	for _, row := range matrix {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.walk(t, strings.NewReplacer("{fast}", fast, "{slow}", slow, "{dead}", dead))
		})
	}
}

func (row trouble) walk(t *testing.T, addresses *strings.Replacer) {
	s := newShell(t)
	if row.prepare != nil {
		row.prepare(s)
	}
	line := addresses.Replace(row.args)
	var r result
	switch script, isScript := strings.CutPrefix(line, "/"); {
	case row.during != nil:
		r = row.interfere(s)
	case isScript:
		s.needsNamespace(strings.Contains(line, "mount"))
		r = s.run("unshare", "--mount", "sh", "-c", script, binary)
	default:
		r = s.mars(strings.Fields(line)...)
	}
	r.want(t, row.code, row.says...)
	for _, bad := range []string{"fetch:", "disk:", "wire:", "goroutine "} {
		if strings.Contains(r.stderr, bad) {
			t.Errorf("%q in %s", bad, r.stderr)
		}
	}
	if got := strings.Join(s.files(), " "); got != row.left {
		t.Errorf("left %q, want %q", got, row.left)
	}
	for name, content := range row.content {
		s.same(name, []byte(content))
	}
}

// interfere runs a row whose trouble begins when a part of the object is here. The producer is slow, but takes no more than
// ten seconds.
func (row trouble) interfere(s *shell) result {
	s.write("served/object", random(2<<20))
	fast := s.env
	s.env = append(slices.Clone(fast), "MARS_NODE_GUEST_RATE=4Mbit")
	site := s.start(false, "serve", "served", "--prefix", "/site", "--listen", "udp4://127.0.0.1:0")
	s.env = fast
	s.at = vias(site)[0]
	p := s.start(false, append(strings.Fields(strings.ReplaceAll(row.args, "{own}", s.at)), "--json")...)
	p.until(`"event":"progress".*"bytes":[1-9]\d*,"size"`)
	row.during(s, site)
	code := p.wait()
	if err := os.RemoveAll(s.path("served")); err != nil {
		s.t.Fatal(err)
	}
	return result{"", p.rest.String(), code}
}

// needsNamespace skips a row that can't have its small world here.
func (s *shell) needsNamespace(mount bool) {
	if !mount {
		return
	}
	if out, err := s.command("unshare", "--mount", "mount", "-t", "tmpfs", "none", s.dir).CombinedOutput(); err != nil {
		s.t.Skipf("no mount namespace here: %v: %s", err, out)
	}
}

// files lists what is in the directory of the shell.
func (s *shell) files() (all []string) {
	s.must(filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.dir, path); rel != "." {
			all = append(all, rel)
		}
		return err
	}))
	return all
}

func (s *shell) mkdir(name string) { s.must(os.MkdirAll(s.path(name), 0o755)) }

func (s *shell) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestLimitRate: the rate is what was asked for, within what the start and the end of so short a fetch cost.
func TestLimitRate(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	at := s.serve(random(4<<20), 1)[0]
	r := s.mars("get", "/site/object", "--json", "--limit-rate", "1MB/s", "--via", at)
	r.want(t, 0)
	c := only(t, parseEvents(t, r.stdout), "complete")
	if rate := c["aggregate_mbps"].(float64); rate > 8*1.05 {
		t.Errorf("%v Mbit/s, and the limit is 8", rate)
	} else {
		t.Logf("%v Mbit/s of 8", rate)
	}
}

// TestGetMany: several names and a directory in one command, the events of it, and a second run that finds all of it there.
func TestGetMany(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("served/dir/sub/a b%=.txt", []byte("one"))
	s.write("served/dir/-rf", nil)
	s.mkdir("served/dir/empty")
	content := random(1 << 20)
	at := s.serve(content, 1)[0]

	r := s.mars("ls", "/site/dir/", "--via", at)
	r.want(t, 0)
	if lines := strings.Split(r.stdout, "\n"); len(lines) != 4 || !strings.HasSuffix(lines[0], "  -rf") || !strings.HasSuffix(lines[1], "  empty/") || !strings.HasSuffix(lines[2], "  sub/") {
		t.Errorf("%s", r.stdout)
	}
	r = s.mars("ls", "/site/dir/sub", "--json", "--via", at)
	if e := only(t, parseEvents(t, r.stdout), "entry"); e["name"] != "/site/dir/sub/a%20b%25%3D.txt" || e["base"] != "a b%=.txt" || e["size"] != 3.0 || e["kind"] != "file" {
		t.Errorf("%v", e)
	}
	r = s.mars("get", "-n", "/site/dir/", "/site/object", "--via", at)
	r.want(t, 0, "would fetch 3 files, 1.0 MB")
	if !strings.Contains(r.stdout, "       3 B  dir/sub/a b%=.txt\n") || s.exists("dir") {
		t.Errorf("%s", r.stdout)
	}
	for present := range 2 {
		r = s.mars("get", "/site/dir/", "/site/object", "-o", "new/", "--json", "--via", at)
		r.want(t, 0)
		sum := only(t, parseEvents(t, r.stdout), "summary")
		if sum["done"] != 3.0 || sum["present"] != float64(3*present) || sum["bytes"] != float64(len(content)+3) || sum["failed"] != 0.0 {
			t.Errorf("%v", sum)
		}
	}
	s.same("new/object", content)
	s.same("new/dir/sub/a b%=.txt", []byte("one"))
	s.same("new/dir/-rf", nil)
	if !s.exists("new/dir/empty") {
		t.Error("the empty directory is missing")
	}
	s.mars("get", "/site/dir/", "-o", "flat", "--via", at).want(t, 0, "flat: 2 files, ")
	s.same("flat/sub/a b%=.txt", []byte("one"))
	s.mars("get", "/site/object", "-o", "into/", "--via", at).want(t, 0, "into/object: 1.0 MB in ")
	s.mars("get", "/site/object", "-o", "into/", "--via", at).want(t, 0, "into/object: 1.0 MB were here already, verified")
	s.same("into/object", content)
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"a b":            {"a b", "a b"},
		"Grüße/%=":       {"Grüße/%=", "Grüße%2F%25%3D"},
		"\x1b[2J\n":      {`\x1b[2J\x0a`, "%1B[2J%0A"},
		"\xff\u202e":     {`\xff\xe2\x80\xae`, "%FF%E2%80%AE"},
		"...":            {"...", "......"},
		"":               {"", "..."},
		string('\ufffd'): {string('\ufffd'), string('\ufffd')},
	} {
		if got := [2]string{printable(in), spell(in)}; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := fmt.Sprint(count(0, "file"), count(1, "file"), count(2, "file")); got != "0 files1 file2 files" {
		t.Error(got)
	}
}
