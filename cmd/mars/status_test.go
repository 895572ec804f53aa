package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mars/internal/status"
)

// conforms holds a JSON document to a schema.
func conforms(t *testing.T, schema, document string) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%v\n%s", err, document)
	}
}

// TestStatusAndPing: the commands see the faces of the node that runs here, and say what to do where none does.
func TestStatusAndPing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	at := s.serve(random(100_000), 1)
	s.mars("status", "--socket", s.path("nothing")).want(t, 5, "start it with mars node")
	s.mars("ping", "-c", "1", "nobody", "--via", at[0]).want(t, 2, `there is no face "nobody"`)
	s.withNode("--face", "up="+at[0])
	s.mars("get", "/site/object", "-o", "copy").want(t, 0)
	r := s.mars("status", "--flows")
	r.want(t, 0)
	if !regexp.MustCompile(`(?m)^up +127\.0\.0\.1:\d+ +direct +up +[\d.]+ ms `).MatchString(r.stdout) || !strings.Contains(r.stdout, "\n/site/") {
		t.Errorf("status:\n%s", r.stdout)
	}
	r = s.mars("status", "--json")
	r.want(t, 0)
	conforms(t, s.mars("status", "--json-schema").stdout, r.stdout)
	var n status.Node
	if err := json.Unmarshal([]byte(r.stdout), &n); err != nil || n.Version != "v0.0.0-test" || n.Role != "relay" || n.Find("up").Content == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	for _, args := range [][]string{{"up"}, {"/site/object"}, {}} {
		r := s.mars(append([]string{"ping", "-c", "2", "-i", "1ms", "--size", "3000"}, args...)...)
		r.want(t, 0)
		if !strings.Contains(r.stdout, "up: 2 of 2 answered, ") {
			t.Errorf("ping %v:\n%s", args, r.stdout)
		}
	}
	s.mars("top").want(t, 2, "it needs a terminal", "mars status --watch 1s")
}
