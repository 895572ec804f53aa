//go:build !linux

package bench

import (
	"errors"
	"os/exec"
	"time"
)

// place is where the two sides of a transfer run: here only this machine's loopback.
type place struct {
	near, far, nearIP, farIP string
	mtu                      int
}

func loopback() *place { return &place{nearIP: "127.0.0.1", farIP: "127.0.0.1", mtu: 16384} }

func veth(int, bool) (*place, error) {
	return nil, errors.New("network namespaces need Linux: use --over loopback")
}

func (p *place) command(_ string, args ...string) []string { return args }
func (p *place) close() error                              { return nil }
func own(*exec.Cmd)                                        {}
func scratch(int64) string                                 { return "" }

var start = time.Now()

// threadTime is how long this process has run: what a thread has worked isn't known.
func threadTime() time.Duration { return time.Since(start) }
