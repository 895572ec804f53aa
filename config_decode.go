package mars

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"mars/internal/wire"
)

// ConfigError is one thing wrong in a configuration. errors.Is(err, ErrConfig) holds.
type ConfigError struct {
	File         string // the file, or the variable of the environment; "": the value came from neither
	Line, Column int    // from 1; 0: not known
	Key          string // "faces[0].rate"; "": the file as a whole
	Problem      string // what is wrong and what to write
}

func (e *ConfigError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Problem
}

// Unwrap returns ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// position is where a value came from.
type position struct {
	file         string
	line, column int
}

// decoder walks a YAML tree and fills a Config. It goes on after an error, so that one run tells all.
type decoder struct {
	c    *Config
	file string
	errs []error
}

// field takes the value of one key.
type field func(key string, n ast.Node)

// decodeFile reads one YAML document over c.
func (c *Config) decodeFile(file string, data []byte) error {
	d := &decoder{c: c, file: file}
	if root := d.parse(data); root != nil {
		d.mapping("", root, d.sections())
	}
	return errors.Join(d.errs...)
}

// decodeEnv reads the MARS_* variables over c. A variable is named after its key: node.role is MARS_NODE_ROLE.
func (c *Config) decodeEnv(getenv func(string) string) error {
	var errs []error
	read := func(key string, f func(*decoder) field) {
		name := "MARS_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		value := getenv(name)
		if value == "" {
			return
		}
		d := &decoder{c: c, file: name}
		if root := d.parse([]byte(value)); root != nil {
			f(d)(key, root)
		}
		errs = append(errs, d.errs...)
	}
	blank := &decoder{c: c}
	for _, key := range slices.Sorted(maps.Keys(blank.sections())) {
		if key != "node" {
			read(key, func(d *decoder) field { return d.sections()[key] })
		}
	}
	for _, key := range slices.Sorted(maps.Keys(blank.node())) {
		read("node."+key, func(d *decoder) field { return d.node()[key] })
	}
	return errors.Join(errs...)
}

// parse returns the root of the one document in data; nil if it is empty or wrong.
func (d *decoder) parse(data []byte) ast.Node {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			p := y.GetToken().Position
			d.errs = append(d.errs, &ConfigError{d.file, p.Line, p.Column, "", y.GetMessage()})
		} else {
			d.errs = append(d.errs, &ConfigError{File: d.file, Problem: err.Error()})
		}
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			d.fail("", doc.Body, "a second YAML document; one file holds one")
			return nil
		}
		root = doc.Body
	}
	return root
}

func (d *decoder) sections() map[string]field {
	return map[string]field{
		"node":   func(key string, n ast.Node) { d.mapping(key, n, d.node()) },
		"listen": d.listen,
		"faces":  d.faces,
		"routes": d.routes,
		"peers":  d.peers,
		"serve":  d.serve,
		"trust":  d.trust,

		"operators": d.operators,
	}
}

func (d *decoder) node() map[string]field {
	return map[string]field{
		"name":     d.scalar(into(&d.c.Node.Name, parseLabel)),
		"role":     d.scalar(into(&d.c.Node.Role, oneOf(RoleLeaf, RoleRelay))),
		"strategy": d.scalar(into(&d.c.Node.Strategy, oneOf(StrategyMARS, StrategyBestRoute))),
		"profile":  d.scalar(into(&d.c.Node.Profile, oneOf(ProfileMARS, ProfilePaper))),
		"routing":  d.scalar(into(&d.c.Node.Routing, parseToggle)),
		"detours":  d.scalar(into(&d.c.Node.Detours, parseToggle)),
		"socket":   d.scalar(into(&d.c.Node.Socket, parseSocket)),
		"key":      d.scalar(into(&d.c.Node.Key, absolute)),

		"certificate": d.scalar(into(&d.c.Node.Certificate, absolute)),
		"revocations": d.scalar(into(&d.c.Node.Revocations, absolute)),

		"guest_rate": d.scalar(into(&d.c.Node.GuestRate, ParseRate)),
	}
}

func parseSocket(s string) (string, error) {
	if s == SocketNone {
		return s, nil
	}
	return absolute(s)
}

func parseToggle(s string) (Toggle, error) {
	t, err := oneOf("true", "false")(s)
	return Toggle(t), err
}

func (d *decoder) listen(key string, n ast.Node) {
	d.c.Listen = nil
	item := func(key string, n ast.Node) {
		var u FaceURI
		d.scalar(into(&u, ParseFaceURI))(key, n)
		d.c.Listen = append(d.c.Listen, u)
	}
	if _, isScalar := scalarText(n); isScalar { // MARS_LISTEN=udp4://… needs no brackets
		item(key+"[0]", n)
		return
	}
	d.list(key, n, item)
}

func (d *decoder) faces(key string, n ast.Node) {
	d.c.Faces = nil
	d.list(key, n, func(key string, n ast.Node) {
		f := FaceConfig{MTU: DefaultMTU}
		d.mapping(key, n, map[string]field{
			"name":  d.scalar(into(&f.Name, parseLabel)),
			"to":    d.scalar(into(&f.To, ParseFaceURI)),
			"local": d.scalar(into(&f.Local, ParseFaceLocal)),
			"rate":  d.scalar(into(&f.Rate, ParseRate)),
			"mtu":   d.scalar(into(&f.MTU, integer(minMTU, maxMTU))),
			"queue": d.scalar(into(&f.Queue, integer(1, maxQueue))),
		})
		d.c.Faces = append(d.c.Faces, f)
	})
}

func (d *decoder) routes(key string, n ast.Node) {
	d.c.Routes = nil
	d.list(key, n, func(key string, n ast.Node) {
		r := RouteConfig{Hops: 1}
		d.mapping(key, n, map[string]field{
			"prefix": d.scalar(into(&r.Prefix, parsePrefix)),
			"via":    d.scalar(into(&r.Via, parseLabel)),
			"hops":   d.scalar(into(&r.Hops, integer(1, maxHops))),
		})
		d.c.Routes = append(d.c.Routes, r)
	})
}

func (d *decoder) peers(key string, n ast.Node) {
	d.c.Peers = nil
	d.list(key, n, func(key string, n ast.Node) {
		var p PeerConfig
		d.mapping(key, n, map[string]field{
			"name":     d.scalar(into(&p.Name, parseLabel)),
			"key":      d.scalar(into(&p.Key, ParsePublicKey)),
			"announce": each(d, &p.Announce, parsePrefix),
		})
		d.c.Peers = append(d.c.Peers, p)
	})
}

func (d *decoder) operators(key string, n ast.Node) {
	d.c.Operators = nil
	d.list(key, n, func(key string, n ast.Node) {
		var k PublicKey
		d.scalar(into(&k, ParsePublicKey))(key, n)
		d.c.Operators = append(d.c.Operators, k)
	})
}

func (d *decoder) serve(key string, n ast.Node) {
	d.c.Serve = nil
	d.list(key, n, func(key string, n ast.Node) {
		var s ServeConfig
		d.mapping(key, n, map[string]field{
			"dir":    d.scalar(into(&s.Dir, absolute)),
			"prefix": d.scalar(into(&s.Prefix, parseServePrefix)),
			"chunk":  d.scalar(into(&s.Chunk, integer(1, wire.ChunkSize))),
		})
		d.c.Serve = append(d.c.Serve, s)
	})
}

func (d *decoder) trust(key string, n ast.Node) {
	d.c.Trust = nil
	d.list(key, n, func(key string, n ast.Node) {
		var t TrustConfig
		d.mapping(key, n, map[string]field{
			"prefix":    d.scalar(into(&t.Prefix, parsePrefix)),
			"keys":      each(d, &t.Keys, ParsePublicKey),
			"operators": each(d, &t.Operators, ParsePublicKey),
			"unsigned":  d.scalar(into(&t.Unsigned, parseBool)),
		})
		d.c.Trust = append(d.c.Trust, t)
	})
}

func parseBool(s string) (bool, error) {
	s, err := oneOf("true", "false")(s)
	return s == "true", err
}

// each is the field of a list of scalars.
func each[T any](d *decoder, dst *[]T, parse func(string) (T, error)) field {
	return func(key string, n ast.Node) {
		d.list(key, n, func(key string, n ast.Node) {
			var v T
			d.scalar(into(&v, parse))(key, n)
			*dst = append(*dst, v)
		})
	}
}

// mapping hands every value of a mapping to the field of its key. An empty value leaves the default.
func (d *decoder) mapping(key string, n ast.Node, fields map[string]field) {
	d.note(key, n)
	m, ok := n.(*ast.MappingNode)
	if !ok {
		if n.Type() != ast.NullType {
			d.fail(key, n, "expected a mapping with "+strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		return
	}
	for _, v := range m.Values {
		name, ok := scalarText(v.Key)
		f := fields[name]
		switch {
		case !ok || f == nil:
			d.fail(key, v.Key, fmt.Sprintf("unknown key %q; known here: %s", v.Key.GetToken().Value, strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
		case v.Value == nil || v.Value.Type() == ast.NullType:
		case key == "":
			f(name, v.Value)
		default:
			f(key+"."+name, v.Value)
		}
	}
}

// list hands every item of a sequence to item.
func (d *decoder) list(key string, n ast.Node, item field) {
	d.note(key, n)
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(key, n, `expected a list: begin each item with "- "`)
		return
	}
	for i, v := range s.Values {
		item(fmt.Sprintf("%s[%d]", key, i), v)
	}
}

// scalar hands the text of a scalar to set. It looks at the text as it was written: YAML's idea of types (no is false,
// 010 is 8) has surprised enough people.
func (d *decoder) scalar(set func(string) error) field {
	return func(key string, n ast.Node) {
		d.note(key, n)
		text, ok := scalarText(n)
		if !ok {
			d.fail(key, n, "expected one plain value")
			return
		}
		if err := set(text); err != nil {
			d.fail(key, n, err.Error())
		}
	}
}

// scalarText is the text of a scalar. Anchors, aliases and tags are none.
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

// note remembers where the value of key is, for Check.
func (d *decoder) note(key string, n ast.Node) {
	if d.c.where == nil {
		d.c.where = map[string]position{}
	}
	d.c.where[key] = d.at(n)
}

func (d *decoder) fail(key string, n ast.Node, problem string) {
	p := d.at(n)
	d.errs = append(d.errs, &ConfigError{p.file, p.line, p.column, key, problem})
}

// at is where n begins. The token of a mapping in block style is the first colon; people look for the key.
func (d *decoder) at(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p := n.GetToken().Position
	return position{d.file, p.Line, p.Column}
}

// into stores what parse makes of a text.
func into[T any](dst *T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err == nil {
			*dst = v
		}
		return err
	}
}

func oneOf(values ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(values, s) {
			return "", fmt.Errorf("%q is unknown; write %s", s, strings.Join(values, " or "))
		}
		return s, nil
	}
}

func integer(low, high int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", s, low, high)
		}
		return n, nil
	}
}

// absolute refuses relative paths: what they are relative to is anybody's guess when a service starts the node.
func absolute(s string) (string, error) {
	if !filepath.IsAbs(s) {
		return "", fmt.Errorf("%q is not an absolute path; begin it with /", s)
	}
	return filepath.Clean(s), nil
}
