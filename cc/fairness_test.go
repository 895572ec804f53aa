package cc

import (
	"testing"

	"mars/internal/machine"
)

// TestFairnessOnOneBottleneck: two subflows beside one TCP of the same family take as much as that, and twice as much when uncoupled
// (RFC 6356, goal 2): 10 Mbit/s, 50 ms, a queue of 1.5 bandwidth-delay products that drops at random, so that every packet runs the same
// risk. The algorithms assume that; where a full queue drops from all at once they get less, where it drops what is new, more.
func TestFairnessOnOneBottleneck(t *testing.T) {
	for _, c := range []struct {
		name, tcp  string
		least, top float64
	}{
		{"lia", "reno", 0.8, 1.25},
		{"olia", "reno", 0.8, 1.25},
		{"balia", "reno", 0.8, 1.25},
		{"le-mpcubic", "cubic", 0.8, 1.25},
		{"ba-mpcubic", "cubic", 0.8, 1.25}, // once detected
		{"reno", "reno", 1.6, 2.4},
		{"u-mpcubic", "cubic", 1.6, 2.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ours, theirs float64
			for seed := range uint64(4) {
				l := &testLink{rate: 833, delay: 50 * machine.Millisecond, buffer: 62, early: true}
				w := newWorld(seed, l)
				ctrl := must(c.name)
				if s, ok := ctrl.(sharer); ok {
					s.detect = detected{}
				}
				flows := w.connect(ctrl, l, l)
				tcp := w.connect(must(c.tcp), l)
				w.run(40*machine.Second, 160*machine.Second)
				ours += acked(flows)
				theirs += acked(tcp)
				if used := (acked(flows) + acked(tcp)) / 833 / 160; used < 0.9 {
					t.Errorf("seed %d: only %.2f of the link is used", seed, used)
				}
			}
			t.Logf("%.2f of a TCP's share", ours/theirs)
			if r := ours / theirs; r < c.least || r > c.top {
				t.Errorf("%.2f of a TCP's share, want %.2f to %.2f", r, c.least, c.top)
			}
		})
	}
}

// detected says that all share a bottleneck.
type detected struct{}

func (detected) add(Time, int)             {}
func (detected) remove(int)                {}
func (detected) onAck(Time, int, Ack) bool { return false }
func (detected) onLoss(Time, int, Loss)    {}
func (detected) group(int) int             { return 0 }
func (detected) verdicts() uint64          { return 0 }

// TestHighBDP is the study of Coupled CUBIC as far as this world goes: 200 Mbit/s × 200 ms with losses of 4e-6 beside 20 Mbit/s × 20 ms,
// queues of half and of one bandwidth-delay product. With a tenth of one at the former Coupled CUBIC has 0.77 of the path.
func TestHighBDP(t *testing.T) {
	for _, c := range []struct {
		name       string
		least, top float64
	}{{"coupled-cubic", 0.8, 1}, {"lia", 0, 0.3}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			used := 0.0
			for seed := range uint64(2) {
				high := &testLink{rate: 16667, delay: 200 * machine.Millisecond, buffer: 1667, loss: 4e-6}
				low := &testLink{rate: 1667, delay: 20 * machine.Millisecond, buffer: 33}
				w := newWorld(seed, high, low)
				flows := w.connect(must(c.name), high, low)
				w.run(100*machine.Second, 200*machine.Second)
				used += float64(flows[0].acked) / 16667 / 200 / 2
			}
			t.Logf("%.3f of the high-BDP path", used)
			if used < c.least || used > c.top {
				t.Errorf("%.2f of the high-BDP path is used, want %.2f to %.2f", used, c.least, c.top)
			}
		})
	}
}
