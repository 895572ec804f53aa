package endpoint

import (
	"testing"

	"mars/internal/machine"
)

// TestReceiveWindow: never more is under way than the peer's window, which moves on as it acknowledges.
func TestReceiveWindow(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 20, 6*testMSS&^255)
	same(t, "first", s.sent(), []int{0, 1, 2, 3, 4}) // the window lacks some bytes of six
	s.wait(100 * ms)
	s.wnd = 1
	s.acks(3)
	same(t, "closing", s.sent(), nil)
	s.wnd = uint16(4*testMSS>>windowScale + 1)
	s.acks(5)
	same(t, "open", s.sent(), []int{5, 6, 7, 8})
}

// TestPersist: a closed window is asked for, ever less often, with segments without data, for as long as it takes; when it opens all
// goes on at once (RFC 9293 §3.8.6.1).
func TestPersist(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 8, 4*testMSS)
	same(t, "first", s.sent(), []int{0, 1, 2, 3})
	s.wait(100 * ms)
	s.wnd = 0
	s.acks(4)
	begin := s.now
	for range 25 {
		n := len(s.got)
		for len(s.got) == n {
			s.wait(100 * ms)
		}
		if k := s.got[n]; k.from != k.to || k.from != int64(4*testMSS) {
			t.Fatalf("asked by %+v", k)
		}
		s.acks(4)
	}
	at := s.times(begin)
	same(t, "the first questions", at[:4], []int{300, 900, 2100, 4500})
	if last := at[24] - at[23]; last != 120_000 {
		t.Errorf("the last two are %d ms apart", last)
	}
	s.wnd = 1 << 8
	s.acks(4)
	same(t, "open", s.sent(), []int{4, 5, 6, 7})
	s.wait(100 * ms)
	s.acks(8)
	if s.wait(3600 * machine.Second); len(s.got) > 0 {
		t.Errorf("in the end: %+v", s.got)
	}
}

// TestSillyWindow: a window smaller than a segment is used when nothing else happens (RFC 9293 §3.8.6.2.1).
func TestSillyWindow(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 8, 512)
	same(t, "at once", s.sent(), nil)
	s.wait(301 * ms)
	if len(s.got) != 1 || s.got[0].to-s.got[0].from != 512 {
		t.Fatalf("got %+v", s.got)
	}
}

// TestAsked: a receiver answers a question at once.
func TestAsked(t *testing.T) {
	s := serverScript(t, transport(t, TCP, "reno"), 1, 1<<20)
	s.wait(20 * ms)
	s.got = nil
	s.put(segment{flags: flagACK, seq: s.own + uint32(s.seq) - 1}, nil, machine.NotECT)
	if len(s.got) != 1 || s.got[0].ack != s.seq || s.got[0].from != s.got[0].to {
		t.Errorf("answered by %+v", s.got)
	}
}
