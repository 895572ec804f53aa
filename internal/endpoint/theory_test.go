package endpoint

import (
	"math"
	"testing"

	"mars/internal/machine"
)

// measured is the throughput of one TCP, segments per second, over a path that loses a fraction p of the data, every 1/p-th or at
// random, between some losses and some more. An early loss ends slow start.
func measured(t *testing.T, control string, rtt machine.Time, p float64, random bool, losses int) float64 {
	w := newTestWorld(t, 11)
	how := transport(t, TCP, control)
	how.Buffer = 1 << 24
	l := &testPath{delay: rtt / 2}
	period := int(1 / p)
	l.drop = func(dir, n int, _ *segment) bool {
		return dir == down && (n == 500 || random && w.random.Float64() < p || !random && n%period == period-1)
	}
	f := w.fetch(how, 1<<40, l)
	until := func(lost int) (at machine.Time, bytes int64) {
		for l.lost[down] < lost {
			w.run(w.now + rtt)
		}
		return w.now, f.got
	}
	t0, n0 := until(losses / 3)
	t1, n1 := until(losses)
	if s := f.served(); s.Resent > s.Lost || s.Timeouts > s.Lost/20 {
		t.Errorf("p = %g: %+v", p, s)
	}
	return float64(n1-n0) / testMSS / (t1 - t0).Seconds()
}

// pftk is the throughput of Reno in segments per second (Padhye et al., SIGCOMM 1998, eq. 30), for growth by one segment per round trip.
func pftk(rtt, rto, p float64) float64 {
	return 1 / (rtt*math.Sqrt(2*p/3) + rto*min(1, 3*math.Sqrt(3*p/8))*p*(1+32*p*p))
}

// TestRenoThroughput: Reno gets what theory gives it at 0.1% to 2% random losses, within 15%.
func TestRenoThroughput(t *testing.T) {
	t.Parallel()
	const rtt, rto = 0.1, 0.3
	for _, p := range []float64{0.001, 0.002, 0.005, 0.01, 0.02} {
		got := measured(t, "reno", 100*ms, p, true, int(min(max(100_000*p, 120), 500)))
		mathis := math.Sqrt(1.5/p) / rtt
		t.Logf("p = %g: %.2f of Mathis et al., %.2f of Padhye et al.", p, got/mathis, got/pftk(rtt, rto, p))
		if r := got / pftk(rtt, rto, p); r < 0.85 || r > 1.15 {
			t.Errorf("p = %g: %.2f of what Padhye et al. give", p, r)
		}
		if r := got / mathis; p <= 0.01 && (r < 0.85 || r > 1.15) {
			t.Errorf("p = %g: %.2f of what Mathis et al. give", p, r)
		}
	}
}

// TestCubicThroughput: CUBIC gets what RFC 9438 §5.1 gives it for losses at even distances, where that is more than Reno, and
// no less than Reno elsewhere (§4.3).
func TestCubicThroughput(t *testing.T) {
	t.Parallel()
	const rtt = 0.1
	for _, p := range []float64{1e-4, 3e-4, 1e-3, 1e-2} {
		got := measured(t, "cubic", 100*ms, p, false, 36)
		cubic := 1.054 * math.Pow(rtt/p, 0.75) / rtt // eq. 6
		reno := pftk(rtt, 0.3, p)
		t.Logf("p = %g: %.2f of RFC 9438, %.2f of Reno", p, got/cubic, got/reno)
		if r := got / max(cubic, reno); r < 0.85 || r > 1.15 {
			t.Errorf("p = %g: %.2f of the greater of CUBIC's formula, %.0f/s, and Reno's, %.0f/s", p, r, cubic, reno)
		}
	}
}
