package mars

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"mars/internal/disk"
)

// The kinds of failure that a caller may want to tell apart, for errors.Is. Errors of this package wrap one of them, or
// none if there is nothing to be said but the cause.
var (
	// ErrUsage: the call or the command line makes no sense as given.
	ErrUsage = errors.New("usage error")
	// ErrConfig: the configuration has an error; see ConfigError.
	ErrConfig = errors.New("configuration error")
	// ErrNotFound: nobody has an object of that name.
	ErrNotFound = errors.New("not found")
	// ErrTimeout: nobody answered, or answers stopped.
	ErrTimeout = errors.New("no answer")
	// ErrChanged: the object was replaced while it was fetched.
	ErrChanged = errors.New("the object changed during the fetch")
	// ErrBusy: something is in use by another process or keeps changing.
	ErrBusy = errors.New("busy")
	// ErrAuth: the peer refused us, or we refused the peer.
	ErrAuth = errors.New("not authorized")
	// ErrUntrusted: who signed the object may not, or nobody has signed it; see Untrusted.
	ErrUntrusted = errors.New("not trusted")
	// ErrQuota: a quota of ours or of a relay is used up.
	ErrQuota = errors.New("quota exceeded")
	// ErrDeadline: the time that the caller allowed is over.
	ErrDeadline = errors.New("deadline exceeded")
	// ErrIntegrity: bytes kept arriving that are not those of the object.
	ErrIntegrity = errors.New("integrity check failed")
	// ErrDiskFull: no space or quota is left at the destination; the fetch can be resumed.
	ErrDiskFull = disk.ErrDiskFull
	// ErrInterrupted: the caller or the person ended the work; it can be resumed.
	ErrInterrupted = errors.New("interrupted")
)

// kind is what the outside is told about one kind of failure.
type kind struct {
	is   error
	exit int
	code string
	next string // the usual advice
}

// kinds is in order of precedence: of several failures the first listed names the exit code.
var kinds = []kind{
	{ErrInterrupted, 130, "interrupted", "run the same command again to resume"},
	{context.Canceled, 130, "interrupted", "run the same command again to resume"},
	{ErrUsage, 2, "usage", "see --help"},
	{ErrConfig, 2, "config", "mend the configuration; `mars config check` tests it"},
	{ErrIntegrity, 11, "integrity", "the producer or a node on the way sends wrong bytes; nothing wrong was kept, so try again or choose another producer"},
	{ErrDiskFull, 12, "disk_full", "free some space and run the same command again to resume"},
	{ErrUntrusted, 7, "untrusted", "say whom to trust with --trust KEY, or take what nobody need have signed with --unsigned"},
	{ErrAuth, 7, "auth", "check the keys and the allow-list at both ends"},
	{ErrQuota, 8, "quota", "wait for the next period or raise the quota"},
	{ErrNotFound, 3, "not_found", "check the name and that a producer serves it"},
	{ErrDeadline, 10, "deadline", "allow more time and run the same command again to resume"},
	{context.DeadlineExceeded, 10, "deadline", "allow more time and run the same command again to resume"},
	{ErrChanged, 5, "changed", "run the same command again to fetch the new version"},
	{ErrTimeout, 5, "timeout", "check that the node runs and has a route to the producer; run the same command again to resume"},
	{ErrBusy, 5, "busy", "try again later"},
	{disk.ErrLocked, 5, "busy", "wait for the other fetch or choose another destination"},
	{disk.ErrBusy, 5, "busy", "try again when the file's writer is done"},
	{syscall.EMFILE, 1, "other", moreFiles},
}

// moreFiles is the advice of a process that has no file descriptor left.
const moreFiles = "allow the process more open files (ulimit -n), and run the same command again"

// exitTemporary is the exit code of what may go away by itself.
const exitTemporary = 5

// classify returns the kind of err; the exit code of an unknown one is 1.
func classify(err error) kind {
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return k
		}
	}
	return kind{err, 1, "other", ""}
}

// ExitCode maps an error to the exit code of the command line: 0 nil, 1 other, 2 usage or configuration, 3 not found,
// 5 temporary (try again), 7 not authorized or not trusted, 8 quota, 10 deadline, 11 integrity, 12 disk full, 130 interrupted. Of
// several joined errors the gravest counts.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	return classify(err).exit
}

// ErrorCode is a stable word for the kind of err, for programs: "not_found", "disk_full" and so on; "other" for errors
// of no kind, "" for nil.
func ErrorCode(err error) string {
	if err == nil {
		return ""
	}
	return classify(err).code
}

// NextStep is what the person can do about err; "" if there is nothing to be said.
func NextStep(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) && e.Next != "" {
		return e.Next
	}
	return classify(err).next
}

// Error is a failure with what was being done and what the person can do about it.
type Error struct {
	Op   string // what was being done: "get /site/data/a.iso"
	Kind error  // one of the Err variables, or nil
	Err  error  // the cause, or nil
	Next string // what to do; "": the usual advice for the kind
}

// Error says what failed and why, without the advice (see NextStep).
func (e *Error) Error() string {
	switch {
	case e.Kind == nil && e.Err == nil:
		return e.Op + ": failed"
	case e.Kind == nil || e.Err != nil && errors.Is(e.Err, e.Kind):
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	case e.Err == nil || e.Err.Error() == "":
		return fmt.Sprintf("%s: %v", e.Op, e.Kind)
	}
	return fmt.Sprintf("%s: %v: %v", e.Op, e.Kind, e.Err)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// UsageError marks err as the caller's or the command line's mistake (exit code 2).
func UsageError(err error) error {
	if err == nil || errors.Is(err, ErrUsage) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUsage, err)
}
