package mars_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of the house's style. A reason lifts them: a comment line `// long: reason`, above the first declaration
// for a file and in the documentation of a function.
const maxFile, maxFunction = 500, 70

var longReason = regexp.MustCompile(`^// ?long: \S`)

func hasLongReason(groups ...*ast.CommentGroup) bool {
	for _, g := range groups {
		if g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return longReason.MatchString(c.Text) }) {
			return true
		}
	}
	return false
}

// checkSize holds a file and its functions to the limits.
func checkSize(s source) (found []finding) {
	if ast.IsGenerated(s.file) {
		return nil
	}
	var head []*ast.CommentGroup
	for _, g := range s.file.Comments {
		if len(s.file.Decls) == 0 || g.End() < s.file.Decls[0].Pos() {
			head = append(head, g)
		}
	}
	if lines := s.set.File(s.file.Pos()).LineCount(); lines > maxFile && !hasLongReason(head...) {
		found = append(found, s.at(s.file, "file of %d lines: split it (limit %d), or say `// long: reason` above the first declaration", lines, maxFile))
	}
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := s.set.Position(fn.End()).Line - s.set.Position(fn.Pos()).Line + 1
		if lines > maxFunction && !hasLongReason(fn.Doc) {
			found = append(found, s.at(fn, "function %s of %d lines: split it (limit %d), or say `// long: reason` in its comment", fn.Name.Name, lines, maxFunction))
		}
	}
	return found
}

// checkComments wants a package comment in each package that has more than tests.
func checkComments(list []source) (found []finding) {
	documented := map[string]bool{}
	for _, s := range list {
		if !s.test {
			documented[s.room] = documented[s.room] || s.file.Doc != nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !documented[name] {
			found = append(found, finding{token.Position{Filename: name}, "no package comment that says what lives there"})
		}
	}
	return found
}

// checkMentioned wants each package in the architecture document.
func checkMentioned(doc string, packages []string) (found []finding) {
	for _, name := range packages {
		if !strings.Contains(doc, "`"+name+"`") {
			found = append(found, finding{token.Position{Filename: "docs/architecture.md"}, "no mention of package " + name})
		}
	}
	return found
}

// traces are paths and hosts that mean nothing on another machine. Spelled so that they don't find themselves.
var traces = regexp.MustCompile(`(^|[^\w.~$}*-])/(work|root|home|Users|farm|tmp)/[\w.]|proxy\.golang[.]org|goproxy[.]|registry\.npmjs|deb\.debian[.]org`)

// checkTraces finds machine paths and registry hosts in a text file; binary files pass.
func checkTraces(name string, text []byte) (found []finding) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	line := 0
	for l := range bytes.Lines(text) {
		line++
		if m := traces.Find(l); m != nil {
			found = append(found, finding{
				token.Position{Filename: path.Clean(name), Line: line},
				fmt.Sprintf("%q is a path or host of one machine", bytes.TrimSpace(m)),
			})
		}
	}
	return found
}

const maxTargets = 12

var (
	target     = regexp.MustCompile(`^([a-z][\w-]*):([^=]|$)`)
	targetHelp = regexp.MustCompile(`## \S`)
)

// checkMakefile wants at most maxTargets targets, each with a help text and a recipe of at most one line.
func checkMakefile(text []byte) (found []finding) {
	targets, recipe := 0, 0
	for i, l := range strings.Split(string(text), "\n") {
		where := token.Position{Filename: "Makefile", Line: i + 1}
		switch {
		case strings.HasPrefix(l, "\t"):
			if recipe++; recipe > 1 {
				found = append(found, finding{where, "a recipe of more than one line: move it to scripts"})
			}
		case strings.HasSuffix(l, `\`):
			found = append(found, finding{where, "a continued line: move it to scripts"})
		case target.MatchString(l):
			targets, recipe = targets+1, 0
			if !targetHelp.MatchString(l) {
				found = append(found, finding{where, "a target without `## help`"})
			}
		}
	}
	if targets == 0 || targets > maxTargets {
		found = append(found, finding{token.Position{Filename: "Makefile", Line: 1}, fmt.Sprintf("%d targets (1…%d wanted)", targets, maxTargets)})
	}
	return found
}
