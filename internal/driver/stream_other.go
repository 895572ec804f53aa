//go:build !unix

package driver

import (
	"errors"
	"syscall"
)

const maxSocketPath = 107 // bytes

func (c *streamConn) write([]byte) (int, error)     { return 0, errors.ErrUnsupported }
func (c *streamConn) awaitWritable() error          { return nil }
func restrict(_, _ string, _ syscall.RawConn) error { return errors.ErrUnsupported }
func bindLock(string) (release func())              { return func() {} }
