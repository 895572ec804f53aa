package mars

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"mars/internal/disk"
)

// TestExitCode is the table of the command line's conventions.
func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		exit int
		code string
	}{
		{nil, 0, ""},
		{errors.New("anything"), 1, "other"},
		{fs.ErrPermission, 1, "other"},
		{UsageError(errors.New("no such flag")), 2, "usage"},
		{&ConfigError{Problem: "bad"}, 2, "config"},
		{ErrNotFound, 3, "not_found"},
		{ErrTimeout, 5, "timeout"},
		{ErrChanged, 5, "changed"},
		{ErrBusy, 5, "busy"},
		{disk.ErrLocked, 5, "busy"},
		{disk.ErrBusy, 5, "busy"},
		{ErrAuth, 7, "auth"},
		{ErrQuota, 8, "quota"},
		{ErrDeadline, 10, "deadline"},
		{context.DeadlineExceeded, 10, "deadline"},
		{ErrIntegrity, 11, "integrity"},
		{ErrDiskFull, 12, "disk_full"},
		{fmt.Errorf("%w: %w", disk.ErrDiskFull, syscall.ENOSPC), 12, "disk_full"},
		{ErrInterrupted, 130, "interrupted"},
		{context.Canceled, 130, "interrupted"},
		{&Error{Op: "get /a", Kind: ErrNotFound}, 3, "not_found"},
		{&Error{Op: "get /a", Err: fmt.Errorf("deep: %w", ErrIntegrity)}, 11, "integrity"},
		{&Error{Op: "get /a"}, 1, "other"},
		{errors.Join(ErrNotFound, ErrIntegrity), 11, "integrity"},
		{errors.Join(ErrTimeout, ErrInterrupted), 130, "interrupted"},
	} {
		for _, err := range []error{c.err, wrap(c.err)} {
			if ExitCode(err) != c.exit || ErrorCode(err) != c.code {
				t.Errorf("%v: exit code %d, %q; want %d, %q", err, ExitCode(err), ErrorCode(err), c.exit, c.code)
			}
			if hint := NextStep(err); (hint == "") != (c.exit <= 1) {
				t.Errorf("%v: the advice is %q", err, hint)
			}
		}
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wrapped: %w", err)
}

func TestError(t *testing.T) {
	cause := errors.New("no route")
	for _, c := range []struct {
		err        Error
		text, next string
	}{
		{Error{Op: "get /a", Kind: ErrNotFound}, "get /a: not found", "check the name and that a producer serves it"},
		{Error{Op: "get /a", Kind: ErrNotFound, Err: cause}, "get /a: not found: no route", "check the name and that a producer serves it"},
		{Error{Op: "get /a", Err: cause}, "get /a: no route", ""},
		{Error{Op: "get /a", Kind: ErrDiskFull, Err: fmt.Errorf("f: %w", ErrDiskFull), Next: "delete something"}, "get /a: f: disk full", "delete something"},
	} {
		if c.err.Error() != c.text || NextStep(&c.err) != c.next {
			t.Errorf("%q, %q; want %q, %q", c.err.Error(), NextStep(&c.err), c.text, c.next)
		}
		if c.err.Kind != nil && !errors.Is(&c.err, c.err.Kind) || c.err.Err != nil && !errors.Is(&c.err, c.err.Err) {
			t.Errorf("%v hides its kind or its cause", &c.err)
		}
	}
	if err := UsageError(errors.New("bad flag")); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "bad flag") || UsageError(nil) != nil {
		t.Errorf("%v", err)
	}
	if err := UsageError(ErrUsage); err != ErrUsage {
		t.Errorf("marked twice: %v", err)
	}
}
