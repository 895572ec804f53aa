package endpoint

import (
	"slices"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// TestInNumbers: each packet counts once, and the ranges are those of what has come, the latest ones if there are too many.
func TestInNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := newInNumbers()
		come := map[int64]bool{}
		for range 300 {
			n := rapid.Int64Range(0, 400).Draw(t, "n")
			if rapid.IntRange(0, 50).Draw(t, "forget") == 0 && in.largest >= 0 {
				in.forget(rapid.Int64Range(0, in.largest).Draw(t, "before"))
			}
			floor := in.floor
			fresh := in.add(0, n)
			if fresh && (come[n] || n < floor) {
				t.Fatalf("%d came twice", n)
			}
			if !fresh && !come[n] && n >= floor {
				t.Fatalf("%d hasn't come before", n)
			}
			come[n] = come[n] || fresh
			last := int64(-1)
			for _, g := range in.got {
				if g.from <= last || g.from >= g.to {
					t.Fatalf("ranges %v", in.got)
				}
				for k := g.from; k < g.to; k++ {
					if !come[k] {
						t.Fatalf("%d is told: %v", k, in.got)
					}
				}
				if come[g.to] || g.from > in.floor && come[g.from-1] {
					t.Fatalf("ranges %v leave out a neighbour", in.got)
				}
				last = g.to
			}
			if len(in.got) > mostAckRanges || last-1 != in.largest {
				t.Fatalf("%d ranges to %d, largest %d", len(in.got), last, in.largest)
			}
		}
	})
}

// TestAckPolicy: every second packet is acknowledged at once, a single one after 25 ms, one out of order or with a mark at once (RFC 9000
// §13.2.1).
func TestAckPolicy(t *testing.T) {
	in := newInNumbers()
	come := func(n int64, ce bool) bool {
		in.add(quicMS, n)
		in.want(quicMS, n, ce)
		return in.now
	}
	if come(0, false) || in.at != quicMS+quicAckDelay {
		t.Errorf("the first: at once %v, at %d", in.now, in.at)
	}
	if !come(1, false) {
		t.Error("the second waits")
	}
	in.told()
	if in.now || in.at != machine.Never {
		t.Error("told and due again")
	}
	if !come(3, false) {
		t.Error("one after a hole waits")
	}
	in.told()
	if come(4, false) {
		t.Error("one in order is told at once, as there is a hole before")
	}
	if in.told(); !come(2, false) {
		t.Error("one that fills a hole waits")
	}
	if in.told(); !come(5, true) {
		t.Error("a mark waits")
	}
	if !slices.Equal(in.got, []gap{{0, 6}}) {
		t.Error(in.got)
	}
}

// TestQUICAckRatio: a client acknowledges every second packet, and ranges that the server knows are not told for ever.
func TestQUICAckRatio(t *testing.T) {
	fast := &quicLink{rate: 2e6, delay: 5 * quicMS, queue: 20 * quicMS} // MAX_DATA go by it, whose packets ask for answers
	l := &quicLink{rate: 2e6, delay: 60 * quicMS, drop: lossy(1, 0.01), queue: 100 * quicMS}
	w := newQUICWorld(t, 1, quicHow(t, "bbr"), 6_000_000, fast, l).run(30 * machine.Second)
	w.whole()
	if ratio := float64(l.sent[toClient]) / float64(l.sent[toServer]); ratio < 1.7 || ratio > 2.6 {
		t.Errorf("%.2f packets per acknowledgement", ratio) // two, and those that the queue drops
	}
	if n := len(w.client().all[1].in.got); n > 12 {
		t.Errorf("%d ranges at the end", n)
	}
	if size := l.bytes[toServer] / int64(l.sent[toServer]); size > 75 {
		t.Errorf("acknowledgements of %d bytes", size)
	}
}
