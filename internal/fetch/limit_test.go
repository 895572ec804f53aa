package fetch

import (
	"math"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestLimit: two flows share one limit, whatever their own rates allow, and use all of it.
func TestLimit(t *testing.T) {
	for _, rate := range []float64{50e3, 500e3, 2e6} {
		a, b := newObject("/s/a", int(rate*3), 0, 1), newObject("/t/b", int(rate*2), 0, 2)
		w := newWorld(t, Config{}, a, b)
		w.e.Limit(w.now, rate)
		w.start(a, Request{})
		w.start(b, Request{})
		w.succeed()
		if took := w.now.Seconds(); took < 4.75 || took > 5.25 {
			t.Errorf("%v B at %v B/s took %v s, want 5", rate*5, rate, took)
		}
	}
	o := newObject("/s/a", 1e6, 0, 1)
	w := newWorld(t, Config{}, o)
	w.e.Limit(w.now, 1e5)
	w.e.Limit(w.now, 0)
	w.start(o, Request{})
	w.succeed()
	if took := w.now.Seconds(); took > 1 {
		t.Errorf("without a limit it took %v s", took)
	}
}

// TestLimitChanges: what waits for a limit doesn't wait for it when it is lifted, and no limit stops the engine for good.
func TestLimitChanges(t *testing.T) {
	o := newObject("/s/a", 1e6, 0, 1)
	for _, low := range []float64{1, 1e-30, math.SmallestNonzeroFloat64} {
		w := newWorld(t, Config{}, o)
		w.e.Limit(w.now, low)
		id := w.start(o, Request{Stall: 3600 * machine.Second})
		w.until(10 * machine.Second)
		if got := w.e.Stats(id).Bytes; got > 8000 {
			t.Errorf("%d bytes in 10 s at %v B/s", got, low)
		}
		w.e.Limit(w.now, 0)
		w.drain()
		w.succeed()
		if took := w.now.Seconds(); took > 11 {
			t.Errorf("after the limit of %v B/s was lifted it took %v s", low, took-10)
		}
	}
	for _, none := range []float64{0, -1, math.NaN(), math.Inf(-1), math.Inf(1)} {
		w := newWorld(t, Config{}, o)
		w.e.Limit(w.now, none)
		w.start(o, Request{})
		w.succeed()
	}
}

// TestLimitBurst: a flow that was idle may not catch up on more than rateBurst.
func TestLimitBurst(t *testing.T) {
	l := limit{rate: 1e6}
	l.affords(3600 * machine.Second)
	if most := l.rate * rateBurst.Seconds(); l.tokens != most {
		t.Errorf("%v bytes saved up, want %v", l.tokens, most)
	}
	for range 2 {
		l.spend(wire.ChunkSize)
	}
	ok, at := l.affords(3600 * machine.Second)
	if ok || at != 3600*machine.Second+6*machine.Millisecond+1 {
		t.Errorf("%v, %v", ok, at)
	}
}
