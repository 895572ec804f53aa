package scenario

import (
	"errors"
	"fmt"
	"strings"
)

// decoder reads values of the tree at one point of the sweep. It goes on after an error, so that one run tells all.
type decoder struct {
	report *report
	params map[string]string // the text of each swept parameter at this point
	names  []string          // their names in order
	used   map[string]bool   // which were asked for, over all points
}

func (d *decoder) fail(at place, key string, kind error, remedy, format string, args ...any) {
	d.report.add(&Error{at.file, at.line, at.column, key, fmt.Sprintf(format, args...), remedy, kind})
}

// text returns the text of a scalar, with a parameter replaced by its value.
func (d *decoder) text(key string, v *value) (string, bool) {
	if v.kind != scalar {
		d.fail(v.at, key, ErrValue, "write one plain value", "expected a plain value, got %v", v.kind)
		return "", false
	}
	name, isParam := strings.CutPrefix(v.text, "$")
	if !isParam {
		return v.text, true
	}
	s, ok := d.params[name]
	if !ok {
		d.fail(v.at, key, ErrSweep, "give its values under sweep, or correct its name ("+nearest(name, d.names)+")", "$%s isn't swept", name)
		return "", false
	}
	d.used[name] = true
	return s, true
}

// section is a mapping whose keys are asked for one by one.
type section struct {
	d     *decoder
	key   string
	at    place
	v     *value // a mapping; without fields if the file has none
	asked []string
}

// section returns v as a mapping.
func (d *decoder) section(key string, v *value) *section {
	s := &section{d: d, key: key, at: v.at, v: v}
	if v.kind != mapping {
		if v.kind != null {
			d.fail(v.at, key, ErrValue, "write key: value below it", "expected a mapping, got %v", v.kind)
		}
		s.v = &value{kind: mapping, at: v.at}
	}
	return s
}

// sub is the full name of a key.
func (s *section) sub(key string) string {
	if s.key == "" {
		return key
	}
	return s.key + "." + key
}

// get returns the value of key; nil if it isn't given.
func (s *section) get(key string) *value {
	s.asked = append(s.asked, key)
	f := s.v.field(key)
	if f == nil || f.val.kind == null {
		return nil
	}
	return f.val
}

// section returns the mapping at key, empty if it isn't given.
func (s *section) section(key string) (*section, bool) {
	v := s.get(key)
	if v == nil {
		return &section{d: s.d, key: s.sub(key), at: s.at, v: &value{kind: mapping, at: s.at}}, false
	}
	return s.d.section(s.sub(key), v), true
}

// each calls visit with every item of the list at key.
func (s *section) each(key string, visit func(key string, v *value)) {
	v := s.get(key)
	if v == nil {
		return
	}
	if v.kind != list {
		s.d.fail(v.at, s.sub(key), ErrValue, `begin each item with "- "`, "expected a list, got %v", v.kind)
		return
	}
	for i, item := range v.items {
		visit(fmt.Sprintf("%s[%d]", s.sub(key), i), item)
	}
}

// missing says that a key is wanted.
func (s *section) missing(key, example string) {
	s.d.fail(s.at, s.key, ErrMissing, "add "+key+": "+example, "%s isn't given", key)
}

// done finds keys that nobody asked for.
func (s *section) done() {
	for _, f := range s.v.fields {
		known := false
		for _, k := range s.asked {
			known = known || k == f.key
		}
		if !known {
			s.d.fail(f.at, s.key, ErrKey, nearest(f.key, s.asked), "unknown key %q", f.key)
		}
	}
}

// parse reads one scalar into dst; a failure leaves dst alone.
func parse[T any](d *decoder, key string, v *value, dst *T, f func(string) (T, error)) bool {
	text, ok := d.text(key, v)
	if !ok {
		return false
	}
	got, err := f(text)
	if err != nil {
		var b *badValue
		if !errors.As(err, &b) {
			b = &badValue{ErrValue, err.Error(), "correct it"}
		}
		if v.text != text {
			b = &badValue{b.kind, b.problem + " (it comes from " + v.text + ")", b.remedy}
		}
		d.fail(v.at, key, b.kind, b.remedy, "%s", b.problem)
		return false
	}
	*dst = got
	return true
}

// read reads the scalar at key into dst and reports whether the key is there. An empty or bad value leaves dst alone.
func read[T any](s *section, key string, dst *T, f func(string) (T, error)) bool {
	v := s.get(key)
	if v == nil {
		return false
	}
	parse(s.d, s.sub(key), v, dst, f)
	return true
}

// need is read for a key that must be there; example is what to write.
func need[T any](s *section, key, example string, dst *T, f func(string) (T, error)) bool {
	if !read(s, key, dst, f) {
		s.missing(key, example)
		return false
	}
	return true
}

// texts reads a list of scalars, or one scalar.
func texts[T any](s *section, key string, f func(string) (T, error)) (all []T) {
	item := func(key string, v *value) {
		var t T
		if parse(s.d, key, v, &t, f) {
			all = append(all, t)
		}
	}
	if f := s.v.field(key); f != nil && f.val.kind == scalar {
		s.asked = append(s.asked, key)
		item(s.sub(key), f.val)
		return all
	}
	s.each(key, item)
	return all
}
