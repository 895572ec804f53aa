//go:build !linux

package lab

import (
	"context"
	"errors"

	"mars/internal/scenario"
)

var errLinux = errors.New("the lab needs Linux: network namespaces and TUN devices")

// Check says why this system can't have a lab.
func Check() error { return errLinux }

// Run fails.
func Run(context.Context, *scenario.Scenario, Options) (*scenario.Result, error) {
	return nil, errLinux
}

// ServeStream fails.
func ServeStream(Job, *Console) error { return errLinux }

// Clean finds nothing.
func Clean() (Cleaned, error) { return Cleaned{}, nil }
