package mars

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNodeKey: a node has the key of its file, or one of its own.
func TestNodeKey(t *testing.T) {
	t.Setenv("MARS_KEY", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "node.key")
	public, err := NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := run(t, &Config{Node: NodeConfig{Key: path}}); n.Key() != public {
		t.Errorf("the node has the key %v, the file %v", n.Key(), public)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{path: "mode 0640", path + "x": "no such file"} {
		if _, err := NewNode(&Config{Node: NodeConfig{Key: file}}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
