package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance is a value as JSON has it.
func instance(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	i, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestScenarioSchema: what we ship is valid, and so is whatever a test loads.
func TestScenarioSchema(t *testing.T) {
	schema := compile(t, "../../docs/scenario.schema.json")
	check := func(name, text string) {
		t.Helper()
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range shipped(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(file, string(text))
	}
	check("small", small)
	check("everything", everything)
}

// TestScenarioSchemaRefuses: unknown keys, bad units and missing keys are seen by an editor that has the schema.
func TestScenarioSchemaRefuses(t *testing.T) {
	schema := compile(t, "../../docs/scenario.schema.json")
	seen := 0
	for _, c := range badFiles {
		if len(c.in) != 1 || !slices.ContainsFunc([]error{ErrKey, ErrUnit, ErrMissing, ErrSystem}, func(k error) bool { return errors.Is(c.kind, k) }) {
			continue
		}
		switch c.name {
		case "no rate", "no delay", "no queue", "no size", "no flows", "parameter's value", "fault without value":
			continue // needs to know of more than one place
		}
		var v any
		if err := yaml.Unmarshal([]byte(c.in["s.yaml"]), &v); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(instance(t, v)) == nil {
			t.Errorf("%s passes", c.name)
		}
		seen++
	}
	if seen < 15 {
		t.Errorf("only %d bad files", seen)
	}
}

// TestSchemaNames: the schema lists the systems and metrics that there are.
func TestSchemaNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenario.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties struct {
			Systems struct {
				Items struct{ AnyOf []struct{ Enum []string } }
			}
			Paper struct {
				AnyOf []struct {
					Items struct {
						Properties struct{ Metric struct{ Enum []string } }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if got := s.Properties.Systems.Items.AnyOf[0].Enum; !slices.Equal(got, KnownSystems()) {
		t.Errorf("systems: %v", got)
	}
	if got := s.Properties.Paper.AnyOf[0].Items.Properties.Metric.Enum; !slices.Equal(got, metrics) {
		t.Errorf("metrics: %v", got)
	}
}

// TestMetricNames: metrics are the JSON names of the fields of Summary, in order.
func TestMetricNames(t *testing.T) {
	var names []string
	for f := range reflect.TypeFor[Summary]().Fields() {
		if f.Type == reflect.TypeFor[Estimate]() {
			names = append(names, f.Tag.Get("json"))
		}
	}
	if !slices.Equal(names, metrics) {
		t.Errorf("%v, want %v", metrics, names)
	}
	var s Summary
	for i, e := range s.estimates() {
		e.Median = float64(i + 1)
		if got := reflect.ValueOf(s).Field(i).Field(0).Float(); got != float64(i+1) {
			t.Errorf("estimate %d isn't %s", i, metrics[i])
		}
	}
}

func TestResultSchema(t *testing.T) {
	schema := compile(t, "../../docs/result.schema.json")
	r := sampleResult(t)
	if err := schema.Validate(instance(t, r)); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(instance(t, Result{SchemaVersion: SchemaVersion, Manifest: Manifest{Runner: "lab", ScenarioHash: strings.Repeat("0", 64), Seeds: 1}})); err != nil {
		t.Errorf("an empty result: %v", err)
	}
	for name, harm := range map[string]func(){
		"version":  func() { r.SchemaVersion = 99 },
		"runner":   func() { r.Manifest.Runner = "mininet" },
		"hash":     func() { r.Manifest.ScenarioHash = "x" },
		"metric":   func() { r.Points[0].Paper[0].Metric = "speed" },
		"bytes":    func() { r.Points[0].Systems[0].Runs[0].LinkBytes = -1 },
		"requests": func() { r.Points[0].Systems[0].Runs[0].Flows[0].Requests = -1 },
	} {
		r = sampleResult(t)
		harm()
		if schema.Validate(instance(t, r)) == nil {
			t.Errorf("a bad %s passes", name)
		}
	}
	// Every field that we write is described: the schema allows no other.
	r = sampleResult(t)
	var v map[string]any
	text, _ := json.Marshal(r)
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	v["extra"] = 1
	if schema.Validate(instance(t, v)) == nil {
		t.Error("an undescribed field passes")
	}
}
