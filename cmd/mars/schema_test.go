package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// schema checks values against the part of JSON Schema that the schema of the events uses. It is stricter in one thing:
// a field that the schema doesn't describe is an error, since the schema is the documentation of what is written.
type schema struct {
	root map[string]any
}

func newSchema(t *testing.T, text string) *schema {
	t.Helper()
	var s schema
	if err := json.Unmarshal([]byte(text), &s.root); err != nil {
		t.Fatal(err)
	}
	return &s
}

func (s *schema) valid(v any) error { return s.check("", s.root, v) }

// check checks v, which is at path, against one (sub)schema.
func (s *schema) check(path string, rule map[string]any, v any) error {
	for keyword, want := range rule {
		var err error
		switch keyword {
		case "$schema", "$defs", "title", "description", "items":
		case "$ref":
			name := strings.TrimPrefix(want.(string), "#/$defs/")
			def, ok := s.root["$defs"].(map[string]any)[name].(map[string]any)
			if !ok {
				return fmt.Errorf("the schema has no %v", want)
			}
			err = s.check(path, def, v)
		case "oneOf":
			err = s.oneOf(path, want.([]any), v)
		case "properties":
			err = s.object(path, want.(map[string]any), v)
		default:
			err = keywordCheck(path, keyword, want, v)
		}
		if err != nil {
			return err
		}
	}
	if items, ok := rule["items"].(map[string]any); ok {
		for i, x := range v.([]any) {
			if err := s.check(fmt.Sprintf("%s[%d]", path, i), items, x); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) oneOf(path string, rules []any, v any) error {
	var why []string
	for _, r := range rules {
		if err := s.check(path, r.(map[string]any), v); err != nil {
			why = append(why, err.Error())
		}
	}
	if len(rules)-len(why) != 1 {
		return fmt.Errorf("%s fits %d alternatives: %s", path, len(rules)-len(why), strings.Join(why, "; "))
	}
	return nil
}

func (s *schema) object(path string, properties map[string]any, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object", path)
	}
	for name, x := range object {
		rule, ok := properties[name].(map[string]any)
		if !ok {
			return fmt.Errorf("%s.%s is not in the schema", path, name)
		}
		if err := s.check(path+"."+name, rule, x); err != nil {
			return err
		}
	}
	return nil
}

// keywordCheck checks the keywords that don't lead to other schemas.
func keywordCheck(path, keyword string, want, v any) error {
	bad := func() error { return fmt.Errorf("%s = %v breaks %s %v", path, v, keyword, want) }
	ok := false
	switch keyword {
	case "const":
		ok = v == want
	case "enum":
		ok = slices.Contains(want.([]any), v)
	case "required":
		object, _ := v.(map[string]any)
		ok = !slices.ContainsFunc(want.([]any), func(k any) bool { _, there := object[k.(string)]; return !there })
	case "type":
		ok = typeOf(v, want.(string))
	case "minimum":
		n, _ := v.(float64)
		ok = n >= want.(float64)
	case "pattern":
		text, _ := v.(string)
		ok = regexp.MustCompile(want.(string)).MatchString(text)
	case "format":
		text, _ := v.(string)
		_, err := time.Parse(time.RFC3339, text)
		ok = want == "date-time" && err == nil
	default:
		return fmt.Errorf("the schema uses %q, which this checker doesn't know", keyword)
	}
	if !ok {
		return bad()
	}
	return nil
}

func typeOf(v any, want string) bool {
	switch v := v.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

// TestSchemaRefuses: the schema, and the checker, tell a bad event from a good one.
func TestSchemaRefuses(t *testing.T) {
	s := newSchema(t, eventSchema)
	const good = `{"event":"error","schema_version":1,"time":"2026-01-02T03:04:05.6Z","code":"timeout","exit_code":5,"message":"m","next":""}`
	check := func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return s.valid(v)
	}
	if err := check(good); err != nil {
		t.Error(err)
	}
	for _, edit := range [][2]string{
		{`"error"`, `"eror"`},
		{`:1,`, `:2,`},
		{`"2026-01-02T03:04:05.6Z"`, `"today"`},
		{`"timeout"`, `"late"`},
		{`:5,`, `:"5",`},
		{`:5,`, `:0,`},
		{`:5,`, `:5.5,`},
		{`,"message":"m"`, ``},
		{`"m"`, `7`},
		{`"next":""`, `"next":"","more":1`},
	} {
		if err := check(strings.Replace(good, edit[0], edit[1], 1)); err == nil {
			t.Errorf("passes with %s instead of %s", edit[1], edit[0])
		}
	}
}
