package mars_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// typed is one type-checked package.
type typed struct {
	set   *token.FileSet
	files []*ast.File
	info  *types.Info
}

func (p typed) at(n ast.Node, format string, args ...any) finding {
	return finding{p.set.Position(n.Pos()), fmt.Sprintf(format, args...)}
}

// checkHidden refuses files that a build constraint keeps from being type-checked, and so from the rules below.
func checkHidden(ignored []string) (found []finding) {
	for _, name := range ignored {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			found = append(found, finding{token.Position{Filename: name}, "a build constraint hides this file from the determinism rules"})
		}
	}
	return found
}

// checkDeterminism runs the rules that the room asks for over one package, in source order.
func checkDeterminism(p typed, r room) (found []finding) {
	for _, f := range p.files {
		if r.pure {
			found = append(found, p.concurrency(f)...)
		}
		if r.ordered {
			found = append(found, p.mapOrder(f)...)
			found = append(found, p.globals(f)...)
			found = append(found, p.functions(f, "an unseeded random source", isSharedRandom)...)
		}
		if r.exact {
			found = append(found, p.products(f)...)
			found = append(found, p.functions(f, "a result that differs by architecture", isInexact)...)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.where.Filename, b.where.Filename), cmp.Compare(a.where.Offset, b.where.Offset))
	})
	return found
}

// concurrency finds goroutines, channels and select statements.
func (p typed) concurrency(f *ast.File) (found []finding) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, p.at(n, "go statement in protocol code"))
		case *ast.SelectStmt:
			found = append(found, p.at(n, "select in protocol code"))
		case *ast.ChanType:
			found = append(found, p.at(n, "channel type in protocol code"))
		case *ast.SendStmt:
			found = append(found, p.at(n, "channel send in protocol code"))
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				found = append(found, p.at(n, "channel receive in protocol code"))
			}
		}
		return true
	})
	return found
}

// orderReason is the comment that excuses a range over a map on its line.
var orderReason = regexp.MustCompile(`^// order: \S`)

// mapOrder finds iterations over maps whose order may reach a result.
func (p typed) mapOrder(f *ast.File) (found []finding) {
	excused := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if orderReason.MatchString(c.Text) {
				excused[p.set.Position(c.Pos()).Line] = true
			}
		}
	}
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if t := p.info.TypeOf(n.X); t != nil && isMap(t) && !excused[p.set.Position(n.Pos()).Line] {
				found = append(found, p.at(n, "range over a map: sort the keys, or say in `// order: …` on this line why the order can't matter"))
			}
		case *ast.Ident:
			fn := p.function(n)
			if fn != "maps.Keys" && fn != "maps.Values" && fn != "maps.All" {
				break
			}
			if !p.sortedAt(stack) {
				found = append(found, p.at(n, "%s in map order: pass it straight to slices.Sorted", fn))
			}
		}
		return true
	})
	return found
}

// isMap reports whether t is a map or a type parameter that stands for maps.
func isMap(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			if union, ok := e.(*types.Union); ok {
				for term := range union.Terms() {
					if isMap(term.Type()) {
						return true
					}
				}
			} else if isMap(e) {
				return true
			}
		}
	}
	return false
}

// sortedAt reports whether the function at the top of stack is called as the argument of slices.Sorted….
func (p typed) sortedAt(stack []ast.Node) bool {
	calls := 0
	for _, n := range slices.Backward(stack) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		if calls++; calls == 2 { // the first call is maps.Keys itself
			sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
			return ok && strings.HasPrefix(p.function(sel.Sel), "slices.Sorted")
		}
	}
	return false
}

// globals finds package variables that are written after initialisation.
func (p typed) globals(f *ast.File) (found []finding) {
	check := func(target ast.Expr) {
		if name := p.global(target); name != "" {
			found = append(found, p.at(target, "package variable %s is written: keep state in values", name))
		}
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil && fn.Name.Name == "init" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					check(target)
				}
			case *ast.IncDecStmt:
				check(n.X)
			}
			return true
		})
	}
	return found
}

// global returns the name of the package variable that a write to e changes, or "".
func (p typed) global(e ast.Expr) string {
	for {
		id, next := (*ast.Ident)(nil), ast.Expr(nil)
		switch e := e.(type) {
		case *ast.Ident:
			id = e
		case *ast.SelectorExpr:
			id, next = e.Sel, e.X
		case *ast.IndexExpr:
			next = e.X
		case *ast.StarExpr:
			next = e.X
		case *ast.ParenExpr:
			next = e.X
		}
		if id != nil {
			if v, ok := p.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v.Name()
			}
		}
		if next == nil {
			return ""
		}
		e = next
	}
}

// function returns "package/path.Name" of the package-level function that id refers to, or "".
func (p typed) function(id *ast.Ident) string {
	fn, ok := p.info.Uses[id].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Signature().Recv() != nil {
		return ""
	}
	return fn.Pkg().Path() + "." + fn.Name()
}

// functions finds uses of forbidden functions.
func (p typed) functions(f *ast.File, why string, forbidden func(name string) bool) (found []finding) {
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if name := p.function(id); name != "" && forbidden(name) {
				found = append(found, p.at(n, "%s: %s", name, why))
			}
		}
		return true
	})
	return found
}

// isSharedRandom reports whether name draws from the process-wide source. Constructors take a seed, so they may stay.
func isSharedRandom(name string) bool {
	fn, ok := strings.CutPrefix(name, "math/rand/v2.")
	if !ok {
		fn, ok = strings.CutPrefix(name, "math/rand.")
	}
	return ok && !strings.HasPrefix(fn, "New")
}

// exactMath are the functions of package math whose result IEEE 754 or their definition fixes. The others are
// approximations, in assembly on some architectures and with fused products on others.
var exactMath = regexp.MustCompile(`^(Abs|Ceil|Copysign|Dim|FMA|Float(32|64)(from)?bits|Floor|Frexp|Ilogb|Inf|IsInf|` +
	`IsNaN|Ldexp|Logb|Max|Min|Mod|Modf|NaN|Nextafter(32)?|Pow10|Remainder|Round|RoundToEven|Signbit|Sqrt|Trunc)$`)

func isInexact(name string) bool {
	fn, ok := strings.CutPrefix(name, "math.")
	return ok && !exactMath.MatchString(fn)
}

// products finds floating-point products that the compiler may fuse with a later sum (Go specification, "Floating-point
// operators"), which rounds once instead of twice on some architectures. float64(a*b) prevents it.
func (p typed) products(f *ast.File) (found []finding) {
	const advice = "product may be fused with a sum: write float64(a*b)"
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.MUL_ASSIGN && p.isFloat(n.Lhs[0]) {
				found = append(found, p.at(n, advice))
			}
		case *ast.BinaryExpr:
			if n.Op == token.MUL && p.isFloat(n) && p.info.Types[n].Value == nil && !p.roundedIn(stack) {
				found = append(found, p.at(n, advice))
			}
		}
		return true
	})
	return found
}

func (p typed) isFloat(e ast.Expr) bool {
	t := p.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

// roundedIn reports whether the expression at the top of stack is converted, multiplied, divided or compared: none
// of these can be fused with it.
func (p typed) roundedIn(stack []ast.Node) bool {
	for _, n := range slices.Backward(stack) {
		switch n := n.(type) {
		case *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			return p.info.Types[n.Fun].IsType()
		case *ast.BinaryExpr:
			return n.Op != token.ADD && n.Op != token.SUB
		default:
			return false
		}
	}
	return false
}
