package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// place is where a value stands.
type place struct {
	file         string
	line, column int
}

// kind is the shape of a value.
type kind int

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"an empty value", "a plain value", "a list", "a mapping"}[k]
}

// value is one node of the tree that a file and its includes make. A scalar keeps its text as it was written: YAML's own
// ideas of types (no is false, 010 is 8) are not ours.
type value struct {
	kind   kind
	text   string
	items  []*value
	fields []field
	at     place
}

type field struct {
	key string
	at  place // of the key
	val *value
}

func (v *value) field(key string) *field {
	i := slices.IndexFunc(v.fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return nil
	}
	return &v.fields[i]
}

// Limits of files: what people write is far below, and the parser's work grows with them.
const (
	maxFile     = 256 << 10 // bytes
	maxDepth    = 64        // of nested brackets and of "- - -"
	maxIncludes = 16
)

// loader reads files and what they include.
type loader struct {
	read   func(path string) ([]byte, error)
	report report
	files  int
}

// load returns the tree of path, laid over the trees that it includes; nil if it can't be had. from are the files that
// include it, outermost first.
func (l *loader) load(path string, at place, from []string) *value {
	if slices.Contains(from, path) {
		l.failAt(at, "include", ErrInclude, "the files include each other: "+strings.Join(append(from, path), " → "), "remove one of these includes")
		return nil
	}
	if l.files++; l.files > maxIncludes {
		l.failAt(at, "include", ErrInclude, fmt.Sprintf("more than %d files", maxIncludes), "include fewer")
		return nil
	}
	data, err := l.read(path)
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		if len(from) == 0 {
			at = place{file: path}
		}
		l.failAt(at, "", ErrInclude, fmt.Sprintf("can't read %s: %v", path, err), "check its path, which counts from the file that includes it")
		return nil
	}
	own := l.parse(path, data)
	if own == nil {
		return nil
	}
	f := own.field("include")
	if f == nil {
		return own
	}
	var base *value
	names := []*value{f.val}
	if f.val.kind == list {
		names = f.val.items
	}
	for _, n := range names {
		if n.kind != scalar || n.text == "" {
			l.failAt(n.at, "include", ErrInclude, "expected the path of a file, got "+n.kind.String(), "write include: other.yaml, or a list of such paths")
			return nil
		}
		file := n.text
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		v := l.load(file, n.at, append(slices.Clone(from), path))
		if v == nil {
			return nil
		}
		base = overlay(base, v)
	}
	own.fields = slices.DeleteFunc(own.fields, func(f field) bool { return f.key == "include" })
	return overlay(base, own)
}

// overlay lays one tree over another: mappings are merged, everything else is replaced, and an empty value removes.
func overlay(base, over *value) *value {
	if base == nil || base.kind != mapping || over.kind != mapping {
		return over
	}
	merged := &value{kind: mapping, at: over.at, fields: slices.Clone(base.fields)}
	for _, f := range over.fields {
		switch old := merged.field(f.key); {
		case old == nil:
			merged.fields = append(merged.fields, f)
		case f.val.kind == null:
			merged.fields = slices.DeleteFunc(merged.fields, func(o field) bool { return o.key == f.key })
		default:
			*old = field{f.key, f.at, overlay(old.val, f.val)}
		}
	}
	return merged
}

// parse returns the tree of one file; nil if it isn't one mapping.
func (l *loader) parse(file string, data []byte) *value {
	whole := place{file: file}
	switch {
	case len(data) > maxFile:
		l.failAt(whole, "", ErrSize, fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("a file has at most %d: generate the topology, or split the file by include", maxFile))
		return nil
	case nesting(data) > maxDepth:
		l.failAt(whole, "", ErrSyntax, fmt.Sprintf("brackets or lists nested deeper than %d", maxDepth), "close them")
		return nil
	}
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		var y yaml.Error
		at, what := whole, err.Error()
		if errors.As(err, &y) && y.GetToken() != nil {
			p := y.GetToken().Position
			at, what = place{file, p.Line, p.Column}, y.GetMessage()
		}
		l.failAt(at, "", ErrSyntax, what, "correct the YAML")
		return nil
	}
	var root *value
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if root != nil {
			l.failAt(placeOf(file, doc.Body), "", ErrSyntax, "a second YAML document", "one file holds one scenario: move it to a file of its own")
			return nil
		}
		root = l.convert(file, doc.Body)
	}
	if root == nil || root.kind != mapping {
		l.failAt(whole, "", ErrSyntax, "no mapping of keys to values", "begin with name: …")
		return nil
	}
	return root
}

// nesting returns a bound of how deep brackets and "- - -" nest, so that a parser that recurses isn't sent astray.
func nesting(data []byte) int {
	open, deepest := 0, 0
	for line := range bytes.Lines(data) {
		run := 0
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			case '-', '?', '!', '&', '*', ':', '>', '|':
				run++
			case ' ', '\t':
			default:
				run = 0
			}
			deepest = max(deepest, open, run)
		}
	}
	return deepest
}

// convert turns a node of the library's tree into ours.
func (l *loader) convert(file string, n ast.Node) *value {
	v := &value{at: placeOf(file, n)}
	if text, ok := scalarText(n); ok {
		v.kind, v.text = scalar, strings.TrimSpace(text)
		return v
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		v.kind = mapping
		for _, pair := range n.Values {
			l.convertPair(file, v, pair)
		}
	case *ast.MappingValueNode:
		v.kind = mapping
		l.convertPair(file, v, n)
	case *ast.SequenceNode:
		v.kind = list
		for _, item := range n.Values {
			v.items = append(v.items, l.convert(file, item))
		}
	default:
		l.failAt(v.at, "", ErrSyntax, fmt.Sprintf("%s: anchors, aliases, tags and merge keys have no meaning here", n.Type()), "write the value out, or include a file")
	}
	return v
}

func (l *loader) convertPair(file string, v *value, pair *ast.MappingValueNode) {
	at := placeOf(file, pair.Key)
	key, ok := scalarText(pair.Key)
	if !ok {
		l.failAt(at, "", ErrSyntax, "a key that isn't plain text", "write key: value")
		return
	}
	if v.field(key) != nil {
		l.failAt(at, key, ErrDuplicate, "the key is there twice", "remove one")
		return
	}
	val := &value{at: at}
	if pair.Value != nil {
		val = l.convert(file, pair.Value)
	}
	v.fields = append(v.fields, field{key, at, val})
}

// scalarText returns the text of a scalar as it was written.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// placeOf is where n begins. The token of a mapping in block style is the first colon; people look for the key.
func placeOf(file string, n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return place{file: file}
	}
	return place{file, t.Position.Line, t.Position.Column}
}

func (l *loader) failAt(at place, key string, kind error, problem, remedy string) {
	l.report.add(&Error{at.file, at.line, at.column, key, problem, remedy, kind})
}
