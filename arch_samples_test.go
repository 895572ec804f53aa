package mars_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// sample is a small source that a rule must catch (want names what the finding says) or let pass (want is empty).
type sample struct {
	name string
	room string
	src  string
	want string
}

func parseSample(t *testing.T, c sample) source {
	t.Helper()
	s := source{path: "sample.go", room: c.room, set: token.NewFileSet(), test: strings.HasPrefix(c.name, "test:")}
	var err error
	if s.file, err = parser.ParseFile(s.set, s.path, c.src, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	return s
}

func expect(t *testing.T, found []finding, want string) {
	t.Helper()
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("unexpected: %v", found)
	case want != "" && (len(found) != 1 || !strings.Contains(found[0].what, want)):
		t.Errorf("found %v, want one finding with %q", found, want)
	}
}

func TestImportRulesBite(t *testing.T) {
	imports := func(paths ...string) string {
		return "package p\nimport (\n_ \"" + strings.Join(paths, "\"\n_ \"") + "\"\n)\n"
	}
	for _, c := range []sample{
		{"unknown package", "internal/misc", "package p", "isn't in the table"},
		{"listed", "internal/node", imports("mars/internal/forward", "mars/cc", "sort"), ""},
		{"sibling", "internal/forward", imports("mars/internal/fetch"), "may not import internal/fetch"},
		{"upwards", "internal/wire", imports("mars/internal/machine"), "may not import internal/machine"},
		{"root from below", "internal/driver", imports("mars"), "may not import mars"},
		{"driver sees no protocol", "internal/driver", imports("mars/internal/forward"), "may not import internal/forward"},
		{"root sees no simulator", root, imports("mars/internal/sim"), "may not import internal/sim"},
		{"command takes all", "cmd/mars", imports("mars", "mars/internal/sim", "github.com/spf13/cobra", "net"), ""},
		{"nobody takes the command", "acceptance", imports("mars/cmd/mars"), "nothing may import cmd/mars"},
		{"prefix of a name is not the name", "cc", imports("mars/internal/machinery"), "may not import internal/machinery"},
		{"socket", "internal/forward", imports("net"), "may not import net"},
		{"below net", "internal/forward", imports("net/netip"), "may not import net/netip"},
		{"netip is not nets", "internal/machine", imports("math/bits"), ""},
		{"clock", "cc", imports("time"), "may not import time"},
		{"lock", "internal/wire", imports("sync/atomic"), "may not import sync/atomic"},
		{"context", "internal/fetch", imports("context"), "may not import context"},
		{"log", "internal/route", imports("log/slog"), "may not import log/slog"},
		{"operating system", "internal/publish", imports("os"), "may not import os"},
		{"simulator's clock", "internal/sim", imports("time"), "may not import time"},
		{"strange module", "internal/forward", imports("github.com/spf13/cobra"), "name it in the table"},
		{"listed module", "internal/scenario", imports("github.com/goccy/go-yaml/ast"), ""},
		{"test: own package and libraries", "cc", imports("mars/cc", "pgregory.net/rapid", "os", "time"), ""},
		{"test: extra package", "internal/driver", imports("mars/internal/impair"), ""},
		{"not for code", "internal/driver", imports("mars/internal/impair"), "may not import internal/impair"},
		{"library not for code", "cc", imports("pgregory.net/rapid"), "name it in the table"},
		{"test: no network", "internal/node", imports("net"), "may not import net"},
		{"test: siblings stay apart", "internal/forward", imports("mars/internal/fetch"), "may not import internal/fetch"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkImports(parseSample(t, c)), c.want) })
	}
}

// checkSample type-checks a sample and runs the determinism rules of its room.
func checkSample(t *testing.T, c sample) []finding {
	t.Helper()
	s := parseSample(t, c)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: importer.Default()}).Check(c.room, s.set, []*ast.File{s.file}, info); err != nil {
		t.Fatal(err)
	}
	return checkDeterminism(typed{s.set, []*ast.File{s.file}, info}, rooms[c.room])
}

func TestDeterminismRulesBite(t *testing.T) {
	const (
		body   = "package p\nfunc f(m map[int]int, a, b, c float64, n int) {\n"
		maps   = "package p\nimport (\"maps\"; \"slices\")\nvar _ = slices.Sorted[int]\n"
		random = "package p\nimport \"math/rand/v2\"\n"
	)
	for _, c := range []sample{
		{"goroutine", "internal/forward", body + "go func() {}()\n}", "go statement"},
		{"channel", "internal/fetch", "package p\ntype t struct{ c chan int }", "channel type"},
		{"select", "internal/node", body + "select {}\n}", "select"},
		{"simulator may run seeds side by side", "internal/sim", body + "go func() {}()\n}", ""},

		{"map range", "internal/forward", body + "for range m {}\n}", "range over a map"},
		{"map range in the simulator", "internal/sim", body + "for k := range m { _ = k }\n}", "range over a map"},
		{"named map", "cc", "package p\ntype s map[int]bool\nfunc f(x s) { for range x {} }", "range over a map"},
		{"generic map", "cc", "package p\nfunc f[M ~map[int]bool](x M) { for range x {} }", "range over a map"},
		{"reason", "internal/route", body + "for range m { // order: a sum of integers\n}\n}", ""},
		{"reason without a reason", "internal/route", body + "for range m { // order:\n}\n}", "range over a map"},
		{"reason elsewhere", "internal/route", body + "// order: counted only\nfor range m {}\n}", "range over a map"},
		{"slice range", "internal/route", "package p\nfunc f(x []int) { for range x {} }", ""},
		{"sorted keys", "internal/node", maps + "func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }", ""},
		{"keys", "internal/node", maps + "func f(m map[int]int) { for range maps.Keys(m) {} }", "maps.Keys in map order"},
		{"collected values", "internal/node", maps + "func f(m map[int]int) { _ = slices.Collect(maps.Values(m)) }", "maps.Values in map order"},
		{"maps elsewhere", "internal/driver", body + "for range m {}\n}", ""},

		{"written global", "cc", "package p\nvar n int\nfunc f() { n++ }", "package variable n is written"},
		{"written element", "cc", "package p\nvar t [4]struct{ x int }\nfunc f() { t[1].x = 2 }", "package variable t is written"},
		{"another package's global", "internal/publish", "package p\nimport \"encoding/base64\"\nfunc f() { base64.StdEncoding = nil }", "StdEncoding is written"},
		{"table made at start", "cc", "package p\nvar t [4]int\nfunc init() { t[1] = 2 }", ""},
		{"shadowed", "cc", "package p\nvar n int\nfunc f() int { n := 0; n++; return n }", ""},

		{"shared source", "cc", random + "func f() int { return rand.IntN(3) }", "unseeded random source"},
		{"shared source by another name", "cc", "package p\nimport . \"math/rand\"\nfunc f() int { return Int() }", "unseeded random source"},
		{"seeded source", "cc", random + "func f(s uint64) int { return rand.New(rand.NewPCG(s, 1)).IntN(3) }", ""},

		{"sum of product", "cc", body + "_ = a*b + c\n}", "may be fused"},
		{"assigned product", "cc", body + "x := a * b\n_ = x\n}", "may be fused"},
		{"added product", "cc", body + "c += (a * b)\n_ = c\n}", "may be fused"},
		{"multiplied in place", "cc", body + "a *= b\n_ = a\n}", "may be fused"},
		{"rounded product", "cc", body + "_ = float64(a*b*c) + c\n}", ""},
		{"quotient", "cc", body + "_ = a/b + c\n}", ""},
		{"compared product", "cc", body + "_ = a*b < c*a\n}", ""},
		{"integers", "cc", body + "_ = n*n + int(a*b)\n}", ""},
		{"constant", "cc", "package p\nconst k = 1.5 * 2\nfunc f(a float64) float64 { return a + 2*k }", ""},
		{"power", "cc", "package p\nimport \"math\"\nfunc f(a float64) float64 { return math.Pow(a, 3) }", "differs by architecture"},
		{"cube root", "cc", "package p\nimport \"math\"\nvar f = math.Cbrt", "differs by architecture"},
		{"square root", "cc", "package p\nimport \"math\"\nfunc f(a float64) float64 { return math.Sqrt(a) + math.Pi }", ""},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkSample(t, c), c.want) })
	}
}

func TestSizeRulesBite(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	fn := func(doc string, n int) string { return "package p\n" + doc + "func f() {" + lines(n-1) + "}\n" }
	for _, c := range []sample{
		{name: "short file", src: "package p" + lines(maxFile)},
		{name: "long file", src: "package p" + lines(maxFile+1), want: "file of 501 lines"},
		{name: "long file with a reason", src: "package p\n// long: one table of the standard\nvar x int" + lines(maxFile)},
		{name: "reason too late", src: "package p\nvar x int\n// long: one table\n" + lines(maxFile), want: "file of"},
		{name: "generated", src: "// Code generated by x. DO NOT EDIT.\npackage p" + lines(maxFile+1)},
		{name: "short function", src: fn("", maxFunction)},
		{name: "long function", src: fn("", maxFunction+1), want: "function f of 71 lines"},
		{name: "long function with a reason", src: fn("// f does.\n//\n// long: one switch over all types\n", maxFunction+1)},
		{name: "long function with an empty reason", src: fn("// long:\n", maxFunction+1), want: "function f of"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkSize(parseSample(t, c)), c.want) })
	}
}

func TestCommentRuleBites(t *testing.T) {
	bare := sample{room: "cc", src: "package cc"}
	said := sample{room: "cc", src: "// Package cc is.\npackage cc"}
	onlyTests := sample{name: "test:", room: "acceptance", src: "package acceptance"}
	expect(t, checkComments([]source{parseSample(t, bare), parseSample(t, onlyTests)}), "no package comment")
	expect(t, checkComments([]source{parseSample(t, bare), parseSample(t, said)}), "")
}

func TestDocumentRuleBites(t *testing.T) {
	expect(t, checkMentioned("`cc` | `internal/wire`", []string{"cc", "internal/node"}), "package internal/node")
	expect(t, checkMentioned("`cc` | `internal/wire`", []string{"cc", "internal/wire"}), "")
}

func TestHiddenFileRuleBites(t *testing.T) {
	expect(t, checkHidden([]string{"x_windows.go", "x_windows_test.go", "x_amd64.s"}), "build constraint")
}

func TestTraceRuleBites(t *testing.T) {
	slash := "/" // so that this file has no trace of its own
	for _, c := range []sample{
		{name: "checkout", src: "see " + slash + "work/main/x.go", want: "one machine"},
		{name: "home", src: "cd '" + slash + "home/alice'", want: "one machine"},
		{name: "scratch", src: slash + "tmp/x", want: "one machine"},
		{name: "second line", src: "a\n(" + slash + "root/.config)", want: "one machine"},
		{name: "module proxy", src: "GOPROXY=https://proxy" + ".golang.org", want: "one machine"},
		{name: "below another path", src: "docs/home/main internal/tmp/x $D/tmp/x ~/home/x"},
		{name: "system path", src: "/etc/mars/config.yaml /var/lib/mars /usr/local/go/bin"},
		{name: "binary", src: "\x00" + slash + "work/main"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkTraces("x", []byte(c.src)), c.want) })
	}
}

func TestMakefileRulesBite(t *testing.T) {
	for _, c := range []sample{
		{name: "good", src: "A := 1\nx: y ## help\n\tdo it\n.PHONY: x\n"},
		{name: "no help", src: "x:\n\tdo it\n", want: "without `## help`"},
		{name: "two lines", src: "x: ## help\n\tdo it\n\tand that\n", want: "more than one line"},
		{name: "continued", src: "A := 1 \\\n  2\nx: ## help\n", want: "continued"},
		{name: "too many", src: strings.Repeat("x: ## help\n", maxTargets+1), want: "13 targets"},
		{name: "none", src: "", want: "0 targets"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, checkMakefile([]byte(c.src)), c.want) })
	}
}
