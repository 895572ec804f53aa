package endpoint

import (
	"slices"
	"testing"

	"mars/internal/machine"
)

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestFastRetransmit: a segment is sent again once three later ones have come, and only it (RFC 8985 §6.2, RFC 6675).
func TestFastRetransmit(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	same(t, "first window", s.sent(), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	s.wait(100 * ms)
	s.acks(2)
	s.acks(2, [2]int{3, 4})
	s.acks(2, [2]int{3, 5})
	same(t, "after two", s.sent(), nil)
	s.acks(2, [2]int{3, 6})
	same(t, "after three", s.sent(), []int{2})
	s.acks(2, [2]int{3, 10})
	same(t, "afterwards", s.sent(), nil)
	s.wait(90 * ms)
	s.acks(10)
	s.wait(2000 * ms)
	same(t, "in the end", s.sent(), nil)
}

// TestBurstLoss: all of a burst are sent again within the window, none that came.
func TestBurstLoss(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	s.sent()
	s.wait(100 * ms)
	s.acks(1)
	s.acks(1, [2]int{5, 8})
	got := s.sent()
	s.acks(1, [2]int{5, 10})
	got = append(got, s.sent()...)
	same(t, "resent", got, []int{1, 2, 3, 4})
}

// TestReordering: one segment that is a quarter of the least round-trip time late isn't lost (RFC 8985 §6.2 step 4); later it is.
func TestReordering(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	s.sent()
	s.wait(100 * ms)
	s.acks(1, [2]int{2, 4})
	s.wait(24 * ms)
	same(t, "before", s.sent(), nil)
	s.acks(4)
	s.acks(4, [2]int{5, 7})
	s.wait(24 * ms)
	same(t, "before", s.sent(), nil)
	s.wait(2 * ms)
	same(t, "after", s.sent(), []int{4})
}

// TestReorderedFlow: a path that delays some packets by less than a quarter of its round trip costs a transfer next to nothing.
func TestReorderedFlow(t *testing.T) {
	w := newTestWorld(t, 1)
	p := w.fetch(transport(t, TCP, "reno"), 3_000_000, &testPath{rate: 2000, delay: 20 * ms, late: func(dir, n int) machine.Time {
		if dir == down && n%50 == 7 {
			return 6 * ms
		}
		return 0
	}})
	w.run(60_000 * ms)
	p.whole(t)
	if s := p.served(); s.Resent > 5 {
		t.Errorf("%d of %d segments were sent again", s.Resent, s.Segments)
	}
}

// TestTailLossProbe: when a flight's end is lost, a probe goes out after two round trips, and its acknowledgement shows the rest
// (RFC 8985 §7).
func TestTailLossProbe(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	begin := s.now
	s.sent()
	s.wait(100 * ms)
	s.acks(6)
	s.wait(199 * ms)
	same(t, "before", s.sent(), nil)
	s.wait(2 * ms)
	if at := s.got[0].at - begin; at != 300*ms {
		t.Errorf("the probe went after %v", at)
	}
	same(t, "the probe", s.sent(), []int{9})
	s.wait(99 * ms)
	s.acks(6, [2]int{9, 10})
	s.wait(26 * ms)
	same(t, "repair", s.sent(), []int{6, 7}) // half of what was in flight
	s.wait(100 * ms)
	s.acks(7, [2]int{9, 10})
	same(t, "repair", s.sent(), []int{8})
}

// TestProbeSendsNew: a probe carries new data where there are some that the window doesn't let out (RFC 8985 §7.3).
func TestProbeSendsNew(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 20, 1<<20)
	s.sent()
	s.wait(201 * ms)
	same(t, "the probe", s.sent(), []int{10})
}

// TestTimeout: without any answer a probe is followed by timeouts that double up to two minutes (RFC 6298 §5.5), each with one
// segment, until the connection fails.
func TestTimeout(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	begin := s.now
	s.got = nil
	s.wait(3600 * machine.Second)
	var last int
	var gaps []int
	for i, at := range s.times(begin) {
		if i > 0 {
			gaps = append(gaps, at-last)
		} else if at != 200 {
			t.Errorf("the probe went after %d ms", at)
		}
		last = at
	}
	// RTO = 100 + max(4·50, 200) ms
	want := []int{300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 76800}
	for len(want) < rtoTries {
		want = append(want, 120_000)
	}
	same(t, "between them, ms", gaps, want)
	if d := s.h.Deadline(); d != machine.Never {
		t.Errorf("a failed connection is due at %v", d)
	}
}

// TestDilation: in a world that runs slower than the kernel its own times are shorter: a probe of a single segment allows for a delayed
// acknowledgement of 200 ms, or of a quarter of that.
func TestDilation(t *testing.T) {
	for _, c := range []struct {
		dilation float64
		want     int
	}{{0, 300}, {4, 250}} { // the timeout of TestTimeout comes before 2·100 + 200 ms
		how := transport(t, TCP, "reno")
		how.Dilation = c.dilation
		s := serverScript(t, how, 1, 1<<20)
		begin := s.now
		s.got = nil
		s.wait(400 * ms)
		if at := s.times(begin); len(at) == 0 || at[0] != c.want {
			t.Errorf("dilation %g: probes at %v ms, want %d", c.dilation, at, c.want)
		}
	}
}

// TestTimeoutRecovers: after a timeout the window grows from one segment, and what had come isn't sent again.
func TestTimeoutRecovers(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 10, 1<<20)
	s.sent()
	s.wait(100 * ms)
	s.acks(0, [2]int{4, 6}) // and nothing more: reordering, then recovery whose segments are lost too
	s.wait(2000 * ms)
	s.sent()
	s.acks(1, [2]int{4, 6})
	for _, n := range s.sent() {
		if n == 4 || n == 5 {
			t.Errorf("segment %d had come", n)
		}
	}
}

// TestSpuriousTimeout: acknowledgements that were only late show by their timestamps that the timeout was for nothing, and it is
// taken back (Eifel, RFC 3522).
func TestSpuriousTimeout(t *testing.T) {
	w := newTestWorld(t, 1)
	l := &testPath{rate: 2000, delay: 20 * ms, queue: 100}
	l.stall = func(at machine.Time) machine.Time {
		if at > 1000*ms && at < 1500*ms { // all comes when it is over
			return 1500 * ms
		}
		return at
	}
	p := w.fetch(transport(t, TCP, "reno"), 6_000_000, l)
	w.run(60_000 * ms)
	p.whole(t)
	if s := p.served(); s.Timeouts == 0 || s.Spurious == 0 || s.Resent > int64(l.lost[down])+5 {
		t.Errorf("%d timeouts, %d taken back, %d sent again, %d lost", s.Timeouts, s.Spurious, s.Resent, l.lost[down])
	}
}
