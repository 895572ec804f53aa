package lab

import (
	"context"
	"errors"
	"testing"
)

// TestAlone: a second lab waits for the first, and gives up when it is told to.
func TestAlone(t *testing.T) {
	waits := make(chan string, 8)
	log := func(format string, _ ...any) { waits <- format }
	first, err := alone(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if len(waits) > 0 { // a lab of another test: it has ended by now
		<-waits
	}
	short, stop := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := alone(short, log)
		given <- err
	}()
	<-waits
	stop()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a lab that was told to end while it waits: %v", err)
	}
	second := make(chan func(), 1)
	go func() {
		release, err := alone(t.Context(), log)
		if err != nil {
			t.Error(err)
		}
		second <- release
	}()
	<-waits
	first()
	(<-second)()
}
