package endpoint

import (
	"encoding/binary"
	"testing"

	"mars/internal/machine"
)

// script plays the peer of one Host by hand: what a test says is what comes, and all that the Host sends is kept.
type script struct {
	t     *testing.T
	h     *Host
	now   machine.Time
	seq   int64 // of the peer's next byte
	own   uint32
	peer  uint32 // the Host's initial sequence number
	ack   int64  // what the peer acknowledges, counted like sequence numbers of a subflow
	wnd   uint16
	stamp uint32 // timestamp of what the Host sent last
	got   []shown
}

// shown is what a test looks at of a segment that the Host has sent.
type shown struct {
	at       machine.Time
	from, to int64
	ack      int64
	flags    uint8
	sacks    []gap
	ecn      machine.ECN
}

// serverScript is a server that has just sent the SYN/ACK, got the request for an object of some segments, and the peer's
// window in bytes. The round-trip time is 100 ms.
func serverScript(t *testing.T, how Transport, segments int, window int) *script {
	s := &script{t: t, now: ms, own: 5000, wnd: uint16(window >> windowScale)}
	s.h = New(Config{Seed: 1, Size: func(uint64) int64 { return int64(segments * testMSS) }})
	s.h.FaceUp(0, 1, machine.Face{MTU: testMTU})
	s.h.Listen(1, &how)
	syn := segment{flags: flagSYN, seq: s.own, mss: testMTU - headerSize, scaled: true, scale: windowScale, sackOK: true, timed: true, window: uint16(window)}
	if how.ECN {
		syn.flags |= flagECE | flagCWR
	}
	s.put(syn, nil, machine.NotECT)
	if len(s.got) != 1 || s.got[0].flags&(flagSYN|flagACK) != flagSYN|flagACK {
		t.Fatalf("no SYN/ACK: %+v", s.got)
	}
	s.seq, s.ack = 1, 1
	s.wait(100 * ms)
	s.got = nil
	s.put(segment{flags: flagACK, seq: s.own + 1}, binary.BigEndian.AppendUint64(nil, 7), machine.NotECT)
	s.seq = 1 + requestSize
	return s
}

// put has a segment come, and keeps what the Host sends then.
func (s *script) put(g segment, data []byte, ecn machine.ECN) {
	g.timed = true
	g.time = stampOf(s.now)
	if g.flags&flagSYN == 0 {
		g.ack, g.window = s.peer+uint32(s.ack), s.wnd
	}
	g.echo = s.stamp
	buf := make([]byte, testMTU)
	n := g.append(buf)
	s.h.Receive(s.now, 1, ecn, append(buf[:n:n], data...))
	s.collect()
}

// acks has an acknowledgement of all before a segment come, with SACK ranges in numbers of segments.
func (s *script) acks(before int, sacks ...[2]int) {
	s.ack = int64(1 + before*testMSS)
	g := segment{flags: flagACK, seq: s.own + uint32(s.seq)}
	for i, k := range sacks {
		g.sacks[i] = block{s.peer + 1 + uint32(k[0]*testMSS), s.peer + 1 + uint32(k[1]*testMSS)}
		g.sackCount++
	}
	s.put(g, nil, machine.NotECT)
}

func (s *script) collect() {
	buf := make([]byte, testMTU)
	for {
		n, ecn := s.h.Transmit(s.now, 1, buf)
		if n <= 0 {
			return
		}
		var g segment
		payload, err := g.decode(buf[:n])
		if err != nil {
			s.t.Fatal(err)
		}
		if g.flags&flagSYN != 0 {
			s.peer = g.seq
		}
		k := shown{at: s.now, ecn: ecn, flags: g.flags, ack: int64(g.ack - s.own)}
		s.stamp = g.time
		k.from = int64(g.seq - s.peer)
		k.to = k.from + int64(len(payload))
		for _, b := range g.sacks[:g.sackCount] {
			k.sacks = append(k.sacks, gap{int64(b.from - s.own), int64(b.to - s.own)})
		}
		s.got = append(s.got, k)
	}
}

// wait lets time pass.
func (s *script) wait(d machine.Time) {
	for end := s.now + d; ; {
		due := s.h.Deadline()
		if due > end {
			s.now = end
			return
		}
		s.now = max(s.now, due)
		s.h.Advance(s.now)
		s.collect()
	}
}

// sent are the numbers of the segments that the Host has sent since the last call.
func (s *script) sent() (numbers []int) {
	for _, k := range s.got {
		if k.to > k.from {
			numbers = append(numbers, int((k.from-1)/testMSS))
		}
	}
	s.got = s.got[:0]
	return numbers
}

// times are when it has sent anything since the last call, ms after from.
func (s *script) times(from machine.Time) (at []int) {
	for _, k := range s.got {
		at = append(at, int((k.at-from)/ms))
	}
	s.got = s.got[:0]
	return at
}

// clientScript is a client that has asked for an object by TCP, of a peer that has just got the request. The round-trip time is 100 ms.
func clientScript(t *testing.T, how Transport) *script {
	s := &script{t: t, now: ms, own: 5000, wnd: 1 << 12}
	s.h = New(Config{Seed: 1})
	s.h.FaceUp(0, 1, machine.Face{MTU: testMTU})
	s.h.Fetch(s.now, Request{Object: 7, Faces: []machine.FaceID{1}, Transport: &how})
	s.collect()
	s.wait(100 * ms)
	syn := segment{flags: flagSYN | flagACK, seq: s.own, ack: s.peer + 1, mss: testMTU - headerSize, scaled: true, scale: windowScale, sackOK: true, window: 1<<16 - 1}
	if how.ECN {
		syn.flags |= flagECE
	}
	s.put(syn, nil, machine.NotECT)
	if n := len(s.got); n < 2 || s.got[n-1].to != 1+requestSize {
		t.Fatalf("no request: %+v", s.got)
	}
	s.got, s.seq, s.ack = nil, 1, 1+requestSize
	return s
}

// data has segment n of the object come.
func (s *script) data(n int, ecn machine.ECN, flags uint8) {
	b := make([]byte, testMSS)
	binary.BigEndian.PutUint64(b, uint64(n*testMSS))
	s.put(segment{flags: flagACK | flags, seq: s.own + 1 + uint32(n*testMSS)}, b, ecn)
}
