package mars_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// finding is one breach of a rule.
type finding struct {
	where token.Position
	what  string
}

func (f finding) String() string { return fmt.Sprintf("%v: %s", f.where, f.what) }

// source is one parsed Go file.
type source struct {
	path string // relative to the module's root
	room string // its package's name in the table
	test bool
	set  *token.FileSet
	file *ast.File
}

func (s source) at(n ast.Node, format string, args ...any) finding {
	return finding{s.set.Position(n.Pos()), fmt.Sprintf(format, args...)}
}

// below reports whether pkg is one of the listed packages or lies below one.
func below(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		return p == all || pkg == p || strings.HasPrefix(pkg, p+"/")
	})
}

// checkImports compares the imports of one file with what the table allows its room.
func checkImports(s source) (found []finding) {
	r, known := rooms[s.room]
	if !known {
		return []finding{s.at(s.file, "package %s isn't in the table: add it to arch_test.go and docs/architecture.md", s.room)}
	}
	internal, external, never := r.internal, r.external, r.never
	if s.test { // tests may read golden files and wait, but the network is no part of a sans-I/O room even there
		internal = slices.Concat(internal, r.tests, []string{s.room})
		external = slices.Concat(external, testLibraries)
		never = slices.DeleteFunc(slices.Clone(never), func(p string) bool { return p != "net" })
	}
	for _, spec := range s.file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		ours, isOurs := strings.CutPrefix(name, module+"/")
		if name == module {
			ours, isOurs = root, true
		}
		first, _, _ := strings.Cut(name, "/")
		switch {
		case isOurs && ours == "cmd/mars" && s.room != ours:
			found = append(found, s.at(spec, "nothing may import cmd/mars"))
		case isOurs && !slices.Contains(internal, ours) && !slices.Contains(internal, all):
			found = append(found, s.at(spec, "%s may not import %s", s.room, ours))
		case isOurs:
		case strings.Contains(first, ".") && !below(name, external):
			found = append(found, s.at(spec, "%s may not import the module of %s: name it in the table and in an ADR", s.room, name))
		case !strings.Contains(first, ".") && below(name, never):
			found = append(found, s.at(spec, "%s may not import %s: it is passed in, or lives in the driver", s.room, name))
		}
	}
	return found
}
