package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// files is a set of files by name.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (f files) load() (*Scenario, error) { return loadFrom("s.yaml", f.read) }

// small is a scenario to which tests do harm.
const small = `name: s
title: t
systems: [MARS]
limit: 60s
sweep:
  loss: [0, 1%]
topology:
  link: {rate: 40 Mbit/s, delay: 5ms, queue: 1000 packets}
  nodes:
    - {name: c, role: consumer}
    - {name: r, role: relay}
    - {name: p, role: producer}
  links:
    - between: [c, r]
      loss: $loss
    - between: [r, p]
workload:
  flows:
    - {consumer: c, producer: p, size: 1 MB}
`

// swap is small with one thing changed.
func swap(old, new string) files {
	if !strings.Contains(small, old) {
		panic(old)
	}
	return files{"s.yaml": strings.Replace(small, old, new, 1)}
}

// generated is a small scenario with these lines in its topology.
func generated(topology string) files {
	return files{"s.yaml": "name: s\ntitle: t\nsystems: [MARS]\nlimit: 60s\nworkload: {size: 1 MB}\n" +
		"topology:\n  link: {rate: 40 Mbit/s, delay: 5ms, queue: 1000 packets}\n" + topology}
}

var badFiles = []struct {
	name string
	in   files
	kind error
	want string // of the text; it begins with the place
}{
	{"no file", files{}, ErrInclude, "s.yaml: can't read s.yaml: file does not exist"},
	{"empty", files{"s.yaml": ""}, ErrSyntax, "s.yaml: no mapping"},
	{"not YAML", files{"s.yaml": "a: [1\nb: 2"}, ErrSyntax, "s.yaml:2:1: "},
	{"two documents", files{"s.yaml": small + "---\nname: b\n"}, ErrSyntax, "s.yaml:21:1: a second YAML document"},
	{"alias", swap("limit: 60s", "limit: &x 60s"), ErrSyntax, "anchors, aliases"},
	{"merge key", swap("limit: 60s", "<<: {limit: 60s}"), ErrSyntax, "s.yaml:4:1: a key that isn't plain text"},
	{"key twice", swap("limit: 60s", "limit: 60s\nlimit: 50s"), ErrSyntax, "s.yaml:5:1: "},
	{"brackets", files{"s.yaml": "a: " + strings.Repeat("[", 100)}, ErrSyntax, "nested deeper than 64"},
	{"dashes", files{"s.yaml": strings.Repeat("- ", 100)}, ErrSyntax, "nested deeper than 64"},
	{"huge file", files{"s.yaml": small + strings.Repeat("#", maxFile)}, ErrSize, "a file has at most 262144"},

	{"unknown key", swap("workload:", "wrkload:"), ErrKey, `s.yaml:17:1: unknown key "wrkload"; did you mean "workload"?`},
	{"unknown key of a link", swap("loss: $loss", "lose: $loss"), ErrKey, `s.yaml:15:7: topology.links[0]: unknown key "lose"; did you mean "loss"?`},
	{"far from any key", swap("limit: 60s", "limit: 60s\nsomething: 1"), ErrKey, "known: name, title, notes"},
	{"unknown node", swap("between: [c, r]", "between: [c, rr]"), ErrNode, `s.yaml:14:20: topology.links[0].between[1]: unknown node "rr"; known: c, r, p`},
	{"unknown consumer", swap("consumer: c,", "consumer: con,"), ErrNode, `s.yaml:19:18: workload.flows[0].consumer: unknown node "con"; known: c, r, p`},
	{"relay fetches", swap("consumer: c,", "consumer: r,"), ErrNode, "r is a relay; name a node with role: consumer"},
	{"no route", swap("    - between: [r, p]\n", ""), ErrRoute, "s.yaml:16:1: workload: flow c-p has no route from c to p; add the links"},
	{"route through a consumer", swap("{name: r, role: relay}", "{name: r, role: consumer}"), ErrRoute, "carry nobody else's traffic"},
	{"zero rate", swap("rate: 40 Mbit/s", "rate: 0 Mbit/s"), ErrValue, `s.yaml:8:16: topology.link.rate: "0 Mbit/s" isn't above zero; write a positive one such as 40 Mbit/s`},
	{"plain zero rate", swap("rate: 40 Mbit/s", "rate: 0"), ErrValue, "isn't above zero"},
	{"negative rate", swap("rate: 40 Mbit/s", "rate: -1 Mbit/s"), ErrValue, "isn't above zero"},
	{"no rate", swap("rate: 40 Mbit/s, ", ""), ErrMissing, "s.yaml:14:7: topology.links[0]: link c-r (ab) has no rate; add rate: 40 Mbit/s"},
	{"no delay", swap("delay: 5ms, ", ""), ErrMissing, "has no delay"},
	{"no queue", swap(", queue: 1000 packets", ""), ErrMissing, "has no queue"},
	{"tiny queue", swap("1000 packets", "100 B"), ErrValue, "a queue of 100 bytes holds no packet of 1500"},
	{"bad rate unit", swap("40 Mbit/s", "40 Mbps"), ErrUnit, `"Mbps" isn't a unit of this; write it as 40 Mbit/s`},
	{"rate without unit", swap("40 Mbit/s", "40"), ErrUnit, `"40" has no unit`},
	{"bad delay unit", swap("5ms", "5 sec"), ErrUnit, `"sec" isn't a unit`},
	{"bad size unit", swap("size: 1 MB", "size: 1 Mb"), ErrUnit, `"Mb" isn't a unit of this; write it as 18.24 MB`},
	{"bad queue unit", swap("1000 packets", "1000 pkts"), ErrUnit, "write 1000 packets, or 64 KiB"},
	{"bad fraction", swap("loss: $loss", "loss: 1 percent"), ErrUnit, "is no fraction"},
	{"fraction above one", swap("[0, 1%]", "[0, 101%]"), ErrValue, "is outside 0…1"},
	{"parameter's value", swap("[0, 1%]", "[0, 5ms]"), ErrUnit, `s.yaml:15:13: topology.links[0].loss: "5ms" is no fraction (it comes from $loss)`},
	{"RED without min", swap("loss: $loss", "loss: $loss\n      red: {max: 60 packets, probability: 1%}"), ErrMissing, "min isn't given"},
	{"RED upside down", swap("loss: $loss", "loss: $loss\n      red: {min: 90 packets, max: 60 packets, probability: 1%}"), ErrValue, "RED needs min below max"},
	{"direction's key", swap("loss: $loss", "loss: $loss\n      ab: {rat: 1 Mbit/s}"), ErrKey, `topology.links[0].ab: unknown key "rat"`},

	{"duplicate node", swap("name: r,", "name: c,"), ErrDuplicate, `there is a node "c" already`},
	{"duplicate link", swap("    - between: [r, p]", "    - between: [r, p]\n    - between: [r, p]"), ErrDuplicate, `there is a link "r-p" already; give one of them a name: of its own`},
	{"duplicate flow", swap("size: 1 MB}", "size: 1 MB}\n    - {consumer: c, producer: p, size: 2 MB}"), ErrDuplicate, `there is a flow "c-p" already`},
	{"duplicate system", swap("[MARS]", "[MARS, MARS]"), ErrDuplicate, "MARS is there twice"},
	{"duplicate value", swap("[0, 1%]", "[1%, 0.01]"), ErrDuplicate, "0.01 is there twice"},
	{"link to itself", swap("between: [c, r]", "between: [c, c]"), ErrValue, "both ends are c"},
	{"one end", swap("between: [c, r]", "between: [c]"), ErrValue, "a link has two ends, not 1"},
	{"unknown system", swap("[MARS]", "[MASR]"), ErrSystem, `s.yaml:3:11: systems[0]: unknown system "MASR"; did you mean "MARS"?`},
	{"no systems", swap("systems: [MARS]\n", ""), ErrMissing, "systems isn't given"},
	{"no limit", swap("limit: 60s\n", ""), ErrMissing, "limit isn't given; add limit: 60s"},
	{"start after the end", swap("size: 1 MB", "size: 1 MB, start: 1 min"), ErrValue, "s.yaml:4:1: limit: flow c-p starts at 1m0s, when the run has ended; raise it"},
	{"no flows", swap("    - {consumer: c, producer: p, size: 1 MB}\n", ""), ErrMissing, "flows isn't given"},
	{"no size", swap(", size: 1 MB", ""), ErrMissing, "size isn't given"},
	{"no role", swap(", role: relay", ""), ErrMissing, "s.yaml:11:7: topology.nodes[1]: role isn't given"},

	{"undefined parameter", swap("loss: $loss", "loss: $los"), ErrSweep, `s.yaml:15:13: topology.links[0].loss: $los isn't swept; give its values under sweep, or correct its name (did you mean "loss"?)`},
	{"unused parameter", swap("loss: $loss", "loss: 0"), ErrSweep, "s.yaml:6:3: sweep.loss: nothing uses it; write $loss where it belongs"},
	{"no values", swap("[0, 1%]", "[]"), ErrSweep, "loss has no values"},
	{"values of words", swap("[0, 1%]", "[low, high]"), ErrSweep, `"low" is no number`},
	{"too many points", swap("loss: [0, 1%]", "loss: [0, 1]\n  a: ["+counted(40)+"]\n  b: ["+counted(40)+"]"), ErrSize, "more than 1000 points"},

	{"included by itself", files{"s.yaml": "include: s.yaml\n" + small}, ErrInclude, "s.yaml:1:10: include: the files include each other: s.yaml → s.yaml; remove one"},
	{"included in a ring", files{"s.yaml": "include: a.yaml\n" + small, "a.yaml": "include: [b.yaml]\n", "b.yaml": "\ninclude: a.yaml\n"}, ErrInclude, "b.yaml:2:10: include: the files include each other: s.yaml → a.yaml → b.yaml → a.yaml"},
	{"included from nowhere", files{"s.yaml": "include: a.yaml\n" + small}, ErrInclude, "s.yaml:1:10: can't read a.yaml: file does not exist"},
	{"error in an included file", files{"s.yaml": "include: a.yaml\n" + small, "a.yaml": "\nfoo: 1\n"}, ErrKey, `a.yaml:2:1: unknown key "foo"`},

	{"fault of no kind", swap("workload:", "faults: [{kind: balckhole, at: 1s, link: c-r}]\nworkload:"), ErrValue, `did you mean "blackhole"?`},
	{"fault of no link", swap("workload:", "faults: [{kind: blackhole, at: 1s, link: c-rr}]\nworkload:"), ErrNode, `unknown link "c-rr"; did you mean "c-r"?`},
	{"fault after no flow", swap("workload:", "faults: [{kind: down, at: 1s, after: x, link: c-r}]\nworkload:"), ErrNode, `unknown flow "x"; known: c-p`},
	{"fault of no time", swap("workload:", "faults: [{kind: down, link: c-r}]\nworkload:"), ErrMissing, "at isn't given"},
	{"fault without value", swap("workload:", "faults: [{kind: rate, at: 1s, link: c-r}]\nworkload:"), ErrMissing, "value isn't given; add value: 10 Mbit/s"},
	{"exclude far from a consumer", swap("workload:", "faults: [{kind: exclude, at: 1s, link: r-p}]\nworkload:"), ErrValue, "r-p isn't a consumer's link"},

	{"broken path", swap("size: 1 MB", "size: 1 MB, paths: [[r-p, c-r]]"), ErrRoute, "r-p doesn't go on from c"},
	{"short path", swap("size: 1 MB", "size: 1 MB, paths: [[c-r]]"), ErrRoute, "the path ends at r"},

	{"unknown generator", generated("  generate: mesh\n"), ErrValue, `"mesh" isn't known; known: core, parallel`},
	{"key of another generator", generated("  generate: grid\n  cores: 5\n"), ErrKey, `unknown key "cores"`},
	{"absurd cores", generated("  generate: core\n  cores: 100000\n"), ErrSize, "s.yaml:9:10: topology.cores: 100000 is too many; write a whole number from 1 to 200"},
	{"absurd producers", generated("  generate: core\n  cores: 100\n  producers: 1000\n"), ErrSize, "more than 5000 nodes"},
	{"absurd links", generated("  generate: core\n  cores: 200\n  producers: 1\n"), ErrSize, "more than 20000 links"},
	{"absurd packets", swap("size: 1 MB", "size: 1 TiB, paths: [[c-r, r-p], [c-r, r-p]]}\n    - {name: x, consumer: c, producer: p, size: 1 TiB"), ErrSize, "the limit is 1e+09"},
	{"absurd size", swap("size: 1 MB", "size: 2 TiB"), ErrSize, "choose one between"},
	{"absurd time", swap("limit: 60s", "limit: 9999h"), ErrSize, "choose one between"},
	{"too many consumers", generated("  generate: core\n  cores: 2\n  consumers: 3\n"), ErrValue, "3 consumers, but 2 cores"},
	{"rate of no core", generated("  generate: core\n  cores: 2\n  core_rates: {0-2: 5 Mbit/s}\n"), ErrNode, "write two different numbers from 0 to 1"},
	{"rate twice", generated("  generate: core\n  core_rates: {0-1: 5 Mbit/s, 1-0: 5 Mbit/s}\n"), ErrDuplicate, "between cores 0 and 1"},
	{"paper of no system", swap("workload:", "paper: [{system: X, metric: jain, value: 1}]\nworkload:"), ErrSystem, `unknown system "X"`},
	{"paper of no metric", swap("workload:", "paper: [{system: MARS, metric: jane, value: 1}]\nworkload:"), ErrValue, `did you mean "jain"?`},
	{"paper of no parameter", swap("workload:", "paper: [{system: MARS, metric: jain, value: 1, at: {lose: 0}}]\nworkload:"), ErrSweep, "lose isn't swept"},
	{"paper of no point", swap("workload:", "paper: [{system: MARS, metric: jain, value: 1, at: {loss: 2%}}]\nworkload:"), ErrSweep, "write one of 0, 1%"},
}

func TestBadFiles(t *testing.T) {
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			s, err := c.in.load()
			if err == nil {
				t.Fatalf("loaded: %+v", s)
			}
			if !errors.Is(err, c.kind) {
				t.Errorf("kind %v wanted", c.kind)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.File == "" || e.Problem == "" || e.Remedy == "" {
				t.Errorf("no *Error with file, problem and remedy: %#v", err)
			}
		})
	}
	if _, err := (files{"s.yaml": small}).load(); err != nil {
		t.Errorf("unharmed: %v", err)
	}
}

// counted lists the numbers below n.
func counted(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// TestManyErrors: one run tells several errors, each once, and no flood of them.
func TestManyErrors(t *testing.T) {
	text := small
	for i := range 40 {
		text += fmt.Sprintf("x%d: 1\n", i)
	}
	_, err := files{"s.yaml": text}.load()
	if err == nil {
		t.Fatal("loaded")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxErrors+1 || !strings.Contains(lines[maxErrors], "and 20 more") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
