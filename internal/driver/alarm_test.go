package driver

import (
	"math"
	"testing"
	"time"

	"mars/internal/machine"
)

func TestAlarmRingsOnceForEachSetting(t *testing.T) {
	rang := make(chan struct{}, 16)
	a, err := newAlarm(func() { rang <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	a.set(time.Hour)
	a.set(time.Millisecond)
	await(t, "the alarm", rang)
	a.set(time.Hour)
	a.set(0)
	a.set(time.Microsecond)
	await(t, "the second alarm", rang)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	if len(rang) != 0 {
		t.Errorf("it rang %d times too often", len(rang))
	}
}

// TestPastDeadlineDoesNotSpin counts the turns of a Machine whose deadline never moves on.
func TestPastDeadlineDoesNotSpin(t *testing.T) {
	m := newEcho()
	m.deadline = 0
	d := New(m, Options{})
	begin := time.Now()
	start(t, d)
	until(t, d, "a hundred timer turns", func() bool { return m.advances > 100 })
	took := time.Since(begin)
	do(t, d, func() {
		// Every Do of until costs a turn as well, which the bound allows for: one a millisecond.
		if bound := int(took/shortestSleep) + 2*int(took/time.Millisecond) + 10; m.advances > bound {
			t.Errorf("%d turns in %v", m.advances, took)
		}
	})
}

// TestIdleMachineSleeps checks that a Machine without a deadline gets no turns.
func TestIdleMachineSleeps(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	turns := 0
	d.OnTurn(func(machine.Time) { turns++ })
	start(t, d)
	do(t, d, func() {})
	before, after := 0, 0
	do(t, d, func() { before = turns })
	time.Sleep(20 * time.Millisecond) // nothing may happen, so there is no event to wait for
	do(t, d, func() { after = turns })
	if after-before > 3 { // the two calls and a stale wake-up
		t.Errorf("%d turns of an idle Machine", after-before)
	}
}

// TestDeadlineIsKept lets the Machine's deadline wake the loop.
func TestDeadlineIsKept(t *testing.T) {
	m := &timed{queues: newQueues(), rang: make(chan struct{})}
	m.deadline = machine.Never
	d := New(m, Options{})
	start(t, d)
	if err := d.Do(func(now machine.Time) { m.deadline = now + 2*machine.Millisecond }); err != nil {
		t.Fatal(err)
	}
	await(t, "Advance", m.rang)
	if m.at < m.due {
		t.Errorf("Advance at %v before the deadline at %v", m.at, m.due)
	}
}

// timed notes when its first timer fires.
type timed struct {
	queues
	due, at machine.Time
	rang    chan struct{}
}

func (m *timed) Receive(machine.Time, machine.FaceID, machine.ECN, []byte) {}

func (m *timed) Advance(now machine.Time) {
	m.due, m.at, m.deadline = m.deadline, now, machine.Never
	close(m.rang)
}

func TestScaleDilatesTime(t *testing.T) {
	real := time.Duration(0)
	d := New(newEcho(), Options{Scale: 20, Clock: func() time.Duration { return real }})
	real = 40 * time.Second
	if got := d.Now(); got != 2*machine.Second {
		t.Errorf("after %v of real time it is %v, want 2 s", real, got.Seconds())
	}
	if got := d.clock.wait(d.Now(), 3*machine.Second); got != 20*time.Second {
		t.Errorf("a machine second takes %v", got)
	}
	if got := d.clock.span(20 * time.Millisecond); got != machine.Millisecond {
		t.Errorf("20 ms of real time are %v", got)
	}
	for _, far := range []machine.Time{machine.Never, math.MaxInt64 - 1, 1 << 62} {
		if got := d.clock.wait(0, far); got != longestWait {
			t.Errorf("the wait until %d is %v", far, got)
		}
	}
}
