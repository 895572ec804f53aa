package foreign

import (
	"testing"

	"mars/internal/machine"
)

func TestTimeout(t *testing.T) { // RFC 6298 §2
	const ms = machine.Millisecond
	var r rtt
	for i, c := range []struct{ sample, want machine.Time }{
		{0, machine.Second}, // (2.1), before there is one
		{100 * ms, 300 * ms},
		{100 * ms, 250 * ms},
		{180 * ms, 110*ms + 4*(48_125*machine.Microsecond)},
	} {
		if c.sample > 0 {
			r.add(c.sample)
		}
		if got := r.timeout(); got != c.want {
			t.Fatalf("sample %d: %v ns, want %v", i, got, c.want)
		}
	}
	for range 100 {
		r.add(ms)
	}
	if got := r.timeout(); got != minRTO {
		t.Fatalf("%v ns, want the least", got)
	}
	r.backoff = 1
	if got := r.timeout(); got != 2*minRTO {
		t.Fatalf("%v ns after one doubling", got)
	}
	r.backoff = 70
	if got := r.timeout(); got != maxRTO {
		t.Fatalf("%v ns, want the most", got)
	}
	if r.add(ms); r.backoff != 0 {
		t.Fatal("the backoff outlives an answer")
	}
}
