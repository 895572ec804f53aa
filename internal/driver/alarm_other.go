//go:build !linux

package driver

import "time"

// An alarm calls a function once, some time after it was set.
type alarm struct{ timer *time.Timer }

func newAlarm(ring func()) (alarm, error) {
	t := time.AfterFunc(longestWait, ring)
	t.Stop()
	return alarm{t}, nil
}

// set replaces what was set before; 0 switches the alarm off.
func (a alarm) set(d time.Duration) {
	a.timer.Stop()
	if d > 0 {
		a.timer.Reset(d)
	}
}

func (a alarm) close() error {
	a.timer.Stop()
	return nil
}
