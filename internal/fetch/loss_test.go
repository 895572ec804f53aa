package fetch

import (
	"testing"

	"mars/internal/machine"
)

// inFlight is a flow with n Interests in flight, one sent every millisecond from 0 on.
func inFlight(n int) (*flow, []*pending) {
	f := newFlow(0, nil, initialWindow, standing)
	var list []*pending
	for i := range n {
		p := &pending{item: item{chunk, int64(i)}}
		f.link(machine.Time(i)*ms, p)
		list = append(list, p)
	}
	return f, list
}

// answered is what onData and release do with an Interest, without the rate.
func (f *flow) answered(p *pending) {
	f.returned(p)
	f.unlink(p)
}

// TestFastRetransmit: lost is what is unresolved for 350 ms while eight later Data have come (MARS paper §III-E), to
// the nanosecond and to the packet.
func TestFastRetransmit(t *testing.T) {
	for _, c := range []struct {
		say   string
		later int // of the later ones answered
		at    machine.Time
		lost  bool
	}{
		{"eight later, 350 ms", 8, 350 * ms, true},
		{"eight later, 1 ns too early", 8, 350*ms - 1, false},
		{"seven later, 350 ms", 7, 350 * ms, false},
		{"seven later, before the timeout", 7, defaultRTO - 1, false},
		{"seven later, the timeout", 7, defaultRTO, true},
		{"none later, the timeout", 0, defaultRTO, true},
	} {
		t.Run(c.say, func(t *testing.T) {
			f, list := inFlight(9)
			for _, p := range list[1 : 1+c.later] {
				f.answered(p)
			}
			f.detect(c.at)
			if list[0].lost != c.lost {
				t.Errorf("lost: %v", list[0].lost)
			}
			if !c.lost && f.detectAt() <= c.at {
				t.Errorf("looks again at %v, not later than %v", f.detectAt(), c.at)
			}
		})
	}
}

// TestDetectAt: the next look is when the first loss is due, not before and not after.
func TestDetectAt(t *testing.T) {
	f, list := inFlight(20)
	if f.detectAt() != defaultRTO {
		t.Errorf("timeout of the first: %v", f.detectAt())
	}
	for _, p := range list[5:13] {
		f.answered(p)
	}
	if f.detectAt() != fastAge {
		t.Errorf("fast retransmit of the first: %v", f.detectAt())
	}
	f.detect(fastAge + 2*ms)
	if f.inflight != 9 || len(f.lost.heap) != 3 || f.detectAt() != fastAge+3*ms {
		t.Errorf("%d in flight, %d lost, next at %v", f.inflight, len(f.lost.heap), f.detectAt())
	}
	f.detect(fastAge + 4*ms) // those up to list[4] were overtaken
	if len(f.lost.heap) != 5 || f.detectAt() != defaultRTO+13*ms {
		t.Errorf("%d lost, next at %v", len(f.lost.heap), f.detectAt())
	}
	for range 20 {
		f.detect(machine.Never - 1)
	}
	if f.detectAt() != machine.Never {
		t.Error("nothing is in flight, and something is due")
	}
}

// TestAnswerToEarlierTransmission: the answer to an Interest sent again may be to its first transmission, so it tells
// nothing about those sent in between.
func TestAnswerToEarlierTransmission(t *testing.T) {
	f, list := inFlight(20)
	for _, p := range list[:8] {
		f.lose(p, 0)
	}
	for _, p := range list[:8] { // sent again after the others
		f.lost.remove(p)
		f.link(30*ms, p)
	}
	for _, p := range list[:8] {
		f.answered(p)
	}
	f.detect(fastAge + 20*ms)
	if len(f.lost.heap) != 0 {
		t.Errorf("%d count as lost", len(f.lost.heap))
	}
}

// TestLoseTwice: a Nack for what is lost already changes nothing.
func TestLoseTwice(t *testing.T) {
	f, list := inFlight(2)
	f.lose(list[0], 5*ms)
	f.lose(list[0], 9*ms)
	if f.inflight != 1 || f.lost.at() != 5*ms {
		t.Errorf("%d in flight, the lost one at %v", f.inflight, f.lost.at())
	}
}
