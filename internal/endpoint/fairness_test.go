package endpoint

import (
	"testing"

	"mars/cc"
	"mars/internal/machine"
)

// shared runs two subflows of MPTCP beside one TCP on one bottleneck of 5 Mbit/s and 50 ms with a queue of one bandwidth-delay product.
// It returns the goodput of the former as a part of the latter's, and how much of the link both use. For controllers that
// detect shared bottlenecks the time counts in which they have known for 2 s.
func shared(t *testing.T, control, family string, red float64, seed uint64) (ratio, used, known float64) {
	const rate, warm, steps, step = 416, 20 * machine.Second, 2000, 100 * ms
	var ours, theirs, total int64
	var counted int
	w := newTestWorld(t, seed)
	l := &testPath{rate: rate, delay: 25 * ms, queue: 21, red: red}
	a := w.fetch(transport(t, MPTCP, control), 1<<40, l, l)
	w.run(machine.Time(w.random.Int64N(int64(machine.Second))))
	b := w.fetch(transport(t, TCP, family), 1<<40, l)
	w.run(warm)
	detector, _ := a.hosts[down].served[0].conn.(*conn).ctrl.(cc.Sharer)
	since := 0
	for range steps {
		x, y := a.got, b.got
		w.run(w.now + step)
		total += a.got - x + b.got - y
		if since++; detector != nil && !detector.Shared(0, 1) {
			since = 0
		}
		if detector == nil || since > 20 {
			ours, theirs = ours+a.got-x, theirs+b.got-y
			counted++
		}
	}
	time := steps * step.Seconds()
	return float64(ours) / float64(theirs), float64(total) / testMSS / rate / time, float64(counted) / steps
}

// TestFairness: on a bottleneck that all share two coupled subflows take about what one TCP of their family does, and twice as much when
// uncoupled (RFC 6356, goal 2), with a queue that drops at random, so that every packet runs the same risk as the theory has it,
// and with one that drops at its end. docs/endpoints.md has means of longer runs.
func TestFairness(t *testing.T) {
	for _, c := range []struct {
		name, family string
		least, top   float64
	}{
		{"lia", "reno", 0.8, 1.25},
		{"olia", "reno", 0.8, 1.25},
		{"balia", "reno", 0.8, 1.25},
		{"le-mpcubic", "cubic", 0.8, 1.25},
		{"ba-mpcubic", "cubic", 0.8, 1.25}, // once detected
		{"reno", "reno", 1.6, 2.4},
		{"u-mpcubic", "cubic", 1.6, 2.4},
	} {
		for _, queue := range []struct {
			name string
			red  float64
		}{{"random", 0.05}, {"drop-tail", 0}} {
			t.Run(c.name+"/"+queue.name, func(t *testing.T) {
				t.Parallel()
				ratio, used, known := shared(t, c.name, c.family, queue.red, 1)
				t.Logf("%.2f of a TCP's share; %.2f of the link is used, %.2f of the time counts", ratio, used, known)
				if ratio < c.least || ratio > c.top {
					t.Errorf("%.2f of a TCP's share, want %.2f to %.2f", ratio, c.least, c.top)
				}
				if used < 0.95 || known < 0.2 {
					t.Errorf("%.2f of the link is used, %.2f of the time counts", used, known)
				}
			})
		}
	}
}
