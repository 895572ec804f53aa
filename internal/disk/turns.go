package disk

import (
	"errors"
	"io/fs"
)

// quickHash is the largest file that is hashed beside large ones, bytes: it takes milliseconds.
const quickHash = 4 << 20

// tokens finds out whose turns to wait for before path is hashed. What can't be hashed is told at once, since a turn may be
// minutes away.
func (t *Tree) tokens(path string) (chan struct{}, error) {
	info, err := t.root.Stat(path)
	if err == nil && info.Mode().IsRegular() {
		if info.Size() <= quickHash {
			return t.quick, nil
		}
		return t.hashers, nil
	}
	if t.isClosed() {
		return nil, fs.ErrClosed
	}
	f, _, err := t.open(path) // for the error
	if err == nil {           // it has appeared just now
		return t.hashers, f.Close()
	}
	if errors.Is(err, ErrNotFound) {
		t.mu.Lock()
		delete(t.current, path)
		t.mu.Unlock()
	}
	return nil, err
}
