package endpoint

import (
	"testing"

	"mars/internal/machine"
)

// acked fails unless the Host has sent one acknowledgement, of all before a segment.
func (s *script) acked(what string, before int, sacks ...gap) {
	s.t.Helper()
	if len(s.got) != 1 || s.got[0].ack != int64(1+before*testMSS) {
		s.t.Errorf("%s: got %+v, want one acknowledgement of all before segment %d", what, s.got, before)
	} else {
		same(s.t, what, s.got[0].sacks, sacks)
	}
	s.got = nil
}

// TestDelayedAck: the first segments are acknowledged one by one; then every second at once, and a single one after 40 ms.
func TestDelayedAck(t *testing.T) {
	s := clientScript(t, transport(t, TCP, "reno"))
	n := 0
	for ; n < quickAcks; n++ {
		s.data(n, machine.NotECT, 0)
		s.acked("a quick one", n+1)
	}
	s.data(n, machine.NotECT, 0)
	same(t, "the first of two", s.times(s.now), nil)
	s.data(n+1, machine.NotECT, 0)
	s.acked("the second", n+2)
	s.data(n+2, machine.NotECT, 0)
	s.wait(39 * ms)
	same(t, "a single one, before", s.times(s.now), nil)
	s.wait(ms)
	s.acked("a single one, after", n+3)
}

// TestSelectiveAck: what is early is acknowledged at once, the latest range first; what came twice is told first of all (RFC 2018 §4,
// RFC 2883 §4).
func TestSelectiveAck(t *testing.T) {
	r := func(from, to int) gap { return gap{int64(1 + from*testMSS), int64(1 + to*testMSS)} }
	s := clientScript(t, transport(t, TCP, "reno"))
	for _, c := range []struct {
		segment, before int
		sacks           []gap
	}{
		{0, 1, nil},
		{2, 1, []gap{r(2, 3)}},
		{4, 1, []gap{r(4, 5), r(2, 3)}},
		{6, 1, []gap{r(6, 7), r(4, 5), r(2, 3)}},
		{8, 1, []gap{r(8, 9), r(6, 7), r(4, 5)}}, // no room for a fourth beside timestamps
		{3, 1, []gap{r(2, 5), r(8, 9), r(6, 7)}},
		{3, 1, []gap{r(3, 4), r(2, 5), r(8, 9)}}, // again
		{1, 5, []gap{r(8, 9), r(6, 7)}},
		{0, 5, []gap{r(0, 1), r(8, 9), r(6, 7)}}, // again, of what is in order
		{5, 7, []gap{r(8, 9)}},
		{7, 9, nil},
	} {
		s.data(c.segment, machine.NotECT, 0)
		s.acked("segment", c.before, c.sacks...)
	}
}

// TestEcho: a mark is told with every acknowledgement until the peer says that it knows (RFC 3168 §6.1.3).
func TestEcho(t *testing.T) {
	how := transport(t, TCP, "reno")
	how.ECN = true
	s := clientScript(t, how)
	for n, c := range []struct {
		ecn   machine.ECN
		flags uint8
		tells bool
	}{
		{machine.ECT0, 0, false},
		{machine.CE, 0, true},
		{machine.ECT0, 0, true},
		{machine.ECT0, flagCWR, false},
		{machine.ECT0, 0, false},
		{machine.CE, flagCWR, true},
	} {
		s.data(n, c.ecn, c.flags)
		if tells := s.got[0].flags&flagECE != 0; tells != c.tells {
			t.Errorf("segment %d: told %v, want %v", n, tells, c.tells)
		}
		s.got = nil
	}
}

// TestWrongBytes: a piece that isn't the one it says fails the transfer, and the peer is told.
func TestWrongBytes(t *testing.T) {
	s := clientScript(t, transport(t, TCP, "reno"))
	b := make([]byte, testMSS)
	b[3] = 1
	s.put(segment{flags: flagACK, seq: s.own + 1}, b, machine.NotECT)
	if len(s.got) == 0 || s.got[0].flags&flagRST == 0 {
		t.Errorf("answered by %+v, want a reset", s.got)
	}
	if e := s.h.Events(nil); len(e) != 1 || e[0].Err != ErrContent {
		t.Errorf("told %+v", e)
	}
}
