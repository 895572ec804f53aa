package sim

import (
	"math"
	"testing"
	"time"

	"mars/internal/machine"
	"mars/internal/scenario"
)

func oneWay(d scenario.Direction) link { return newLink(0, 1, "l", &d, 1) }

// TestFixedRate: a packet leaves size·8/rate after the one before it and arrives the delay later; the queue is bounded by
// packets and by bytes, and what has left makes room.
func TestFixedRate(t *testing.T) {
	l := oneWay(scenario.Direction{Rate: 8e6, Delay: 5 * time.Millisecond, Packets: 2, MTU: 1500}) // 1 µs per byte
	for i, want := range []bool{true, true, false} {
		if got := l.send(0, &packet{size: 1000}); got != want {
			t.Errorf("packet %d taken: %v", i, got)
		}
	}
	if got, want := l.next(), 6*machine.Millisecond; got != want {
		t.Errorf("the first arrives at %v, want %v", got, want)
	}
	if got := l.take(); got.arrive != 6*machine.Millisecond {
		t.Errorf("%+v", got)
	}
	if got, want := l.next(), 7*machine.Millisecond; got != want {
		t.Errorf("the second arrives at %v, want %v", got, want)
	}
	if !l.send(1500*machine.Microsecond, &packet{size: 500}) { // the first has left by then
		t.Error("no room")
	}
	l.take()
	if got, want := l.next(), 7500*machine.Microsecond; got != want {
		t.Errorf("the third arrives at %v, want %v", got, want)
	}
	b := oneWay(scenario.Direction{Rate: 8e6, Bytes: 1500, MTU: 1500})
	if !b.send(0, &packet{size: 1000}) || b.send(0, &packet{size: 501}) || !b.send(0, &packet{size: 500}) {
		t.Error("a queue of 1500 bytes")
	}
}

// TestRateChange: what waits, and the rest of what is being sent, goes at the new rate.
func TestRateChange(t *testing.T) {
	l := oneWay(scenario.Direction{Rate: 8e6, Packets: 10, MTU: 1500})
	l.send(0, &packet{size: 1000})
	l.send(0, &packet{size: 1000})
	l.changeRate(500*machine.Microsecond, 16e6)
	for i, want := range []machine.Time{750 * machine.Microsecond, 1250 * machine.Microsecond} {
		if got := l.next(); got != want {
			t.Errorf("packet %d arrives at %v, want %v", i, got, want)
		}
		l.take()
	}
}

// TestJitterKeepsOrder: jitter and a delay that shrinks never let a packet overtake another.
func TestJitterKeepsOrder(t *testing.T) {
	l := oneWay(scenario.Direction{Rate: 8e9, Delay: time.Millisecond, Jitter: 10 * time.Millisecond, Packets: 1000, MTU: 1500})
	for i := range 500 {
		if i == 250 {
			l.delay = 0
		}
		l.send(machine.Time(i)*machine.Microsecond, &packet{size: 100})
	}
	last := machine.Time(0)
	for l.n > 0 {
		if at := l.take().arrive; at < last {
			t.Fatalf("%v after %v", at, last)
		} else {
			last = at
		}
	}
}

// TestLossRates: random and burst losses take the part that they should.
func TestLossRates(t *testing.T) {
	for _, c := range []struct {
		name string
		loss scenario.Loss
		want float64
	}{
		{"none", scenario.Loss{}, 0},
		{"random", scenario.Loss{Random: 0.02}, 0.02},
		{"bursts", scenario.Loss{BurstEnter: 0.01, BurstLeave: 0.09, BurstLoss: 0.5}, 0.05},
		{"both", scenario.Loss{Random: 0.02, BurstEnter: 0.01, BurstLeave: 0.09, BurstLoss: 0.5}, 1 - 0.98*0.95},
		{"all", scenario.Loss{Random: 1}, 1},
	} {
		l := oneWay(scenario.Direction{Rate: 8e9, Packets: 10, MTU: 1500, Loss: c.loss})
		lost := 0
		const n = 200_000
		for range n {
			l.send(l.busy, &packet{size: 100})
			if l.take().lost {
				lost++
			}
		}
		if got := float64(lost) / n; math.Abs(got-c.want) > 0.004 {
			t.Errorf("%s: %.4f lost, want %.4f", c.name, got, c.want)
		}
	}
}
