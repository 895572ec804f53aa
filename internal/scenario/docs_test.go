package scenario

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestDocumentedExamples loads every example of docs/scenarios.md. The first is a whole file; the others are laid over what
// they don't say of it.
func TestDocumentedExamples(t *testing.T) {
	doc, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 14 {
		t.Fatalf("%d examples", len(blocks))
	}
	schema := compile(t, "../../docs/scenario.schema.json")
	whole := blocks[0][1]
	head, rest, _ := strings.Cut(whole, "sweep:")
	_, rest, _ = strings.Cut(rest, "topology:")
	f := files{"whole.yaml": whole, "head.yaml": head, "network.yaml": head + "topology:" + strings.ReplaceAll(rest, "$loss", "0")}
	if _, err := loadFrom("whole.yaml", f.read); err != nil {
		t.Error(err)
	}
	for _, block := range blocks[1:] {
		text := "include: network.yaml\n"
		if strings.Contains(block[1], "generate:") {
			text = "include: head.yaml\nworkload: {size: 1 MB}\n"
		}
		f["s.yaml"] = text + block[1]
		if _, err := f.load(); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
		var v any
		if err := yaml.Unmarshal([]byte(f["s.yaml"]), &v); err != nil {
			t.Fatal(err)
		}
		v.(map[string]any)["name"] = "s"
		if err := schema.Validate(instance(t, v)); err != nil {
			t.Errorf("schema: %v in\n%s", err, block[1])
		}
	}
	// The message that the text quotes is the one that is given.
	f["example.yaml"] = strings.Replace(strings.TrimPrefix(whole, "\n"), "rate: 20 Mbit/s", "rate: 20 Mbps", 1)
	_, err = loadFrom("example.yaml", f.read)
	if err == nil || !strings.Contains(string(doc), "    "+err.Error()+"\n") {
		t.Errorf("not quoted as it is given: %v", err)
	}
	for _, name := range generatorNames {
		if !strings.Contains(string(doc), "generate: "+name+"\n") {
			t.Errorf("no example of %s", name)
		}
	}
	for _, kind := range faultKinds {
		if !strings.Contains(string(doc), "kind: "+string(kind)+",") {
			t.Errorf("no example of %s", kind)
		}
	}
}
