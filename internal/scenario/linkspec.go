package scenario

import (
	"math"
	"strings"
	"time"
)

// linkSpec is what the file says of both directions of a link so far: defaults first, then what is nearer to the link.
type linkSpec struct {
	ab, ba Direction
	delay  [2]bool          // whether a delay is given: 0 is one
	hold   [2]time.Duration // the queue's capacity as a time; 0: it is given in packets or bytes
}

// defaultMTU is that of Ethernet.
const defaultMTU = 1500

func blankLink() linkSpec {
	d := Direction{Discipline: DropTail, MTU: defaultMTU}
	return linkSpec{ab: d, ba: d}
}

// read lays the mapping at key over l.
func (l *linkSpec) read(s *section, key string) {
	if sub, ok := s.section(key); ok {
		l.fields(sub)
		sub.done()
	}
}

// fields lays the keys of a link over l: for both directions, and then those under ab: and ba: for one.
func (l *linkSpec) fields(s *section) {
	if direction(s, &l.ab, &l.hold[0]) {
		l.delay = [2]bool{true, true}
	}
	// The same keys over the other direction; what is wrong with them has been said.
	quiet := *s.d
	quiet.report = &report{}
	direction(&section{d: &quiet, key: s.key, at: s.at, v: s.v}, &l.ba, &l.hold[1])
	for i, d := range []*Direction{&l.ab, &l.ba} {
		if sub, ok := s.section([]string{"ab", "ba"}[i]); ok {
			if direction(sub, d, &l.hold[i]) {
				l.delay[i] = true
			}
			sub.done()
		}
	}
}

// direction lays the keys of one direction over d, and reports whether a delay is among them.
func direction(s *section, d *Direction, hold *time.Duration) (delay bool) {
	read(s, "rate", &d.Rate, parseRate)
	delay = read(s, "delay", &d.Delay, parseDuration)
	read(s, "jitter", &d.Jitter, parseDuration)
	read(s, "mtu", &d.MTU, integer(576, 65535))
	var q queueSize
	if read(s, "queue", &q, parseQueue) {
		d.Packets, d.Bytes, *hold = q.packets, q.bytes, q.time
	}
	read(s, "discipline", &d.Discipline, oneOf(DropTail, CoDelMark, RED))
	if red, ok := s.section("red"); ok {
		d.Discipline = RED
		need(red, "min", "20 packets", &d.MarkMin, parsePackets)
		need(red, "max", "60 packets", &d.MarkMax, parsePackets)
		need(red, "probability", "10%", &d.MarkProb, parseFraction)
		red.done()
	}
	v := s.get("loss")
	if v == nil {
		return delay
	}
	d.Loss = Loss{}
	if v.kind != mapping {
		parse(s.d, s.sub("loss"), v, &d.Loss.Random, parseFraction)
		return delay
	}
	loss := s.d.section(s.sub("loss"), v)
	read(loss, "random", &d.Loss.Random, parseFraction)
	if burst, ok := loss.section("burst"); ok {
		need(burst, "enter", "0.01%", &d.Loss.BurstEnter, parseFraction)
		need(burst, "leave", "10%", &d.Loss.BurstLeave, parseFraction)
		need(burst, "loss", "50%", &d.Loss.BurstLoss, parseFraction)
		burst.done()
	}
	loss.done()
	return delay
}

// complete checks a link that has all its layers.
func (l *linkSpec) complete(d *decoder, at place, key, name string) {
	for i, dir := range []*Direction{&l.ab, &l.ba} {
		if l.hold[i] > 0 && dir.Rate > 0 { // what the link sends in that time, and two packets at least
			dir.Bytes = max(int(math.Round(float64(dir.Rate/8*l.hold[i].Seconds()))), 2*dir.MTU)
		}
		way := []string{"ab", "ba"}[i]
		lacks := func(what, example string) {
			d.fail(at, key, ErrMissing, "add "+what+": "+example+" to it or to topology.link", "link %s (%s) has no %s", name, way, what)
		}
		if dir.Rate == 0 {
			lacks("rate", "40 Mbit/s")
		}
		if !l.delay[i] {
			lacks("delay", "5ms")
		}
		if dir.Packets == 0 && dir.Bytes == 0 {
			lacks("queue", "1000 packets")
		}
		if dir.Discipline == RED && (dir.MarkMin >= dir.MarkMax || dir.MarkProb == 0) {
			d.fail(at, key, ErrValue, "write red: {min: 20 packets, max: 60 packets, probability: 10%}", "link %s (%s): RED needs min below max and a probability above 0", name, way)
		}
		if dir.Packets == 0 && dir.Bytes > 0 && dir.Bytes < dir.MTU {
			d.fail(at, key, ErrValue, "make it larger", "link %s (%s): a queue of %d bytes holds no packet of %d", name, way, dir.Bytes, dir.MTU)
		}
	}
}

type queueSize struct {
	packets, bytes int
	time           time.Duration
}

// parseQueue parses "1000 packets", "64 KiB", or both with a comma between; or "50ms", what the link sends in that time.
func parseQueue(s string) (q queueSize, err error) {
	const remedy = "write 1000 packets, or 64 KiB, or both with a comma between; or 50ms"
	if _, unit, ok := number(s); ok && timeUnits[unit] > 0 {
		q.time, err = parsePositiveDuration(s)
		return q, err
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		_, unit, ok := number(part)
		switch {
		case ok && packetUnits[unit] > 0 && q.packets == 0:
			q.packets, err = parsePackets(part)
		case ok && byteUnits[unit] > 0 && q.bytes == 0:
			var n int64
			n, err = parseBytes(part)
			q.bytes = int(n)
		default:
			return q, bad(ErrUnit, remedy, "%q is no size of a queue", part)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}
