package endpoint

import (
	"bytes"
	"testing"

	"mars/internal/machine"
	"pgregory.net/rapid"
)

// anySegment draws a header that TCP or MPTCP may send: no more options than there is room for.
func anySegment(t *rapid.T) segment {
	word := rapid.Uint32()
	g := segment{
		source: rapid.Uint16().Draw(t, "source"), dest: rapid.Uint16().Draw(t, "dest"),
		seq: word.Draw(t, "seq"), ack: word.Draw(t, "ack"),
		flags: rapid.Uint8().Draw(t, "flags"), window: rapid.Uint16().Draw(t, "window"),
	}
	if g.timed = rapid.Bool().Draw(t, "timed"); g.timed {
		g.time, g.echo = word.Draw(t, "time"), word.Draw(t, "echo")
	}
	room := maxSacks
	switch rapid.IntRange(0, 5).Draw(t, "option") {
	case 1:
		g.mp = mpOption{capable: true, keys: rapid.IntRange(0, 2).Draw(t, "keys")}
		for i := range g.mp.keys {
			g.mp.key[i] = rapid.Uint64().Draw(t, "key")
		}
		room = 0
	case 2:
		g.mp = mpOption{join: true, token: word.Draw(t, "token"), nonce: word.Draw(t, "nonce")}
		room = 1
	case 3:
		g.mp = mpOption{
			acked: true, dataAck: word.Draw(t, "dataAck"), mapped: true, dsn: word.Draw(t, "dsn"), at: word.Draw(t, "at"),
			length: rapid.Uint16().Draw(t, "length"), fin: rapid.Bool().Draw(t, "fin"),
		}
		room = 0
	case 4:
		g.mp = mpOption{acked: true, dataAck: word.Draw(t, "dataAck")}
		room = maxSacks - 1
	case 5: // a SYN
		g.mss = rapid.Uint16Range(1, 1<<16-1).Draw(t, "mss")
		g.scaled, g.scale, g.sackOK = true, rapid.Uint8Range(0, 14).Draw(t, "scale"), true
		room = 0
	}
	g.sackCount = rapid.IntRange(0, room).Draw(t, "sacks")
	for i := range g.sackCount {
		g.sacks[i] = block{word.Draw(t, "from"), word.Draw(t, "to")}
	}
	return g
}

// TestSegmentRoundTrip: what is written is read again, and the header is whole words of at most 60 bytes (RFC 9293 §3.1).
func TestSegmentRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anySegment(t)
		data := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")
		buf := make([]byte, 60, 80)
		n := g.append(buf)
		if n > 60 || n%4 != 0 {
			t.Fatalf("a header of %d bytes", n)
		}
		var got segment
		rest, err := got.decode(append(buf[:n:n], data...))
		if err != nil {
			t.Fatal(err)
		}
		if got != g || !bytes.Equal(rest, data) {
			t.Fatalf("got %+v with %x\nwant %+v with %x", got, rest, g, data)
		}
	})
}

// TestSegmentBytes compares one header with the bytes that RFC 9293, RFC 7323, RFC 2018 and RFC 8684 give it.
func TestSegmentBytes(t *testing.T) {
	g := segment{
		source: 80, dest: 49152, seq: 0x01020304, ack: 0x05060708, flags: flagACK, window: 0x1000, timed: true, time: 1, echo: 2,
		mp: mpOption{acked: true, dataAck: 3}, sacks: [maxSacks]block{{4, 5}}, sackCount: 1,
	}
	want := []byte{
		0, 80, 0xc0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0xd0, 0x10, 0x10, 0, 0, 0, 0, 0,
		1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, // timestamps
		30, 8, 0x20, 1, 0, 0, 0, 3, // DSS with a data acknowledgement of four bytes
		1, 1, 5, 10, 0, 0, 0, 4, 0, 0, 0, 5, // SACK
	}
	buf := make([]byte, 60)
	if got := buf[:g.append(buf)]; !bytes.Equal(got, want) {
		t.Errorf("got\n%x, want\n%x", got, want)
	}
}

// TestSegmentMalformed: what is no segment is refused.
func TestSegmentMalformed(t *testing.T) {
	header := func(size int, options ...byte) []byte {
		b := make([]byte, headerSize, 60)
		b[12] = byte(size/4) << 4
		return append(b, options...)
	}
	for name, b := range map[string][]byte{
		"short":                 make([]byte, headerSize-1),
		"offset below 5":        header(16),
		"offset past the end":   header(24),
		"option without length": header(24, 1, 1, 1, optTime),
		"option of length 1":    header(24, optTime, 1, 0, 0),
		"option past the end":   header(24, optTime, 10, 0, 0),
	} {
		var g segment
		if _, err := g.decode(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	var g segment // lengths that mean nothing are passed over
	if _, err := g.decode(header(28, optMSS, 3, 1, optMPTCP, 2, optTime, 2, optEnd)); err != nil || g.mss != 0 || g.timed {
		t.Errorf("odd options: %+v, %v", g, err)
	}
}

// FuzzSegment: whatever comes is read or refused, and what was read and fits is written back to the same meaning.
func FuzzSegment(f *testing.F) {
	buf := make([]byte, 60)
	for _, g := range []segment{
		{flags: flagSYN, mss: 1460, scaled: true, scale: 8, sackOK: true, timed: true, mp: mpOption{capable: true, keys: 1}},
		{flags: flagSYN, mp: mpOption{join: true, token: 7}},
		{flags: flagACK, timed: true, mp: mpOption{acked: true, mapped: true, length: 9, fin: true}},
		{flags: flagACK, timed: true, sackCount: 3},
	} {
		f.Add(append([]byte(nil), buf[:g.append(buf)]...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g segment
		payload, err := g.decode(b)
		if err != nil {
			return
		}
		if len(payload) > len(b)-headerSize || g.sackCount > maxSacks || g.mp.keys > 2 {
			t.Fatalf("%+v with %d bytes of %d", g, len(payload), len(b))
		}
		out := make([]byte, 128)
		n := g.append(out)
		if n > 60 {
			return // options in combinations that nobody sends
		}
		var again segment
		if _, err := again.decode(out[:n]); err != nil {
			t.Fatalf("%+v is written as %x: %v", g, out[:n], err)
		}
	})
}

// FuzzHost: no datagram upsets an endpoint, whatever it says about a connection that stands.
func FuzzHost(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x50, 0x10, 14, 15, 16, 17, 18, 19}, uint32(1), uint32(9), false)
	f.Fuzz(func(t *testing.T, b []byte, seq, ack uint32, toClient bool) {
		w := newTestWorld(t, 1)
		how := transport(t, MPTCP, "cubic")
		p := w.fetch(how, 200_000, &testPath{delay: 10 * ms, rate: 1000}, &testPath{delay: 10 * ms, rate: 1000})
		w.run(60 * ms)
		dir := up
		if !toClient {
			dir = down
		}
		if len(b) >= headerSize { // near enough to the numbers in use to be looked at
			var g segment
			if _, err := g.decode(b); err == nil {
				s := p.hosts[dir].conns[0].(*conn).subs[0]
				g.seq, g.ack = s.peer+seq%300_000, s.own+ack%300_000
				for i := range g.sackCount {
					g.sacks[i].from, g.sacks[i].to = s.own+g.sacks[i].from%300_000, s.own+g.sacks[i].to%300_000
				}
				out := make([]byte, 128+len(b))
				n := g.append(out)
				if n <= 60 {
					b = append(out[:n:n], b[headerSize:]...)
				}
			}
		}
		p.hosts[dir].Receive(w.now, 1, machine.CE, b)
		w.pump(p)
		w.run(5 * 1000 * ms)
	})
}
