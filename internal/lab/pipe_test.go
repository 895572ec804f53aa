package lab

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mars/internal/machine"
	"mars/internal/scenario"
)

const ms = machine.Millisecond

// plain is a direction of 12 Mbit/s, on which a packet of 1500 bytes takes 1 ms, and 5 ms of delay.
func plain(change func(*scenario.Direction)) scenario.Direction {
	d := scenario.Direction{Rate: 12e6, Delay: 5 * time.Millisecond, Packets: 10, Discipline: scenario.DropTail, MTU: 1500}
	if change != nil {
		change(&d)
	}
	return d
}

// packetOf is an IPv4 packet of n bytes with an ECN field and a right checksum.
func packetOf(n int, field byte) []byte {
	p := make([]byte, n)
	p[0], p[1], p[8] = 0x45, field, 64
	binary.BigEndian.PutUint16(p[2:], uint16(n))
	binary.BigEndian.PutUint16(p[10:], ^sumOf(p[:20]))
	return p
}

// sumOf is the one's complement sum (RFC 1071).
func sumOf(b []byte) uint16 {
	sum := uint32(0)
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// drain takes out all packets and returns when they arrived; lost ones are left out.
func drain(p *pipe) (at []machine.Time) {
	for p.n > 0 {
		now := p.next()
		if _, _, lost, _ := p.pop(now); !lost {
			at = append(at, now)
		}
	}
	return at
}

// TestPipeTimes: what goes in at a time comes out when a queue at the link's rate and its delay say.
func TestPipeTimes(t *testing.T) {
	full := func(at ...machine.Time) []machine.Time { return at }
	for _, c := range []struct {
		name string
		dir  scenario.Direction
		in   []machine.Time // packets of 1500 bytes
		want []machine.Time
	}{
		{"one packet", plain(nil), full(0), full(6 * ms)},
		{"a queue", plain(nil), full(0, 0, 0), full(6*ms, 7*ms, 8*ms)},
		{"a pause", plain(nil), full(0, 10*ms), full(6*ms, 16*ms)},
		{"a full queue in packets", plain(func(d *scenario.Direction) { d.Packets = 2 }), full(0, 0, 0, 1*ms), full(6*ms, 7*ms, 8*ms)},
		{"a full queue in bytes", plain(func(d *scenario.Direction) { d.Packets, d.Bytes = 0, 3100 }), full(0, 0, 0), full(6*ms, 7*ms)},
		{"a small MTU", plain(func(d *scenario.Direction) { d.MTU = 1400 }), full(0), nil},
		{"all lost", plain(func(d *scenario.Direction) { d.Loss.Random = 1 }), full(0, 1*ms), nil},
	} {
		p := newPipe("l:ab", c.dir, 1)
		for _, now := range c.in {
			p.push(now, packetOf(1500, 0))
		}
		got := drain(p)
		if len(got) != len(c.want) {
			t.Errorf("%s: arrivals %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: arrival %d at %v, want %v", c.name, i, got[i], c.want[i])
			}
		}
	}
}

// TestPipeChanges: rates, delays and blackholes in the midst of traffic.
func TestPipeChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *pipe) // at 1.5 ms, with three packets in since 0
		want   []machine.Time
	}{
		{"nothing", func(*pipe) {}, []machine.Time{6 * ms, 7 * ms, 8 * ms}},
		{"half the rate", func(p *pipe) { p.setRate(3*ms/2, 6e6) }, []machine.Time{6 * ms, 7*ms + ms/2, 9*ms + ms/2}},
		{"twice the rate", func(p *pipe) { p.setRate(3*ms/2, 24e6) }, []machine.Time{6 * ms, 6*ms + 3*ms/4, 7*ms + ms/4}},
		{"a blackhole", func(p *pipe) { p.hole = true; p.swallow(3 * ms / 2) }, []machine.Time{6 * ms}},
	} {
		p := newPipe("l:ab", plain(nil), 1)
		for range 3 {
			p.push(0, packetOf(1500, 0))
		}
		c.change(p)
		got := drain(p)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: arrival %d at %v, want %v", c.name, i, got[i], c.want[i])
			}
		}
	}
	p := newPipe("l:ab", plain(nil), 1)
	p.down = true
	if p.push(0, packetOf(100, 0)) || p.counts.drops != 1 {
		t.Error("a link that is down takes packets")
	}
}

// TestPipeLoses: the part of the packets that is asked for, the same ones for the same seed, others for another.
func TestPipeLoses(t *testing.T) {
	run := func(name string, seed uint64) (lost []int) {
		p := newPipe(name, plain(func(d *scenario.Direction) { d.Loss.Random = 0.05 }), seed)
		for i := range 20_000 {
			p.push(p.busy, packetOf(100, 0))
			if _, _, l, _ := p.pop(p.next()); l {
				lost = append(lost, i)
			}
		}
		return lost
	}
	a, again, other, link := run("a:ab", 1), run("a:ab", 1), run("a:ab", 2), run("b:ab", 1)
	if share := float64(len(a)) / 20_000; math.Abs(share-0.05) > 0.005 {
		t.Errorf("%.4f lost, want 0.05", share)
	}
	same := func(x, y []int) bool { return len(x) == len(y) && x[0] == y[0] && x[len(x)/2] == y[len(y)/2] }
	if !same(a, again) || same(a, other) || same(a, link) {
		t.Error("losses aren't those of the seed and the link's name")
	}
}

// TestPipeMarks: a queue that marks sets CE on packets that may be marked, keeps their checksum right, and loses none.
func TestPipeMarks(t *testing.T) {
	for _, field := range []byte{0, 2} {
		p := newPipe("l:ab", plain(func(d *scenario.Direction) {
			d.Packets, d.Discipline, d.MarkMin, d.MarkMax, d.MarkProb = 100, scenario.RED, 5, 10, 0.1
		}), 1)
		marked := 0
		for i := range machine.Time(4000) {
			p.push(i*ms, packetOf(1500, field))
			p.push(i*ms, packetOf(1500, field))
			b, _, _, ok := p.pop(i * ms)
			if !ok {
				continue
			}
			if sumOf(b[:20]) != 0xffff {
				t.Fatal("the header's checksum is wrong")
			}
			if ecn(b) == ce {
				marked++
			}
		}
		if field == 0 && marked > 0 || field != 0 && marked < 1000 {
			t.Errorf("field %d: %d marked", field, marked)
		}
	}
	six := []byte{0x60, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if markCE(six); ecn(six) != ce || six[0] != 0x60 {
		t.Error("IPv6")
	}
}

// TestPipeKeepsItsBooks: whatever goes in and changes, packets come out in order, once or counted as lost, never faster than the
// rate and never before the delay.
func TestPipeKeepsItsBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := plain(func(d *scenario.Direction) {
			d.Packets = rapid.IntRange(0, 20).Draw(t, "packets")
			if d.Packets == 0 {
				d.Bytes = rapid.IntRange(1500, 50_000).Draw(t, "bytes")
			}
			d.Jitter = time.Duration(rapid.IntRange(0, 3_000_000).Draw(t, "jitter"))
			d.Loss.Random = rapid.Float64Range(0, 0.5).Draw(t, "loss")
		})
		p := newPipe("l:ab", d, rapid.Uint64().Draw(t, "seed"))
		now, in, out, refused := machine.Time(0), 0, 0, 0
		last := -1
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += machine.Time(rapid.IntRange(0, 3_000_000).Draw(t, "pause"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				p.setRate(now, rapid.Float64Range(1e6, 50e6).Draw(t, "rate"))
			default:
				b := packetOf(rapid.IntRange(24, 1500).Draw(t, "size"), 0)
				binary.BigEndian.PutUint32(b[20:], uint32(in))
				before := p.busy
				if in++; !p.push(now, b) {
					refused++
				} else if p.busy < max(before, now)+p.took(len(b)) {
					t.Fatal("faster than the rate")
				}
			}
			for {
				b, late, _, ok := p.pop(now)
				if !ok {
					break
				}
				if n := int(binary.BigEndian.Uint32(b[20:])); n <= last || late < 0 {
					t.Fatalf("packet %d came after %d", n, last)
				} else {
					last = n
				}
				out++
			}
		}
		for p.n > 0 {
			p.pop(p.next())
			out++
		}
		c := p.counts
		if in != out+refused || int(c.packets) != out || int(c.delivered+c.losses) != out || p.wait != 0 {
			t.Fatalf("in %d, out %d, refused %d, %+v, %d bytes wait", in, out, refused, c, p.wait)
		}
	})
}
