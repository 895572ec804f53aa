package cc

import (
	"math"
	"testing"

	"mars/internal/machine"
)

// trace gives a trend a round-trip time every 10 ms of some seconds.
func trace(t *trend, seconds float64, rtt func(s float64) float64) {
	for ms := 0; float64(ms) < seconds*1000; ms += 10 {
		t.add(Time(ms)*machine.Millisecond, Time(rtt(float64(ms)/1000)*1e9))
	}
}

// teeth is a queue of some period that goes from 50 to 100 ms.
func teeth(period, shift float64) func(float64) float64 {
	return func(s float64) float64 { return 0.05 + 0.05*math.Mod(s/period+shift, 1) }
}

func TestTrend(t *testing.T) {
	const now, over = 20 * machine.Second, 2 * machine.Second
	add := func(f func(float64) float64, more float64) func(float64) float64 {
		return func(s float64) float64 { return f(s) + more }
	}
	for _, c := range []struct {
		name         string
		a, b         func(float64) float64
		along, apart [2]float64 // bounds
	}{
		{"the same", teeth(1.3, 0), teeth(1.3, 0), [2]float64{0.999, 1.001}, [2]float64{0, 1e-9}},
		{"the same and 2 ms more", teeth(1.3, 0), add(teeth(1.3, 0), 0.002), [2]float64{0.999, 1.001}, [2]float64{0.005, 0.02}},
		{"half a period later", teeth(1, 0), teeth(1, 0.5), [2]float64{-0.6, -0.4}, [2]float64{0, 0.1}},
		{"slow ones at another height", teeth(40, 0), teeth(40, 0.4), [2]float64{0.999, 1.001}, [2]float64{0.6, 10}},
	} {
		var a, b trend
		trace(&a, 20, c.a)
		trace(&b, 20, c.b)
		along, apart, ok := a.with(&b, now, over)
		if !ok || along < c.along[0] || along > c.along[1] || apart < c.apart[0] || apart > c.apart[1] {
			t.Errorf("%s: along %v, apart %v, ok %v", c.name, along, apart, ok)
		}
	}
}

// TestTrendForgets: what hasn't come lately isn't compared, and what is old isn't taken for new.
func TestTrendForgets(t *testing.T) {
	var a, b trend
	trace(&a, 60, teeth(1.3, 0))
	trace(&b, 30, teeth(1.3, 0))
	if _, _, ok := a.with(&b, 60*machine.Second, 2*machine.Second); ok {
		t.Error("compared with a subflow that is silent")
	}
	if _, _, ok := a.with(&b, 30*machine.Second, 2*machine.Second); ok {
		t.Error("a's steps of then are gone")
	}
	var still trend
	trace(&still, 60, func(float64) float64 { return 0.05 })
	if _, _, ok := a.with(&still, 60*machine.Second, 2*machine.Second); ok {
		t.Error("nothing moves in one of them")
	}
	if _, _, ok := a.with(&a, 0, 2*machine.Second); ok {
		t.Error("compared before anything was there")
	}
}
