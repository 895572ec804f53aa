package mars

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestNoNode: waiting helps against a node that isn't there, not against a socket that one may not open.
func TestNoNode(t *testing.T) {
	for _, c := range []struct {
		err       syscall.Errno
		temporary bool
		next      string
	}{
		{syscall.ECONNREFUSED, true, "start it with mars node"},
		{syscall.ENOENT, true, "start it with mars node"},
		{syscall.EACCES, false, "join the group that owns the socket"},
	} {
		err := noNode("/run/x", fmt.Errorf("dial: %w", c.err))
		var e *Error
		if errors.Is(err, ErrTimeout) != c.temporary || !errors.Is(err, c.err) || !errors.As(err, &e) || !strings.Contains(e.Next, c.next) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
