package endpoint

import (
	"testing"

	"mars/internal/machine"
)

// TestCongestionEcho: however many acknowledgements tell of marks, the window falls once per round trip, and the next new segment
// says that it has (RFC 3168 §6.1.2).
func TestCongestionEcho(t *testing.T) {
	how := transport(t, TCP, "reno")
	how.ECN = true
	s := serverScript(t, how, 100, 1<<20)
	if s.got[0].ecn != machine.ECT0 {
		t.Fatalf("data go with codepoint %d", s.got[0].ecn)
	}
	window := func() int { return s.h.Served(7).PerPath[0].Window / testMSS }
	echo := func(before int) {
		s.ack = int64(1 + before*testMSS)
		s.put(segment{flags: flagACK | flagECE, seq: s.own + uint32(s.seq)}, nil, machine.NotECT)
	}
	s.sent()
	s.wait(100 * ms)
	for n := 1; n <= 5; n++ {
		if echo(n); window() != 5 {
			t.Fatalf("after %d echoes the window is %d", n, window())
		}
	}
	same(t, "what is under way fills it", s.sent(), nil)
	s.wait(ms)
	echo(6)
	if len(s.got) != 1 || s.got[0].flags&flagCWR == 0 {
		t.Fatalf("got %+v, want a segment that tells of the reaction", s.got)
	}
	same(t, "new", s.sent(), []int{10})
	s.acks(8)
	for _, k := range s.got {
		if k.flags&flagCWR != 0 {
			t.Error("the reaction is told twice")
		}
	}
	same(t, "new", s.sent(), []int{11, 12})
	s.wait(100 * ms)
	echo(11)
	if window() != 2 {
		t.Errorf("a round trip later the window is %d", window())
	}
}

// TestResendsWhatIsLost: over one path with losses of every kind no more is sent again than was lost, but for the probes of tails.
func TestResendsWhatIsLost(t *testing.T) {
	for _, c := range []struct {
		name  string
		drop  func(w *testWorld) func(int, int, *segment) bool
		queue int
		spare int64
	}{
		{"one", func(*testWorld) func(int, int, *segment) bool { return nth(down, 300) }, 0, 0},
		{"a burst", func(*testWorld) func(int, int, *segment) bool {
			return nth(down, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309)
		}, 0, 0},
		{"the last", func(*testWorld) func(int, int, *segment) bool { return nth(down, 691) }, 0, 1},
		{"some, and again", func(*testWorld) func(int, int, *segment) bool {
			seen := make(map[uint32]int)
			return func(dir, n int, g *segment) bool {
				if dir == up || (n > 600 || n%40 != 5) && seen[g.seq] == 0 {
					return false
				}
				seen[g.seq]++
				return seen[g.seq] <= 2 // the repetition too
			}
		}, 0, 3},
		{"slow start's overshoot", func(*testWorld) func(int, int, *segment) bool { return nil }, 30, 1},
		{"at random", func(w *testWorld) func(int, int, *segment) bool {
			return func(int, int, *segment) bool { return w.random.Float64() < 0.02 }
		}, 0, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, control := range []string{"reno", "cubic"} {
				w := newTestWorld(t, 3)
				l := &testPath{rate: 1000, delay: 25 * ms, drop: c.drop(w), queue: c.queue}
				p := w.fetch(transport(t, TCP, control), 1_000_000, l)
				w.run(60_000 * ms)
				p.whole(t)
				s := p.served()
				if s.Resent < int64(l.lost[down]) || s.Resent > int64(l.lost[down])+c.spare {
					t.Errorf("%s: %d lost, %d sent again (%d timeouts)", control, l.lost[down], s.Resent, s.Timeouts)
				}
				if s.Timeouts > 0 && c.name != "at random" {
					t.Errorf("%s: %d timeouts", control, s.Timeouts)
				}
			}
		})
	}
}
