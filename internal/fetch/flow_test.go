package fetch

import (
	"fmt"
	"testing"

	"mars/internal/machine"
	"mars/internal/wire"
)

// TestWindow: returned Data frees a slot and increases W by 1/W (MARS paper §III-E), up to the bound.
func TestWindow(t *testing.T) {
	f, list := inFlight(initialWindow)
	if f.open(sec) {
		t.Error("a full window is open")
	}
	want := float64(initialWindow)
	for _, p := range list {
		f.onData(sec, p, 8000, nil)
		f.unlink(p)
		if want += 1 / want; f.window != want {
			t.Fatalf("W = %v, want %v", f.window, want)
		}
		if !f.open(sec) {
			t.Fatal("closed after an answer")
		}
	}
	f.window = maxWindow
	f.onData(sec, list[0], 8000, nil)
	if f.window != maxWindow {
		t.Errorf("W = %v beyond its bound", f.window)
	}
}

// TestKarn: of an Interest sent twice nobody knows which one was answered.
func TestKarn(t *testing.T) {
	f, list := inFlight(2)
	f.lose(list[0], 0)
	f.lost.remove(list[0])
	f.link(100*ms, list[0])
	f.onData(109*ms, list[1], 8000, nil)
	f.onData(110*ms, list[0], 8000, nil)
	if f.rtt.n != 1 || f.rtt.mean() != 108*ms || f.ctrl.BaseRTT() != 108*ms {
		t.Errorf("%d samples, RTT %v, RTT_base %v", f.rtt.n, f.rtt.mean(), f.ctrl.BaseRTT())
	}
}

// TestLongRoundTrip: a round trip longer than the timeout before the first sample is found out all the same.
func TestLongRoundTrip(t *testing.T) {
	o := newObject("/s/a", 400*8000, 0, 1)
	w := newWorld(t, Config{}, o)
	w.delay = 800 * ms
	w.start(o, Request{})
	w.succeed()
	again := 0
	for i := range 400 {
		again += w.sent[fmt.Sprintf("a/%d", i)] - 1
	}
	if again > 0 {
		t.Errorf("%d chunks were asked for again on a perfect network", again)
	}
}

// TestFeedbackOfConsumers: the occupancy is items over capacity of the Interest queue, and the Data queue doesn't count
// (MARS paper §III-C).
func TestFeedbackOfConsumers(t *testing.T) {
	for _, c := range []struct {
		fb   *wire.Feedback
		want float64 // factor on the rate
	}{
		{nil, 1.05},
		{&wire.Feedback{InterestItems: 90, InterestCapacity: 100}, 0.95},
		{&wire.Feedback{InterestItems: 60, InterestCapacity: 100}, 1},
		{&wire.Feedback{InterestItems: 4_000_000_000, InterestCapacity: 100}, 0.95},
		{&wire.Feedback{InterestItems: 100, DataItems: 90, DataCapacity: 100}, 1.05},
	} {
		f, list := inFlight(1)
		f.onData(20*ms, list[0], 8000, c.fb)
		f.ctrl.Advance(20 * ms)
		if want := float64(initialRate * c.want); f.ctrl.Rate() != want {
			t.Errorf("%+v: R = %v, want %v", c.fb, f.ctrl.Rate(), want)
		}
	}
}

// TestPacing: Interests leave at R, counted in the bytes of Data that they ask for, and an idle flow saves up 10 ms.
func TestPacing(t *testing.T) {
	const size = 8000
	for _, c := range []struct {
		say  string
		idle machine.Time
		want int // Interests in the 100 ms after it
	}{
		{"from the beginning, with one chunk of credit", 0, 64}, // 8000 + 500,000 bytes, begun
		{"after a pause of 1 ms", ms, 65},                       // 13,000 + 500,000
		{"after a pause of 10 ms", 10 * ms, 69},                 // 50,000 + 500,000
		{"after a pause of an hour: no more than that", 3600 * sec, 69},
	} {
		t.Run(c.say, func(t *testing.T) {
			f := newFlow(0, nil, initialWindow, standing)
			now, n := c.idle, 0
			for end := now + 100*ms; now <= end; {
				ok, later := f.affords(now)
				if !ok {
					if later <= now {
						t.Fatalf("at %v: try again at %v", now, later)
					}
					now = later
					continue
				}
				f.tokens -= size
				n++
			}
			if n != c.want {
				t.Errorf("%d Interests, want %d", n, c.want)
			}
		})
	}
}

// TestFlowsAreForgotten: what a flow has learned serves the next transfer, for a minute, and of 64 producers.
func TestFlowsAreForgotten(t *testing.T) {
	s := flows{byDest: make(map[string]*flow)}
	dest := func(i int) wire.Name { return wire.MustParseName(fmt.Sprintf("/site%d", i)) }
	f := s.join(0, dest(0))
	if s.join(0, dest(0)) != f || f.transfers != 2 {
		t.Error("two transfers don't share the flow")
	}
	s.leave(sec, f)
	s.leave(sec, f)
	if s.join(sec+flowMemory, dest(0)) != f || len(s.idle) != 0 {
		t.Error("forgotten within a minute")
	}
	s.leave(2*sec, f)
	if g := s.join(3*sec+flowMemory, dest(0)); g == f || g.transfers != 1 || len(s.idle) != 0 {
		t.Error("remembered after more than a minute")
	}
	for i := range 10 * maxIdle {
		s.leave(sec, s.join(sec, dest(i+1)))
	}
	if len(s.idle) != maxIdle || len(s.byDest) != maxIdle+1 {
		t.Errorf("%d idle flows, %d in all", len(s.idle), len(s.byDest))
	}
}

// TestFlowsTakeTurns: of two producers' flows neither waits for the other.
func TestFlowsTakeTurns(t *testing.T) {
	a, b := newObject("/s/a", 4_000_000, 0, 1), newObject("/r/b", 4_000_000, 0, 2)
	w := newWorld(t, Config{}, a, b)
	w.p.feedback = &wire.Feedback{InterestItems: 60, InterestCapacity: 100} // hold the rates
	x, y := w.start(a, Request{}), w.start(b, Request{})
	w.until(500 * ms)
	p, q := w.e.Stats(x).Bytes, w.e.Stats(y).Bytes
	if p == 0 || max(p, q)-min(p, q) > 16_000 {
		t.Errorf("%d and %d bytes", p, q)
	}
}

// TestFlowsAlternate: of flows that may all send, the one that has waited longest does.
func TestFlowsAlternate(t *testing.T) {
	w := newWorld(t, Config{})
	w.settle = sec // nothing is asked for but what credit and window allow at once
	for i := range 3 {
		o := newObject(fmt.Sprintf("/s%d/o", i), 800_000, 0, uint64(i))
		w.p.objects = append(w.p.objects, o)
		w.e.Start(0, Request{Name: o.name})
	}
	for id := range ID(3) {
		w.apps[id+1] = &app{o: w.p.objects[id]}
	}
	w.drain()
	w.until(30 * ms)
	for id := range ID(3) {
		w.apps[id+1].claimed = nil
	}
	w.order = nil
	w.step() // the top lists come, all at once
	for w.now < 40*ms {
		w.step()
	}
	if len(w.order) < 12 {
		t.Fatalf("only %v", w.order)
	}
	for i, label := range w.order[:12] {
		if want := []string{"o/leaf0", "o/0", "o/1", "o/2"}[i/3]; label != want {
			t.Errorf("not in turn: %v", w.order[:12])
			break
		}
	}
}

// TestTransfersShareAFlow: of several transfers in one flow each gets the same, whenever it begins.
func TestTransfersShareAFlow(t *testing.T) {
	var objects []*object
	for i := range 5 {
		objects = append(objects, newObject(fmt.Sprintf("/s/o%d", i), 1_200_000, 0, uint64(i)))
	}
	w := newWorld(t, Config{}, objects...)
	w.p.feedback = &wire.Feedback{InterestItems: 60, InterestCapacity: 100} // hold the rate
	var ids []ID
	for _, o := range objects {
		ids = append(ids, w.start(o, Request{}))
		w.until(w.now + 50*ms)
	}
	w.until(w.now + 100*ms)
	var before [5]int64
	for i, id := range ids {
		before[i] = w.e.Stats(id).Bytes
	}
	w.until(w.now + 500*ms)
	least, most := int64(1<<62), int64(0)
	for i, id := range ids {
		got := w.e.Stats(id).Bytes - before[i]
		least, most = min(least, got), max(most, got)
	}
	if least < 450_000 || most-least > 16_000 {
		t.Errorf("between %d and %d bytes", least, most)
	}
	if len(w.e.flows.byDest) != 1 {
		t.Errorf("%d flows", len(w.e.flows.byDest))
	}
}
