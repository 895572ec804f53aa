package gateway

import (
	"errors"
	"fmt"
	"testing"

	"mars"
)

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{mars.ErrNotFound, 404, "NoSuchKey"},
		{mars.ErrTimeout, 504, "RequestTimeout"},
		{mars.ErrDeadline, 504, "RequestTimeout"},
		{mars.ErrIntegrity, 502, "InternalError"},
		{mars.ErrUntrusted, 502, "InternalError"},
		{mars.ErrChanged, 503, "ServiceUnavailable"},
		{mars.ErrBusy, 503, "ServiceUnavailable"},
		{mars.ErrQuota, 503, "ServiceUnavailable"},
		{mars.ErrAuth, 403, "AccessDenied"},
		{mars.ErrUsage, 400, "InvalidArgument"},
		{errors.New("something else"), 500, "InternalError"},
		{noSuchKey, 404, "NoSuchKey"},
	} {
		err := c.err
		if _, ok := err.(*problem); !ok {
			err = fmt.Errorf("open: %w", &mars.Error{Op: "get /x", Kind: c.err})
		}
		if p := problemOf(err); p.status != c.status || p.code != c.code || p.message == "" {
			t.Errorf("%v: %d %s %q, want %d %s", c.err, p.status, p.code, p.message, c.status, c.code)
		}
	}
}
