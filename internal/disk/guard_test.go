package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPartialIsTouched: whatever somebody does to a partial file by hand, a wrong file never reaches the destination.
func TestPartialIsTouched(t *testing.T) {
	data := content(1, 1000)
	old := time.Unix(1000, 0)
	for what, touch := range map[string]func(part string) error{
		"cut short": func(part string) error { return os.Truncate(part, 150) },
		"grown":     func(part string) error { return os.Truncate(part, 1100) },
		"cut and back": func(part string) error {
			return errors.Join(os.Truncate(part, 150), os.Truncate(part, 1000), os.Chtimes(part, old, old))
		},
		"overwritten": func(part string) error { return errors.Join(overwrite(part, 10, "xyz"), os.Chtimes(part, old, old)) },
		"linked":      func(part string) error { return os.Link(part, part+"2") },
	} {
		for _, late := range []bool{false, true} {
			dest := filepath.Join(t.TempDir(), "out")
			id, m := identityOf(t, "/a", data, 100)
			p, err := OpenPartial(dest, id)
			check(t, err)
			for i := range id.Chunks() {
				if i == 5 && !late {
					check(t, touch(dest+partSuffix))
				}
				if err = p.WriteChunk(i, chunkOf(data, id.Layout, i)); err != nil {
					break
				}
			}
			if err == nil && late {
				check(t, touch(dest+partSuffix))
			}
			if err == nil {
				err = p.Finish()
			}
			if !errors.Is(err, errTouched) && !errors.Is(err, errLinked) {
				t.Errorf("%s, late %v: %v", what, late, err)
			}
			check(t, p.Close())
			wantMissing(t, dest)
			if what == "linked" { // nor is it taken up again
				_, err := OpenPartial(dest, id)
				if !errors.Is(err, errLinked) {
					t.Errorf("opened again: %v", err)
				}
				check(t, os.Remove(dest+partSuffix+"2"))
			}
			p, err = OpenPartial(dest, id)
			check(t, err)
			complete(t, p, m, data)
			check(t, p.Finish())
			wantFile(t, dest, data)
		}
	}
}

func TestReservedNames(t *testing.T) {
	dir := t.TempDir()
	id, _ := identityOf(t, "/a", content(1, 100), 100)
	for _, name := range []string{"x" + journalSuffix, "x" + partSuffix} {
		if p, err := OpenPartial(filepath.Join(dir, name), id); err == nil {
			t.Errorf("%s is taken for a destination", name)
			check(t, p.Close())
		}
	}
}

func TestTimesAreKept(t *testing.T) {
	dir := t.TempDir()
	data := content(1, 1000)
	id, m := identityOf(t, "/a", data, 100)
	const then = 1_234_567_890_123_456_789
	p, err := OpenPartial(filepath.Join(dir, "large"), id)
	check(t, err)
	p.SetTime(then)
	complete(t, p, m, data)
	check(t, p.Finish())
	d, err := OpenDest(dir)
	check(t, err)
	defer d.Close()
	check(t, d.Put("small", data, then))
	for _, file := range []string{"large", "small"} {
		if !d.Unchanged(file, 1000, then) || !Unchanged(filepath.Join(dir, file), 1000, then) {
			t.Errorf("%s has another time", file)
		}
		if d.Unchanged(file, 1000, then+1) || d.Unchanged(file, 999, then) || d.Unchanged(file, 1000, 0) {
			t.Errorf("%s: another file passes for it", file)
		}
	}
	check(t, os.Symlink("small", filepath.Join(dir, "link")))
	if d.Unchanged("link", 1000, then) || d.Unchanged("missing", 1000, then) || d.Unchanged(".", 1000, then) {
		t.Error("what is no file passes for one")
	}
}
