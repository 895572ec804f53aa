package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mars/internal/machine"
)

// tick is the least time between two looks at the devices while packets are under way: fewer would cost a wake-up per packet.
const tick = 40 * time.Microsecond

// batch is how many packets one device may bring at a time before the others get their turn.
const batch = 64

// emulator moves packets between TUN devices. Device 2i is one end of link i and device 2i+1 the other; what device d sends
// goes through pipe d to device d^1. One thread of its own does everything.
type emulator struct {
	pipes   []*pipe
	devices []int
	epoll   int
	wake    int
	start   time.Time
	scale   float64 // dilation: real time ÷ scale is the scenario's

	commands chan func(now machine.Time)
	ended    chan struct{}
	failed   error // valid when ended is closed
	stop     bool
	class    string // how the kernel schedules the thread
	free     [][]byte
	size     int // of a buffer
	late     histogram
}

// newEmulator makes an emulator of these pipes between these devices, which it owns from now on. dilation ≥ 1.
func newEmulator(pipes []*pipe, devices []int, dilation float64) (*emulator, error) {
	e := &emulator{
		pipes: pipes, devices: devices, scale: dilation, start: time.Now(),
		commands: make(chan func(machine.Time), 16), ended: make(chan struct{}),
	}
	for _, p := range pipes {
		e.size = max(e.size, p.dir.MTU)
	}
	var err error
	if e.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		e.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	for i, fd := range append([]int{e.wake}, devices...) {
		if err == nil {
			err = unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i - 1)})
		}
	}
	if err != nil {
		e.release()
		return nil, fmt.Errorf("set up the link emulator: %w", err)
	}
	go e.run()
	return e, nil
}

// do runs f between two packets, with the time of the scenario's clock, and returns when it has run. It returns an error when
// the emulator has ended.
func (e *emulator) do(f func(now machine.Time)) error {
	done := make(chan struct{})
	select {
	case e.commands <- func(now machine.Time) { f(now); close(done) }:
	case <-e.ended:
		return errors.Join(errors.New("the link emulator has ended"), e.failed)
	}
	var one [8]byte
	one[0] = 1
	_, _ = unix.Write(e.wake, one[:]) // fails only when it is awake already
	select {
	case <-done:
		return nil
	case <-e.ended:
		return errors.Join(errors.New("the link emulator has ended"), e.failed)
	}
}

// close ends the emulator and removes the devices.
func (e *emulator) close() {
	_ = e.do(func(machine.Time) { e.stop = true })
	<-e.ended
}

func (e *emulator) release() {
	for _, fd := range append([]int{e.epoll, e.wake}, e.devices...) {
		if fd > 0 {
			unix.Close(fd)
		}
	}
}

// now is the scenario's clock.
func (e *emulator) now() machine.Time { return machine.Time(float64(time.Since(e.start)) / e.scale) }

func (e *emulator) run() {
	runtime.LockOSThread() // and never unlocked: the thread's priority ends with it
	defer close(e.ended)
	defer e.release()
	e.class = meetDeadlines()
	events := make([]unix.EpollEvent, len(e.devices)+1)
	for last := time.Now(); !e.stop; last = time.Now() {
		due := e.due()
		if pause := tick - time.Since(last); due != machine.Never && pause > 0 {
			sleep(pause)
		}
		n, err := e.wait(events, due)
		if err != nil {
			e.failed = err
			return
		}
		now := e.now()
		for _, ev := range events[:n] {
			if ev.Fd < 0 {
				e.obey(now)
			} else if e.read(int(ev.Fd)); e.failed != nil {
				return
			}
		}
		if e.deliver(); e.failed != nil {
			return
		}
	}
}

// share is what the emulator's thread may take of one processor, per millisecond. Real-time threads without a deadline are held up
// for 50 ms a second when others want to run too.
const share = 850 * time.Microsecond

// meetDeadlines puts the thread before all that have no deadline, and tells how the kernel schedules it now.
func meetDeadlines() string {
	punctual()
	err := unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_DEADLINE, Flags: resetOnFork, // else it couldn't make threads
		Runtime: uint64(share), Deadline: uint64(time.Millisecond), Period: uint64(time.Millisecond),
	}, 0)
	if err == nil {
		return fmt.Sprintf("SCHED_DEADLINE, %v of each ms", share)
	}
	return hasten() // for one, if its processors are restricted
}

// hasten puts the thread before usual ones, and tells how.
func hasten() string {
	punctual()
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil {
		return "SCHED_FIFO"
	}
	if unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) == nil {
		return "nice −20"
	}
	return "no priority"
}

// hurry puts all threads of this process before usual ones, or back among them, but those that have a deadline. Go's scheduler takes
// the emulator's thread off and on again by way of others every 10 ms; without priority they would have it wait. What they start has none.
func hurry(on bool) {
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if on {
		attr.Policy, attr.Priority, attr.Flags = unix.SCHED_FIFO, 1, resetOnFork
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if now, err := unix.SchedGetAttr(tid, 0); err == nil && now.Policy != unix.SCHED_DEADLINE {
			_ = unix.SchedSetAttr(tid, attr, 0) // without it packets come later, which is measured
		}
	}
}

// resetOnFork is SCHED_FLAG_RESET_ON_FORK: new threads and processes are usual ones (sched(7)).
const resetOnFork = 1

// punctual makes the thread wake up in time: the kernel may otherwise add 50 µs.
func punctual() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

func sleep(d time.Duration) {
	spec := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &spec, nil) // a signal may end it early, which does no harm
}

// due is when the next packet arrives.
func (e *emulator) due() machine.Time {
	first := machine.Time(machine.Never)
	for _, p := range e.pipes {
		first = min(first, p.next())
	}
	return first
}

// wait waits for packets, commands, or the time due. epoll_pwait2 alone takes nanoseconds.
func (e *emulator) wait(events []unix.EpollEvent, due machine.Time) (int, error) {
	var spec *unix.Timespec
	if due != machine.Never {
		s := unix.NsecToTimespec(max(int64(float64(due)*e.scale)-int64(time.Since(e.start)), 0))
		spec = &s
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)),
		uintptr(unsafe.Pointer(spec)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("wait for packets: %w", errno)
}

// obey runs the commands that wait.
func (e *emulator) obey(now machine.Time) {
	var count [8]byte
	_, _ = unix.Read(e.wake, count[:])
	for {
		select {
		case f := <-e.commands:
			f(now)
		default:
			return
		}
	}
}

// read takes what a device sends. EAGAIN is the usual end.
func (e *emulator) read(device int) {
	for range batch {
		b := e.buffer()
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(e.devices[device]), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno != 0 {
			e.free = append(e.free, b)
			if errno != unix.EAGAIN && errno != unix.EINTR {
				e.failed = fmt.Errorf("read from a TUN device: %w", errno)
			}
			return
		}
		if !e.pipes[device].push(e.now(), b[:n]) {
			e.free = append(e.free, b)
		}
	}
}

// deliver writes the packets that have arrived to their devices, and those that will within half a tick: else everything would
// come late by that on average.
func (e *emulator) deliver() {
	now := e.now() + machine.Time(float64(tick/2)/e.scale)
	for i, p := range e.pipes {
		for {
			b, late, lost, ok := p.pop(now)
			if !ok {
				break
			}
			if !lost && len(b) > 0 {
				e.late.add(time.Duration(float64(late)*e.scale) - tick/2)
				_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(e.devices[i^1]), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
				// A host may refuse a packet (EINVAL: no IP) or have its device down (EIO): so may a real one.
				if errno == unix.EBADF {
					e.failed = fmt.Errorf("write to a TUN device: %w", errno)
				}
			}
			e.free = append(e.free, b[:cap(b)])
		}
	}
}

// buffer is room for one packet of the largest MTU and a byte, so that larger ones are seen as such.
func (e *emulator) buffer() []byte {
	if n := len(e.free); n > 0 {
		b := e.free[n-1]
		e.free = e.free[:n-1]
		return b
	}
	return make([]byte, e.size+1)
}
