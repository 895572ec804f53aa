//go:build !linux

package lab

import "errors"

// Check says why this system can't have a lab.
func Check() error { return errors.New("the lab needs Linux: network namespaces and TUN devices") }
