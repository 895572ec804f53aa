package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// soleName is an abstract socket's: it needs no file, and goes with the process that has it, however that ends.
const soleName = "@mars-lab"

// alone waits until no other lab runs in this network namespace. Two would hold each other up, since the processors can promise their
// time to one emulator only, and neither's figures would count.
func alone(ctx context.Context, log func(format string, args ...any)) (release func(), err error) {
	for told := false; ; told = true {
		l, err := net.Listen("unix", soleName)
		switch {
		case err == nil:
			return func() { _ = l.Close() }, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("keep other labs out: %w", err)
		case !told:
			log("another lab runs on this machine; this one waits for its end")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
