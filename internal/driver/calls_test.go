package driver

import (
	"context"
	"errors"
	"slices"
	"testing"

	"mars/internal/machine"
)

func TestPostedFunctionsRunInOrderOnceRunRuns(t *testing.T) {
	d := New(newEcho(), Options{})
	var order []int
	for i := range 5 {
		d.Post(func(machine.Time) { order = append(order, i) })
	}
	waited := make(chan error, 1)
	go func() { waited <- d.Do(func(machine.Time) {}) }()
	select {
	case err := <-waited:
		t.Fatalf("Do returned %v before Run", err)
	default:
	}
	start(t, d)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if err := d.Do(func(machine.Time) { order = append(order, 5) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("order %v", order)
	}
}

func TestDoFailsWhenTheDriverEndsFirst(t *testing.T) {
	d := New(newEcho(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	inside, ended := make(chan struct{}), make(chan error, 1)
	d.Post(func(machine.Time) {
		close(inside)
		<-ctx.Done() // until then the loop is busy
	})
	go func() { ended <- d.Run(ctx) }()
	<-inside
	late := make(chan error, 1)
	go func() { late <- d.Do(func(machine.Time) { t.Error("it ran after the end") }) }()
	for queued := false; !queued; {
		d.calls.mu.Lock()
		queued = len(d.calls.queue) > 0
		d.calls.mu.Unlock()
	}
	cancel()
	if err := <-late; !errors.Is(err, ErrClosed) {
		t.Errorf("Do: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d.Post(func(machine.Time) { t.Error("a Post after the end ran") })
}

// TestOnTurnComesBeforeTheMachineIsDrained queues a datagram in OnTurn and finds it sent by the same turn.
func TestOnTurnComesBeforeTheMachineIsDrained(t *testing.T) {
	m := newEcho()
	d := New(m, Options{})
	conn := newFakeConn()
	id, err := d.dial(FaceSpec{Remote: fakeRemote}, conn)
	if err != nil {
		t.Fatal(err)
	}
	var last machine.Time
	turns := 0
	d.OnTurn(func(now machine.Time) {
		if now < last {
			t.Error("time went back")
		}
		last = now
		if turns++; turns == 1 {
			m.queue(id, []byte("queued in the turn"))
		} else if turns == 2 && len(m.out[id]) != 0 {
			t.Error("the first turn left it")
		}
	})
	start(t, d)
	if got := <-conn.sent; string(got) != "queued in the turn" {
		t.Errorf("sent %q", got)
	}
}
