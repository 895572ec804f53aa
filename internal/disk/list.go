package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"mars/internal/wire"
)

// List returns the listing of the directory that suffix, a name below the tree's prefix, names; the empty name is the tree
// itself. It has what Walk finds, and the directories, but neither links to directories nor what is below. Its bytes are in
// memory, so that version can be read for as long as somebody holds it.
//
// Errors: ErrNotFound (also for what is no directory), or a system error such as fs.ErrPermission.
func (t *Tree) List(suffix wire.Name) (*Version, error) {
	dir := "."
	if len(suffix) > 0 {
		var err error
		if dir, err = filePath(suffix); err != nil {
			return nil, err
		}
	}
	entries, err := t.readDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP),
		refused(err):
		return nil, fmt.Errorf("%q: %w", dir, ErrNotFound)
	case err != nil:
		return nil, err
	}
	content := []byte{}
	for _, e := range entries {
		if ours(e.Name()) {
			continue
		}
		file := e.Name()
		if dir != "." {
			file = dir + "/" + file
		}
		info, err := t.root.Stat(file) // follows links, within the root
		if err != nil || !info.Mode().IsRegular() && !e.IsDir() {
			continue // a link that leads nowhere, outside or to a directory, a pipe, or something just removed
		}
		entry := wire.Entry{Name: []byte(e.Name()), Directory: e.IsDir(), Size: info.Size(), MTime: info.ModTime().UnixNano()}
		if v := t.known(file, infoStamp(info)); v != nil && !entry.Directory {
			entry.Digest, entry.HasDigest = v.Manifest.Digest(), true
		}
		content = entry.Append(content)
	}
	b := wire.NewManifestBuilder(t.opts.ChunkSize)
	_, _ = b.Write(content)
	return &Version{tree: t, path: dir, Manifest: b.Finish(), listing: content}, nil
}

// ours tells whether a file is what a fetch leaves while it is in progress.
func ours(file string) bool {
	return strings.HasSuffix(file, partSuffix) || strings.HasSuffix(file, journalSuffix) || strings.HasSuffix(file, PlainSuffix)
}

// known returns the version of path that was hashed in the given state, if there is one.
func (t *Tree) known(path string, state stamp) *Version {
	t.mu.Lock()
	v := t.current[path]
	t.mu.Unlock()
	if v == nil || v.stateNow() != state {
		return nil
	}
	return v
}
