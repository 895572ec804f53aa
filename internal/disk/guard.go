package disk

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errTouched is the error of a partial file that somebody else has written to or cut short: what was verified may not be there
// any more. The claims stay, and the next fetch verifies each of them.
var errTouched = errors.New("was changed by another program while it was written; run the same command again: what is there is verified then")

// errLinked is the error of a partial file that is also known by another name, under which another fetch may write to it.
var errLinked = errors.New("has a second name (a hard link); remove it")

// Reserved tells whether a file's name is that of what a fetch leaves in progress, so that no fetch may write to it.
func Reserved(file string) error {
	if name := filepath.Base(file); ours(name) {
		return fmt.Errorf("%q is the name of a fetch in progress; choose another", name)
	}
	return nil
}

// see notes the state of the partial file after a change of our own.
func (p *Partial) see() (err error) {
	p.seen, err = fileStamp(p.part)
	return err
}

// guard fails if anybody but us has changed the bytes of the partial file since see. As ReadChunk does it trusts the file's
// size and time, for a write changes the time before the bytes; a link or new permissions change neither.
func (p *Partial) guard() error {
	now, err := fileStamp(p.part)
	if err == nil && !now.touched(p.seen) {
		err = fmt.Errorf("partial file %q %w", p.part.Name(), errTouched)
	}
	return err
}

// single fails if the partial file has another name.
func (p *Partial) single() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(p.part.Fd()), &st); err != nil {
		return err
	}
	if st.Nlink > 1 {
		return fmt.Errorf("partial file %q %w", p.part.Name(), errLinked)
	}
	return nil
}

// setTime gives an entry a time of its last change, ns since 1970; 0: it keeps the one that it has.
func (d folder) setTime(name string, ns int64) error {
	if ns <= 0 {
		return nil
	}
	return d.do("set the time of", name, func(dir int) error { return unix.UtimesNanoAt(dir, name, onlyMTime(ns), unix.AT_SYMLINK_NOFOLLOW) })
}
