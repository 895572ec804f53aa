package mars

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "node.key")
	made, err := NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := PublicKeyOf(path); err != nil || read != made {
		t.Errorf("made %v, read %v, %v", made, read, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := NewKeyFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second key in place of the first: %v", err)
	}
	if read, err := PublicKeyOf(path); err != nil || read != made {
		t.Errorf("afterwards it is %v, %v", read, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".mars-key-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestKeyFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "node.key")
	public, err := NewKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{path, "others may read it (mode 0640)"},
		{filepath.Join(dir, "none"), "no such file"},
		{dir, "no key file"},
		{write("empty", ""), "it is no key"},
		{write("long", strings.Repeat("x", 2000)), "no key file"},
		{write("public", public.String()), "one is a secret key and the other a public one"},
	} {
		_, err := NewNode(&Config{Node: NodeConfig{Key: c.path}}, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(err.Error(), c.want) || e.Next == "" {
			t.Errorf("%s: %v, want %q and what to do", c.path, err, c.want)
		}
	}
}
