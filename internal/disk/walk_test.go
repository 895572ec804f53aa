package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"mars/internal/wire"
)

func TestWalk(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	check(t, os.MkdirAll(dir+"/a/b", 0o755))
	check(t, os.Mkdir(dir+"/empty", 0o755))
	files := []string{"a/1", "a/b/2", "a/b/\xff", "c d", "new\nline"}
	for i, name := range files {
		write(t, dir+"/"+name, make([]byte, i))
	}
	write(t, dir+"/x"+partSuffix, nil)
	write(t, dir+"/x"+journalSuffix, nil)
	check(t, syscall.Mkfifo(dir+"/pipe", 0o644))
	check(t, os.Symlink("/etc/passwd", dir+"/outside"))
	check(t, os.Symlink("a", dir+"/linked"))
	check(t, os.Symlink("a/b/2", dir+"/inside"))

	var got []string
	check(t, tree.Walk(func(suffix wire.Name, size int64) error {
		path, err := filePath(suffix)
		check(t, err)
		if v, err := tree.Lookup(suffix); err != nil || v.Manifest.Size != size {
			t.Errorf("%q of %d bytes: %v", path, size, err)
		}
		got = append(got, path)
		return nil
	}))
	want := []string{"a/1", "a/b/2", "a/b/\xff", "c d", "inside", "new\nline"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}

	stop := errors.New("stop")
	calls := 0
	if err := tree.Walk(func(wire.Name, int64) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestWalkGoesOn past a directory that is gone or can't be read.
func TestWalkGoesOn(t *testing.T) {
	tree, dir := openTree(t, TreeOptions{})
	check(t, os.Mkdir(dir+"/b", 0o755))
	for _, name := range []string{"a", "b/1", "c"} {
		write(t, dir+"/"+name, nil)
	}
	calls := 0
	err := tree.Walk(func(wire.Name, int64) error {
		if calls++; calls == 1 {
			check(t, os.RemoveAll(dir+"/b"))
		}
		return nil
	})
	if err == nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestFilePath: any file name comes back from the name that Walk would make of it, and nothing else is a path.
func TestFilePath(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		elements := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte("ab./\x00\xff%\n ")), 0, 4), 1, 4).Draw(r, "elements")
		var name wire.Name
		good := true
		for _, e := range elements {
			name = name.Append(wire.TypeGeneric, e)
			s := string(e)
			good = good && s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
		}
		path, err := filePath(name)
		if good != (err == nil) {
			r.Fatalf("%q: %v", elements, err)
		}
		if !good {
			return
		}
		if parts := strings.Split(path, "/"); fmt.Sprintf("%q", parts) != fmt.Sprintf("%q", elements) {
			r.Fatalf("%q became %q", elements, path)
		}
	})
}
