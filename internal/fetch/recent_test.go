package fetch

import (
	"math/rand/v2"
	"testing"

	"mars/internal/machine"
)

// TestRecent: what is counted is what came within the last 250 ms, to a slot of 15.6 ms.
func TestRecent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var r recent
		var came []machine.Time
		now := machine.Time(random.Int64N(int64(sec)))
		for range 500 {
			now += machine.Time(random.ExpFloat64() * float64(3*ms))
			if random.IntN(50) == 0 {
				now += machine.Time(random.Int64N(int64(600 * ms)))
			}
			r.add(now)
			came = append(came, now)
			least, most := 0.0, 0.0
			for _, at := range came {
				if now-at < recentSpan-recentSlot {
					least++
				}
				if now-at < recentSpan {
					most++
				}
			}
			got, ok := r.within(now, recentSpan)
			if ok != (now-came[0] > recentSpan) {
				t.Fatalf("%v after the first delivery: told = %v", now-came[0], ok)
			}
			if ok && (got < least || got > most) {
				t.Fatalf("counted %v, want %v to %v", got, least, most)
			}
			if half, _ := r.within(now, recentSpan/2); half != got/2 {
				t.Fatalf("half the span: %v of %v", half, got)
			}
		}
	}
}

// TestStandingWindow: what is in flight is bounded by what is delivered in 250 ms, however large W; a young flow and
// a slow one have room all the same.
func TestStandingWindow(t *testing.T) {
	const rtt = 50 * ms
	f := newFlow(0, nil, initialWindow, standing)
	f.ctrl.OnRTT(rtt)
	f.recent.add(rtt)
	if f.inflight = initialWindow - 1; !f.open(rtt + recentSpan) {
		t.Error("a young flow is closed below W")
	}
	now := rtt
	for ; now < 2*sec; now += 5 * ms { // 200 a second: 50 in 250 ms
		f.recent.add(now)
	}
	now -= 5 * ms
	room := func(now machine.Time) (n int) {
		for f.inflight = 0; f.open(now); f.inflight++ {
		}
		return n + f.inflight
	}
	if n := room(now); n < 46 || n > 50 {
		t.Errorf("room for %d at 200 deliveries a second, want 46 to 50", n)
	}
	if n := room(now + sec); n != leastWindow {
		t.Errorf("room for %d after a second of silence, want %d", n, leastWindow)
	}
}
