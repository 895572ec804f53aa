package mars_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// room says what one package may do. What isn't listed is forbidden, except the standard library, of which
// everything is allowed that isn't listed under never.
type room struct {
	internal []string // packages of this module that it may import, relative to the module's root
	external []string // other modules' packages, with all below them
	never    []string // packages of the standard library that its code may not import, with all below them
	tests    []string // further packages of this module that only its tests may import

	pure    bool // protocol code: no goroutine, channel or select
	ordered bool // no map order, shared random source or written global may reach a result
	exact   bool // floating-point results are the same on every architecture
}

// all in room.internal or room.external stands for every package.
const all = "*"

// module is the module's path and root the name that its top package has in the table.
const module, root = "mars", "mars"

var (
	// io is what sans-I/O code leaves to its driver: sockets, files, locks, the clock.
	io = []string{"net", "os", "sync", "syscall", "time", "crypto/rand"}
	// ambient is what protocol code further does without: it is called, returns, and counts what it drops.
	ambient = append([]string{"context", "log"}, io...)
)

// protocol is a room of protocol code that may import the given packages of ours.
func protocol(internal ...string) room {
	internal = append(internal, "internal/planted")
	return room{internal: internal, never: ambient, pure: true, ordered: true, exact: true}
}

// rooms is the table of docs/architecture.md. A package that appears must be added to both; a room that has
// nothing yet is passed over.
var rooms = map[string]room{
	root: {
		internal: []string{
			"cc", "internal/machine", "internal/wire", "internal/forward", "internal/fetch", "internal/foreign", "internal/publish",
			"internal/route", "internal/node", "internal/secure", "internal/driver", "internal/disk", "internal/status",
		},
		external: []string{"github.com/goccy/go-yaml", "github.com/prometheus/client_golang", "golang.org/x/sys"},
		tests:    []string{"internal/impair"},
	},
	"cc": {internal: []string{"internal/machine"}, never: io, pure: true, ordered: true, exact: true},

	"internal/machine": {never: io},
	"internal/planted": {never: []string{"net", "os", "syscall", "time", "crypto/rand"}}, // bugs for tests, absent without their build tag
	"internal/wire":    {never: io},
	"internal/forward": protocol("internal/machine", "internal/wire", "cc"),
	"internal/fetch":   protocol("internal/machine", "internal/wire", "cc"),
	"internal/foreign": protocol("internal/machine", "internal/wire", "cc"),
	"internal/publish": protocol("internal/machine", "internal/wire", "cc"),
	"internal/route":   protocol("internal/machine", "internal/wire", "cc"),
	"internal/node": protocol(
		"internal/forward", "internal/fetch", "internal/publish", "internal/route",
		"internal/machine", "internal/wire", "cc", "internal/secure",
	),
	"internal/endpoint": protocol("internal/machine", "cc"),
	"internal/secure": {
		internal: []string{"internal/machine", "internal/wire"},
		external: []string{"github.com/flynn/noise", "golang.org/x/crypto", "filippo.io/edwards25519"},
	},
	"internal/driver": {
		internal: []string{"internal/machine", "internal/wire"},
		external: []string{"golang.org/x/sys", "golang.org/x/net"},
		tests:    []string{"internal/impair", "internal/node", "internal/secure"},
	},
	"internal/impair": {}, // for tests: a UDP proxy that loses, delays and reorders
	"internal/disk": {
		internal: []string{"internal/wire", "internal/planted"},
		external: []string{"golang.org/x/sys"},
	},
	"internal/scenario": {
		external: []string{"github.com/goccy/go-yaml"}, never: []string{"net", "syscall", "crypto/rand"}, ordered: true, exact: true,
	},
	"internal/channel": {
		internal: []string{"internal/machine", "internal/scenario"}, never: io, ordered: true, exact: true,
	},
	"internal/bound": {internal: []string{"internal/scenario"}, never: io, ordered: true, exact: true},
	"internal/sim": {
		internal: []string{
			"internal/machine", "internal/wire", "internal/secure", "internal/node", "internal/endpoint", "cc",
			"internal/scenario", "internal/bound", "internal/channel", "internal/forward", "internal/fetch", "internal/publish", "internal/foreign",
		},
		never: []string{"net", "syscall", "time", "crypto/rand"}, ordered: true, exact: true,
	},
	"internal/swarm": {
		internal: []string{"internal/scenario", "internal/sim", "internal/bound", "internal/machine"},
		never:    []string{"net", "syscall", "crypto/rand"},
		tests:    []string{"internal/planted"},
		ordered:  true, exact: true,
	},
	"internal/lab": {
		internal: []string{
			"internal/machine", "internal/scenario", "internal/bound", "internal/channel", "internal/driver", "internal/endpoint", "cc",
		},
		external: []string{"golang.org/x/sys", "github.com/quic-go/quic-go"},
	},
	"internal/bench": {
		internal: []string{"internal/machine", "internal/wire", "internal/forward"},
		external: []string{"golang.org/x/sys", "golang.org/x/crypto"},
	},
	"internal/status":  {never: []string{"net", "os", "sync", "syscall", "crypto/rand"}},
	"internal/gateway": {internal: []string{root, "internal/wire"}, tests: []string{"internal/impair"}},
	"internal/report":  {internal: []string{"internal/scenario", "internal/bound"}, external: []string{"golang.org/x/image"}},
	"cmd/mars":         {internal: []string{all}, external: []string{all}},

	"acceptance": {external: []string{"golang.org/x/sys"}, tests: []string{root, "internal/wire", "internal/scenario", "internal/lab", "internal/report", "internal/impair"}},
}

// testing libraries that every test may import.
var testLibraries = []string{
	"pgregory.net/rapid", "github.com/google/go-cmp", "go.uber.org/goleak", "golang.org/x/tools",
	"gonum.org/v1/gonum", "github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/crypto/blake2s",
	"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go",
}

// TestImports holds every Go file, whatever its build tags, to the import table.
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		report(t, checkImports(s))
	}
}

// TestDeterminism type-checks the rooms that must give the same result from the same seed.
func TestDeterminism(t *testing.T) {
	present := map[string]bool{}
	for _, s := range sources(t) {
		present[s.room] = present[s.room] || !s.test
	}
	var patterns []string
	for name, r := range rooms {
		if present[name] && r.ordered {
			patterns = append(patterns, module+"/"+name)
		}
	}
	if len(patterns) == 0 {
		return
	}
	slices.Sort(patterns)
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			t.Errorf("%s doesn't compile, so its determinism can't be checked: %v", p.PkgPath, p.Errors[len(p.Errors)-1])
			continue
		}
		report(t, checkHidden(p.IgnoredFiles))
		r := rooms[strings.TrimPrefix(p.PkgPath, module+"/")]
		report(t, checkDeterminism(typed{p.Fset, p.Syntax, p.TypesInfo}, r))
	}
}

// TestStyle holds every Go file to the limits on files and functions, and every package to having a comment.
func TestStyle(t *testing.T) {
	list := sources(t)
	for _, s := range list {
		report(t, checkSize(s))
	}
	report(t, checkComments(list))
}

// TestArchitectureDocument wants every package of the table in docs/architecture.md.
func TestArchitectureDocument(t *testing.T) {
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkMentioned(string(doc), slices.Sorted(maps.Keys(rooms))))
}

// TestTree looks through every text file for traces of the machine it was written on.
func TestTree(t *testing.T) {
	walk(t, func(path string) {
		info, err := os.Stat(path)
		if err != nil || info.Size() > 1<<20 {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		report(t, checkTraces(path, text))
	})
}

// TestMakefile keeps the Makefile short: at most 12 targets, each one line and each with a help text.
func TestMakefile(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	report(t, checkMakefile(text))
}

// sources parses every Go file of the module, tests and tagged files too.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.Contains("/"+path, "/testdata/") {
			return
		}
		s := source{path: path, room: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go"), set: token.NewFileSet()}
		if s.room == "." {
			s.room = root
		}
		var err error
		if s.file, err = parser.ParseFile(s.set, path, nil, parser.ParseComments); err != nil {
			t.Errorf("doesn't parse: %v", err)
			return
		}
		list = append(list, s)
	})
	return list
}

// artefacts are what git ignores; .git is a file in a linked worktree.
var artefacts = regexp.MustCompile(`^(\.git|bin|dist)$`)

// walk calls visit with the path of every regular file of the tree.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case artefacts.MatchString(path):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular():
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, findings []finding) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}
