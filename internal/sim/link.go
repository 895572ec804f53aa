package sim

import (
	"math/rand/v2"

	"mars/internal/channel"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// packet is one packet in a queue or on the wire. It fills half a cache line: rings of them are what a run touches most.
type packet struct {
	arrive machine.Time
	depart machine.Time // when its last bit leaves the queue
	buf    int32
	addr   int32  // whom it is for: an address of the network
	size   uint16 // bytes of IP packet
	face   uint16 // at the host that it is for
	ecn    machine.ECN
	header uint8 // bytes of it that aren't the Machine's
	lost   bool  // it won't arrive
}

// link is one direction of a link: a queue, a rate and a delay. A first-in-first-out queue at a fixed rate knows at the
// arrival of a packet when it will leave, so a packet takes one event: its arrival at the other end. That also decides CoDel's
// marks, which depend on how long a packet will have waited.
//
// A run is bound by memory: what every packet needs of a link comes first and fills two cache lines.
type link struct {
	id       int32    // leaf in the tree
	to       int32    // host at the other end
	ring     []packet // in order of arrival; a power of two
	head     uint32
	n        uint32
	gone     uint32 // how many of them, from head, have left the queue
	capacity uint32 // packets that wait or are being sent
	wait     int    // bytes of the others

	perByte   uint64       // transmission time of a byte, ns<<rateShift
	busy      machine.Time // when all that is in the queue will have left
	delay     machine.Time
	lastOut   machine.Time // arrival of the packet sent last: jitter doesn't reorder
	byteLimit int

	bytes, packets, taken int64
	router                *router // at the other end; nil: none

	mark     channel.Marker // nil: drop-tail
	jitter   machine.Time
	loss     channel.Chance
	burst    channel.Burst
	hole     bool // silent blackhole
	down     bool
	deaf     bool       // the other end hears nothing
	mischief *mischief  // nil: packets come as they were sent
	random   *rand.Rand // of losses
	jitterOf *rand.Rand
	name     string

	drops, losses, marks int64
}

// rateShift is the fixed point of perByte.
const rateShift = 16

// newLink makes one direction of a scenario link; its random streams are named after the link and the direction.
func newLink(id, to int32, name string, d *scenario.Direction, seed uint64) link {
	l := link{
		id: id, to: to, name: name, ring: make([]packet, 16),
		delay: machine.Time(d.Delay), jitter: machine.Time(d.Jitter), byteLimit: d.Bytes, capacity: uint32(d.Packets),
		random: channel.Stream(seed, "link:"+name),
	}
	l.setRate(d.Rate)
	l.loss = channel.NewChance(d.Loss.Random)
	l.burst = channel.NewBurst(d.Loss)
	if l.jitter > 0 {
		l.jitterOf = channel.Stream(seed, "jitter:"+name)
	}
	l.mark = channel.NewMarker(d, seed, name)
	if l.capacity == 0 {
		l.capacity = 1 << 30
	}
	if l.byteLimit == 0 {
		l.byteLimit = 1 << 50
	}
	return l
}

func (l *link) setRate(bitsPerSecond float64) {
	l.perByte = uint64(8e9 / bitsPerSecond * (1 << rateShift))
}

func (l *link) at(i uint32) *packet { return &l.ring[(l.head+i)&uint32(len(l.ring)-1)] }

// settle counts out what has left the queue by now.
func (l *link) settle(now machine.Time) {
	if now >= l.busy { // most queues of a network are empty: no need to read the ring
		l.gone, l.wait = l.n, 0
		return
	}
	for l.gone < l.n {
		p := l.at(l.gone)
		if p.depart > now {
			return
		}
		l.wait -= int(p.size)
		l.gone++
	}
}

// send puts a copy of p at the end of the queue; false: it is full and the packet is dropped.
func (l *link) send(now machine.Time, p *packet) bool {
	l.settle(now)
	queued := l.n - l.gone
	if queued >= l.capacity || l.wait+int(p.size) > l.byteLimit || l.down {
		l.drops++
		return false
	}
	if int(l.n) == len(l.ring) {
		l.grow()
	}
	q := *p
	out := max(now, l.busy)
	if l.mark != nil && q.ecn != machine.NotECT && l.mark.Marks(now, out, int(queued)) {
		q.ecn = machine.CE
		l.marks++
	}
	l.busy = out + machine.Time(uint64(q.size)*l.perByte>>rateShift)
	q.depart = l.busy
	q.arrive = q.depart + l.delay
	if l.jitter > 0 {
		q.arrive = max(q.arrive+machine.Time(l.jitterOf.Int64N(int64(l.jitter)+1)), l.lastOut)
	}
	l.lastOut = max(l.lastOut, q.arrive)
	q.arrive = l.lastOut // a delay that shrinks doesn't reorder
	q.lost = l.loss.Hits(l.random)
	q.lost = l.burst.Loses(l.random) || q.lost || l.hole || l.deaf
	*l.at(l.n) = q
	l.n++
	l.wait += int(q.size)
	l.bytes += int64(q.size)
	l.packets++
	return true
}

func (l *link) grow() {
	grown := make([]packet, 2*len(l.ring))
	for i := range l.n {
		grown[i] = *l.at(i)
	}
	l.ring, l.head = grown, 0
}

// next is when the first packet arrives; Never without one.
func (l *link) next() machine.Time {
	if l.n == 0 {
		return machine.Never
	}
	return l.ring[l.head&uint32(len(l.ring)-1)].arrive
}

// take removes the packet that arrives now. It stays as it is until the link sends again.
func (l *link) take() *packet {
	p := &l.ring[l.head&uint32(len(l.ring)-1)]
	l.head++
	l.n--
	l.taken++
	if l.gone > 0 {
		l.gone--
	} else {
		l.wait -= int(p.size)
	}
	return p
}

// room is when the queue holds less than limit bytes, now or later.
func (l *link) room(now machine.Time, limit int) machine.Time {
	l.settle(now)
	left := l.wait
	at := now
	for i := l.gone; left >= limit && i < l.n; i++ {
		p := l.at(i)
		left -= int(p.size)
		at = p.depart
	}
	return at
}

// changeRate gives the packets that wait their new times. What the packet being sent has left to send goes at the new rate.
func (l *link) changeRate(now machine.Time, bitsPerSecond float64) {
	l.settle(now)
	old := l.perByte
	l.setRate(bitsPerSecond)
	at := now
	for i := l.gone; i < l.n; i++ {
		p := l.at(i)
		took := machine.Time(uint64(p.size) * l.perByte >> rateShift)
		if i == l.gone && old > 0 { // under way: the rest of it
			took = machine.Time(uint64(p.depart-now) * l.perByte / old)
		}
		at += took
		p.depart = at
		p.arrive = max(at+l.delay, now)
	}
	l.busy = at
	l.sort()
}

// sort keeps arrivals in order after times have changed.
func (l *link) sort() {
	last := machine.Time(0)
	for i := range l.n {
		p := l.at(i)
		p.arrive = max(p.arrive, last)
		last = p.arrive
	}
	l.lastOut = last
}

// swallow loses what still waits: the link has become a blackhole.
func (l *link) swallow(now machine.Time) {
	l.settle(now)
	for i := l.gone; i < l.n; i++ {
		l.at(i).lost = true
	}
}
