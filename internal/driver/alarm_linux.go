package driver

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm calls a function once, some time after it was set. It is a timer of the kernel: the runtime's own timers are
// late by up to a millisecond when nothing else happens, and pacing wants better.
type alarm struct {
	file *os.File
	fd   int
	done chan struct{}
}

func newAlarm(ring func()) (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}, fmt.Errorf("create timer: %w", err)
	}
	a := alarm{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		var expirations [8]byte
		for {
			if _, err := a.file.Read(expirations[:]); err != nil {
				return
			}
			ring()
		}
	}()
	return a, nil
}

// set replaces what was set before; 0 switches the alarm off.
func (a alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		panic(fmt.Sprintf("set timer to %v: %v", d, err)) // only wrong arguments fail
	}
}

func (a alarm) close() error {
	err := a.file.Close()
	<-a.done
	return err
}
