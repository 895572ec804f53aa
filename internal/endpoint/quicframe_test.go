package endpoint

import (
	"bytes"
	"slices"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// TestAckFrame: ranges, delay and counts come back, and the highest ranges go first when there isn't room for all.
func TestAckFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranges []gap
		at := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "ranges") {
			at += rapid.Int64Range(1, 1<<18).Draw(t, "gap")
			to := at + rapid.Int64Range(1, 1<<18).Draw(t, "length")
			ranges = append(ranges, gap{at, to})
			at = to
		}
		path := rapid.Uint64Range(0, 40).Draw(t, "path")
		delay := machine.Time(rapid.Int64Range(0, 1<<30).Draw(t, "delay")) * 8 * machine.Microsecond
		var marks *ecnCounts
		if rapid.Bool().Draw(t, "ecn") {
			marks = &ecnCounts{1, 2, rapid.Uint64Range(0, maxVarint).Draw(t, "ce")}
		}
		room := rapid.IntRange(80, 1400).Draw(t, "room")
		b := appendAck(nil, room, path, ranges, delay, marks)
		if len(b) > room {
			t.Fatalf("%d bytes in %d", len(b), room)
		}
		var f frame
		rest, err := f.next(b)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%v, %d bytes left", err, len(rest))
		}
		if f.kind != frameAck || f.path != path || f.delay != delay || f.ecn != (marks != nil) || marks != nil && f.marks != *marks {
			t.Fatalf("%+v", f)
		}
		slices.Reverse(ranges)
		if !slices.Equal(f.ranges[:f.count], ranges[:f.count]) || room == 1400 && f.count < min(len(ranges), mostAckRanges) {
			t.Fatalf("%v of %v", f.ranges[:f.count], ranges)
		}
	})
}

// TestFrames: the other frames come back.
func TestFrames(t *testing.T) {
	var b []byte
	id := cid{1, 2, 3, 4, 5, 6, 7, 8}
	b = append(b, framePadding, framePadding, framePing, frameDone)
	b = appendLimit(b, frameMaxData, 1<<33)
	b = appendLimit(b, frameMaxStreamData, 77)
	b = appendWord(b, frameChallenge, 1<<63|5)
	b = appendWord(b, frameResponse, 9)
	b = appendPathID(b, 3, id)
	b = appendClose(b, closeFlow)
	at := len(b)
	b = appendCrypto(slices.Grow(b, 100), 300, 5)
	copy(b[at+4:], "hello")
	b = append(appendStream(b, 0, 70000, true), "the end"...)
	kinds := []uint64{
		framePadding, framePing, frameDone, frameMaxData, frameMaxStreamData, frameChallenge, frameResponse, framePathConnID, frameClose,
		frameCrypto, frameStream,
	}
	var err error
	for _, k := range kinds {
		var f frame
		if b, err = f.next(b); err != nil || f.kind != k {
			t.Fatalf("%+v in place of %#x: %v", f, k, err)
		}
		ok := true
		switch k {
		case frameMaxData:
			ok = f.value == 1<<33
		case frameMaxStreamData:
			ok = f.value == 77 && f.stream == 0
		case frameChallenge:
			ok = f.value == 1<<63|5
		case frameResponse:
			ok = f.value == 9
		case framePathConnID:
			ok = f.path == 3 && f.id == id
		case frameClose:
			ok = f.value == closeFlow
		case frameCrypto:
			ok = f.offset == 300 && string(f.data) == "hello"
		case frameStream:
			ok = f.offset == 70000 && f.fin && string(f.data) == "the end"
		}
		if !ok {
			t.Errorf("%+v", f)
		}
	}
	if len(b) > 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

// TestBadFrames: what can't be is refused.
func TestBadFrames(t *testing.T) {
	for _, b := range [][]byte{
		{0x21},                    // no such type
		{frameAck, 3, 0, 0, 4},    // a range longer than its highest number
		{frameAck, 9, 0, 1, 2, 7}, // a second range before 0
		{frameAck, 9, 0, 1, 2},    // cut off
		{frameCrypto, 0, 5, 1},    // less data than told
		{frameStream | streamLen, 0, 5, 1},
		{frameChallenge, 1, 2, 3},
		{frameStream | streamOff, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, // past the largest offset
		append([]byte{0x7e, 0x78, 1, 0, 0, 4}, make([]byte, 30)...),                     // a connection ID of another length
	} {
		var f frame
		if _, err := f.next(b); err == nil {
			t.Errorf("% x is a frame: %+v", b, f)
		}
	}
}

// TestHeader: headers come back, whatever their kind.
func TestHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := quicHeader{kind: packetKind(rapid.IntRange(0, 2).Draw(t, "kind")), number: rapid.Int64Range(0, 1<<30).Draw(t, "number")}
		h.numBytes = 4
		copy(h.dest[:], rapid.SliceOfN(rapid.Byte(), cidSize, cidSize).Draw(t, "dest"))
		if h.kind != packetShort {
			copy(h.source[:], rapid.SliceOfN(rapid.Byte(), cidSize, cidSize).Draw(t, "source"))
		}
		payload := rapid.SliceOfN(rapid.Byte(), 1, 1400).Draw(t, "payload")
		b := h.append(nil, len(payload)+quicTag)
		if len(b) != h.size() {
			t.Fatalf("%d bytes, size says %d", len(b), h.size())
		}
		b = append(append(b, payload...), make([]byte, quicTag)...)
		var got quicHeader
		rest, err := got.decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if frames := got.open(rest, h.number-1); !bytes.Equal(frames, payload) || got != h {
			t.Fatalf("%+v became %+v", h, got)
		}
		if _, err := got.decode(b[:shortSize+quicTag]); err == nil {
			t.Fatal("a header without a packet")
		}
	})
}

// FuzzQUIC: no datagram breaks a decoder, and whatever comes leaves both ends able to go on.
func FuzzQUIC(f *testing.F) {
	var seen [][]byte
	l := &quicLink{delay: machine.Millisecond, saw: func(_ int, b []byte) { seen = append(seen, slices.Clone(b)) }}
	newQUICWorld(f, 1, quicHow(f, "reno"), 20_000, l, &quicLink{delay: machine.Millisecond}).run(machine.Second)
	for i, b := range seen {
		if i%5 == 0 || i < 6 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h quicHeader
		if rest, err := h.decode(b); err == nil {
			frames := h.open(rest, 1000)
			for len(frames) > 0 && err == nil {
				var f frame
				frames, err = f.next(frames)
			}
		}
		w := newQUICWorld(t, 2, quicHow(t, "reno"), 20_000, &quicLink{delay: machine.Millisecond}, &quicLink{delay: machine.Millisecond})
		for range 12 {
			w.step(machine.Second)
		}
		for _, host := range w.hosts { // addressed to the connection, so that its frames are read
			for _, c := range host.conns {
				c := c.(*quicConn)
				own := slices.Clone(b)
				if len(own) > shortSize && own[0]&0x80 == 0 {
					copy(own[1:], c.ids[0].own[:])
				}
				host.Receive(w.now, 1, machine.CE, own)
			}
		}
		w.pump()
		for range 2000 {
			w.step(100 * machine.Second)
		}
		if w.got > w.size {
			t.Fatalf("%d bytes of %d", w.got, w.size)
		}
	})
}
