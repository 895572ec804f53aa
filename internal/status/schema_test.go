package status

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the schemas anew")

// TestSchemas: the published schemas are those of the declarations.
func TestSchemas(t *testing.T) {
	comments := fieldComments(t)
	for file, of := range map[string]any{"node.schema.json": Node{}} {
		schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema"}
		for k, v := range schemaOf(reflect.TypeOf(of), comments) {
			schema[k] = v
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(file); err != nil || string(kept) != string(text) {
			t.Errorf("%s isn't what the declarations say (%v): go test ./internal/status -update", file, err)
		}
	}
}

// schemaOf is the schema of a type.
func schemaOf(t reflect.Type, comments map[string]string) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), comments)
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), comments)}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), comments)}
	case t.Kind() == reflect.Struct:
		return structSchema(t, comments)
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Float64:
		return map[string]any{"type": "number"}
	case t.Kind() == reflect.Uint64 || t.Kind() == reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "integer"}
}

func structSchema(t reflect.Type, comments map[string]string) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		s := schemaOf(f.Type, comments)
		if c := comments[t.Name()+"."+f.Name]; c != "" {
			s["description"] = c
		}
		if name == "schema_version" {
			s = map[string]any{"const": Version, "description": "changes only when programs must change; fields may be added without"}
		}
		properties[name] = s
		if option != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// fieldComments are the comments on the fields of this package's types, by Type.Field.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range s.Fields.List {
				text := strings.Join(strings.Fields(field.Doc.Text()+field.Comment.Text()), " ")
				for _, name := range field.Names {
					all[spec.Name.Name+"."+name.Name] = text
				}
			}
			return false
		})
	}
	return all
}
