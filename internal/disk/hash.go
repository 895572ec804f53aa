package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"mars/internal/wire"
)

const (
	hashTries  = 3
	hashBuffer = 1 << 20

	// tick is longer than the step of the clock that stamps files (one jiffy, at most 10 ms).
	tick = 20 * time.Millisecond
)

var errMoved = errors.New("the file changed while it was read")

// hash opens and hashes path. The file must be in one state from the first byte to the last; it gets a few tries.
func (t *Tree) hash(path string) (*wire.Manifest, *os.File, stamp, error) {
	for range hashTries {
		f, state, err := t.open(path)
		if err != nil {
			return nil, nil, stamp{}, err
		}
		m, err := t.hashOnce(f, path, state)
		if err == nil {
			return m, f, state, nil
		}
		f.Close()
		if !errors.Is(err, errMoved) {
			return nil, nil, stamp{}, fmt.Errorf("%q: %w", path, err)
		}
	}
	return nil, nil, stamp{}, fmt.Errorf("%q: %w; it can be served once its writer is done", path, ErrBusy)
}

// hashOnce hashes f, or fails with errMoved as soon as it is seen to leave the given state.
func (t *Tree) hashOnce(f *os.File, path string, state stamp) (*wire.Manifest, error) {
	if err := t.settle(state); err != nil {
		return nil, err
	}
	progress := t.opts.Progress
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	b := wire.NewManifestBuilder(t.opts.ChunkSize)
	pooled, ok := t.buffers.Get().(*[]byte)
	if !ok {
		pooled = new([]byte)
	}
	defer t.buffers.Put(pooled)
	most := int(min(state.size+1, hashBuffer)) // one more, so that one read also finds the end
	*pooled = slices.Grow((*pooled)[:0], most)
	buf := (*pooled)[:most]
	for done := int64(0); ; {
		progress(path, done, state.size)
		n, err := f.ReadAt(buf, done)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		b.Write(buf[:n])
		done += int64(n)
		now, statErr := fileStamp(f)
		switch {
		case statErr != nil:
			return nil, statErr
		case now != state:
			return nil, errMoved
		case err == nil && !t.isClosed():
			continue
		case err == nil:
			return nil, fs.ErrClosed
		case done != state.size:
			return nil, errMoved
		}
		if done > 0 {
			progress(path, done, state.size)
		}
		return b.Finish(), nil
	}
}

// settle waits until the last change of the file is a tick old. A change during the hash then has another time than that
// one, however coarse the clock is; without this a file written twice within a jiffy could hide the second write.
func (t *Tree) settle(state stamp) error {
	wait := tick - time.Since(time.Unix(0, max(state.mtime, state.ctime)))
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(min(wait, tick)) // a file from the future waits no longer than one from now
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.stop:
		return fs.ErrClosed
	}
}
