package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mars/internal/wire"
)

// filePath maps a name below the tree's prefix to a path below the tree's directory: one generic component is one path
// element, byte for byte. Names that no file can have are ErrNotFound, and so are those of fetches in progress.
func filePath(suffix wire.Name) (string, error) {
	var path strings.Builder
	for rest := suffix; ; {
		c, next, ok := rest.Next()
		if !ok {
			break
		}
		if c.Type != wire.TypeGeneric || CheckElement(c.Value) != nil || ours(string(c.Value)) {
			return "", fmt.Errorf("%s is not the name of a file: %w", suffix, ErrNotFound)
		}
		if path.Len() > 0 {
			path.WriteByte('/')
		}
		path.Write(c.Value)
		rest = next
	}
	if path.Len() == 0 {
		return "", fmt.Errorf("the tree itself %w", ErrIsDirectory)
	}
	return path.String(), nil
}

// Walk calls fn for every file that Lookup would find without following a link to a directory, in order of names, with
// its name below the tree's prefix and its size in bytes. Partial files and journals of fetches in progress are left
// out. It goes on past directories that can't be read and returns their errors at the end; an error of fn ends it.
func (t *Tree) Walk(fn func(suffix wire.Name, size int64) error) error {
	return t.walk(".", nil, fn)
}

// errStop marks an error of fn, which ends the walk.
type errStop struct{ error }

func (e errStop) Unwrap() error { return e.error }

func (t *Tree) walk(dir string, name wire.Name, fn func(wire.Name, int64) error) error {
	entries, err := t.readDir(dir)
	errs := []error{err}
	for _, e := range entries {
		path := e.Name()
		if dir != "." {
			path = dir + "/" + path
		}
		if ours(path) {
			continue
		}
		suffix := name.Clone().Append(wire.TypeGeneric, []byte(e.Name()))
		if e.IsDir() {
			err := t.walk(path, suffix, fn)
			if errors.As(err, new(errStop)) {
				return err
			}
			errs = append(errs, err)
			continue
		}
		info, err := t.root.Stat(path) // follows links, within the root
		if err != nil || !info.Mode().IsRegular() {
			continue // a link that leads nowhere or outside, a pipe, or a file just removed
		}
		if err := fn(suffix, info.Size()); err != nil {
			return errStop{err}
		}
	}
	return errors.Join(errs...)
}

// readDir lists a directory by itself: fs.ReadDir refuses file names that are not UTF-8.
func (t *Tree) readDir(dir string) ([]os.DirEntry, error) {
	d, err := t.root.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
