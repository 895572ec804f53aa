package mars

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"mars/internal/disk"
	"mars/internal/fetch"
	"mars/internal/foreign"
	"mars/internal/wire"
)

// plain is an error in the words of people, who don't know our packages.
type plain struct {
	error
	silent bool // its kind has said it all
}

func (p plain) Error() string {
	if p.silent {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(p.error.Error(), "fetch: "), "foreign: ")
}

func (p plain) Unwrap() error { return p.error }

// causes are the kinds of errors of the engine and the file side, with advice where it is better than the kind's.
var causes = []struct {
	is, kind error
	silent   bool // the kind says it all
	next     string
}{
	{is: context.Canceled, kind: ErrInterrupted, silent: true},
	{is: context.DeadlineExceeded, kind: ErrDeadline, silent: true},
	{is: fetch.ErrNotFound, kind: ErrNotFound, next: "check the name; the producer answers, but has no such file. The name of a directory ends with /"},
	{is: fetch.ErrNoRoute, kind: ErrNotFound, next: "check the name's prefix, and that its producer is running: no node on the way knows it"},
	{
		is: errStrangers, kind: ErrTimeout,
		next: "check that the other side is running, and that KEY and address are its own: it prints both. If it names its peers, this node's key (`mars key show`) must be among them",
	},
	{
		is: fetch.ErrTimeout, kind: ErrTimeout, silent: true,
		next: "check the addresses after --via (or the faces in the configuration) and that the other side is running; then run the same command again: it resumes",
	},
	{is: fetch.ErrBusy, kind: ErrTimeout, next: "the producer may still be reading a large file: run the same command again later"},
	{is: fetch.ErrChanged, kind: ErrChanged, silent: true},
	{is: fetch.ErrIntegrity, kind: ErrIntegrity},
	{is: fetch.ErrForeign, kind: ErrIntegrity, next: "the object comes from other software and can't be verified: add --plain to fetch it all the same"},
	{is: foreign.ErrNotFound, kind: ErrNotFound, next: "check the name; somebody answers, but has no such object"},
	{is: foreign.ErrNoRoute, kind: ErrNotFound, next: "check the name's prefix, and that its producer is running: no node on the way knows it"},
	{is: foreign.ErrTimeout, kind: ErrTimeout, silent: true, next: "check the addresses after --via, the name, and that its producer is running"},
	{is: foreign.ErrIntegrity, kind: ErrIntegrity},
	{is: wire.ErrListing, kind: ErrIntegrity},
	{is: errChecksum, kind: ErrIntegrity, next: "check the checksum and the name: the object is what its producer serves; what was at the destination is still there"},
	{is: disk.ErrDiskFull, kind: ErrDiskFull},
	{is: disk.ErrLocked, kind: ErrBusy, next: "wait for the other fetch, or choose another destination"},
	{is: syscall.EMFILE, next: moreFiles},
	{is: syscall.ENFILE, next: "close other programs: the system has no more open files to give"},
	{is: syscall.EROFS, next: "choose a destination on another file system: this one is read-only"},
	{is: fs.ErrPermission, next: "choose a destination that you may write to"},
}

// fetchError gives the errors of the engine and the file side the kinds of this package.
func fetchError(name string, err error) error {
	if e, ok := distrust(name, err); ok {
		return e
	}
	e := &Error{Op: "get " + name, Err: plain{error: err}}
	for _, c := range causes {
		if errors.Is(err, c.is) {
			e.Kind, e.Next, e.Err = c.kind, c.next, plain{err, c.silent}
			break
		}
	}
	return e
}
