package cc

import (
	"math"
	"math/rand/v2"
	"testing"

	"mars/internal/machine"
)

// TestControllerEvents drives every controller with random events: whatever comes, windows stay between one segment and 2^24, rates stay
// finite, and congestion never widens a window.
func TestControllerEvents(t *testing.T) {
	for _, a := range Algorithms() {
		t.Run(a.Name, func(t *testing.T) {
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, 7))
				events(t, must(a.Name), func() uint64 { return r.Uint64() }, 800)
			}
		})
	}
}

func FuzzController(f *testing.F) {
	f.Add(uint8(0), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		all := Algorithms()
		i := 0
		events(t, must(all[int(which)%len(all)].Name), func() uint64 {
			if i++; i > len(data) {
				return uint64(i) * 0x9e3779b97f4a7c15
			}
			return uint64(data[i-1]) * 0x0101010101010101
		}, min(len(data), 500))
	})
}

// events applies steps events that draw chooses.
func events(t *testing.T, c Controller, draw func() uint64, steps int) {
	t.Helper()
	now := Time(0)
	for range steps {
		now += Time(draw() % uint64(300*machine.Millisecond))
		s := Subflow(draw()%6) - 1
		before := c.Cwnd(s)
		lower := false
		switch draw() % 12 {
		case 0:
			c.AddSubflow(now)
		case 1:
			if draw()%4 == 0 {
				c.RemoveSubflow(now, s)
			}
		case 2, 3:
			c.OnLoss(now, s, Loss{Bytes: int(draw() % 5000), Sent: now - Time(draw()%1e9), InFlight: int(draw()%1e6) - 10})
			lower = true
		case 4:
			c.OnTimeout(now, s)
			lower = true
		case 5:
			c.OnUndo(now, s)
		default:
			c.OnAck(now, s, Ack{
				Bytes: int(draw()%100000) - 10, Marked: int(draw()%8)*int(draw()%2) - 1, Sent: now - Time(draw()%1e9),
				RTT: Time(draw()%1e9) - 5, Delay: Time(draw()%1e9) - 5e8, InFlight: int(draw() % 1e6), AppLimited: draw()%5 == 0,
				Rate: []float64{0, -1, 1e9, math.NaN(), math.Inf(1), 1e300}[draw()%6],
			})
		}
		if after := c.Cwnd(s); lower && after > before {
			t.Fatalf("congestion widened the window from %d to %d", before, after)
		}
		for i := range Subflow(6) {
			w, p := c.Cwnd(i), c.PacingRate(i)
			if w != 0 && (w < testMSS || w > testMSS<<24) || !(p >= 0) || math.IsInf(p, 0) {
				t.Fatalf("subflow %d: window %d, pacing rate %v", i, w, p)
			}
		}
	}
}

// TestControllerAllocates: only AddSubflow does.
func TestControllerAllocates(t *testing.T) {
	for _, a := range Algorithms() {
		c := must(a.Name)
		c.AddSubflow(0)
		c.AddSubflow(0)
		now := Time(0)
		if n := testing.AllocsPerRun(2000, func() {
			now += 20 * machine.Millisecond
			for s := range Subflow(2) {
				c.OnAck(now, s, Ack{Bytes: testMSS, Sent: now - 50*machine.Millisecond, RTT: 50 * machine.Millisecond})
				c.OnLoss(now, s, Loss{Bytes: testMSS, Sent: now - 50*machine.Millisecond})
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per event", a.Name, n)
		}
	}
}

// TestControllerOnce: losses of one round trip are one event, those of the next another (RFC 6582).
func TestControllerOnce(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "lia", "olia", "balia", "le-mpcubic", "ba-mpcubic"} {
		c := must(name)
		s := c.AddSubflow(0)
		first := c.Cwnd(s)
		c.OnLoss(100, s, Loss{Sent: 50})
		once := c.Cwnd(s)
		c.OnLoss(110, s, Loss{Sent: 60})
		c.OnAck(120, s, Ack{Bytes: testMSS, Marked: testMSS, Sent: 70})
		if once >= first || c.Cwnd(s) != once {
			t.Errorf("%s: windows %d, %d, %d", name, first, once, c.Cwnd(s))
		}
		c.OnAck(200, s, Ack{Bytes: testMSS, Marked: testMSS, Sent: 150})
		if c.Cwnd(s) >= once {
			t.Errorf("%s: a mark of the next round trip left %d", name, c.Cwnd(s))
		}
	}
}

// TestControllerUndo: what a spurious timeout took comes back, and only once.
func TestControllerUndo(t *testing.T) {
	for _, a := range Algorithms() {
		c := must(a.Name)
		s := c.AddSubflow(0)
		first := c.Cwnd(s)
		c.OnTimeout(100, s)
		if c.Cwnd(s) != testMSS {
			t.Errorf("%s: window %d after a timeout", a.Name, c.Cwnd(s))
		}
		c.OnUndo(200, s)
		if c.Cwnd(s) != first {
			t.Errorf("%s: window %d after undo, %d before", a.Name, c.Cwnd(s), first)
		}
		c.OnTimeout(machine.Second, s)
		c.OnTimeout(2*machine.Second, s)
		c.OnUndo(3*machine.Second, s)
		if c.Cwnd(s) != first {
			t.Errorf("%s: window %d after undo of two timeouts, %d before", a.Name, c.Cwnd(s), first)
		}
	}
}

// TestControllerAfterTimeout: the acknowledgement of what was sent again at the timeout itself opens the window (RFC 5681 §3.1).
func TestControllerAfterTimeout(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "lia", "ba-mpcubic"} {
		c := must(name)
		s := c.AddSubflow(0)
		c.OnTimeout(100, s)
		c.OnAck(200, s, Ack{Bytes: testMSS, Sent: 100})
		if c.Cwnd(s) != 2*testMSS {
			t.Errorf("%s: window %d", name, c.Cwnd(s))
		}
		c.OnLoss(210, s, Loss{Bytes: testMSS, Sent: 90}) // of before the timeout: it has been answered
		if c.Cwnd(s) != 2*testMSS {
			t.Errorf("%s: an old loss left %d", name, c.Cwnd(s))
		}
	}
}

// TestControllerAppLimited: a window that isn't used doesn't grow (RFC 9438 §5.8).
func TestControllerAppLimited(t *testing.T) {
	for _, name := range []string{"reno", "cubic", "lia", "u-mpcubic"} {
		c := must(name)
		s := c.AddSubflow(0)
		first := c.Cwnd(s)
		c.OnAck(100, s, Ack{Bytes: testMSS, Sent: 50, AppLimited: true})
		if c.Cwnd(s) != first {
			t.Errorf("%s: the window grew", name)
		}
		c.OnAck(100, s, Ack{Bytes: testMSS, Sent: 50})
		if c.Cwnd(s) != first+testMSS {
			t.Errorf("%s: the window is %d in slow start", name, c.Cwnd(s))
		}
	}
}

// TestInitialWindow is the table of RFC 6928 §2.
func TestInitialWindow(t *testing.T) {
	for mss, want := range map[int]int{1460: 14600, 536: 5360, 4380: 14600, 9000: 18000} {
		a, _ := Lookup("reno")
		c, err := a.New(mss)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Cwnd(c.AddSubflow(0)); got < want-1 || got > want {
			t.Errorf("MSS %d: %d, want %d", mss, got, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	const want = "reno cubic bbr lia olia balia u-mpcubic le-mpcubic coupled-cubic ferlin-mpcubic ba-mpcubic ba-mpcubic-noecn cubic-mpquic olia-mpquic"
	got := ""
	for _, a := range Algorithms() {
		got += " " + a.Name
		if a.Description == "" || a.Source == "" {
			t.Errorf("%s isn't described", a.Name)
		}
		for _, mss := range []int{0, -1, MaxMSS + 1} {
			if _, err := a.New(mss); err == nil {
				t.Errorf("%s takes segments of %d", a.Name, mss)
			}
		}
	}
	if got[1:] != want {
		t.Errorf("got %s", got)
	}
	if _, err := Lookup("vegas"); err == nil {
		t.Error("Lookup finds what there isn't")
	}
	if _, err := (Algorithm{}).New(1500); err == nil {
		t.Error("an empty Algorithm makes a controller")
	}
}
