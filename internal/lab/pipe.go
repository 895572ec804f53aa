package lab

import (
	"math/rand/v2"

	"mars/internal/channel"
	"mars/internal/machine"
	"mars/internal/scenario"
)

// pipe is one direction of a link as a value: packets and the time go in, packets come out. It has one queue, served at the
// link's rate in the order of arrival, and then every packet takes the link's delay. Times are those of the scenario, whatever
// the dilation.
type pipe struct {
	name string
	dir  scenario.Direction // as of now: faults change it

	ring []transit // in order of arrival; a power of two
	head uint32
	n    uint32
	gone uint32 // how many of them, from head, have left the queue
	wait int    // bytes of the others

	busy    machine.Time // when the queue has sent all that it holds
	lastOut machine.Time // arrival of the packet sent last: nothing reorders
	loss    channel.Chance
	burst   channel.Burst
	mark    channel.Marker // nil: drop-tail
	hole    bool           // drops everything silently
	down    bool           // takes nothing in
	random  *rand.Rand     // of losses
	jitter  *rand.Rand

	counts counts
}

// counts are what a pipe has done so far.
type counts struct {
	bytes, packets int64 // taken into the queue
	drops          int64 // by a full queue or a link that is down
	losses         int64 // by chance or a blackhole
	big            int64 // larger than the MTU
	marks          int64
	delivered      int64
}

// transit is one packet on its way.
type transit struct {
	depart machine.Time // when its last bit leaves the queue
	arrive machine.Time
	packet []byte
	lost   bool // it won't arrive
}

// newPipe is one direction of a link of that name. Its random streams are those that the simulator's has.
func newPipe(name string, d scenario.Direction, seed uint64) *pipe {
	p := &pipe{name: name, dir: d, ring: make([]transit, 64)}
	p.reseed(seed)
	p.setLoss(d.Loss)
	return p
}

// reseed makes the pipe lose and mark what a new one with that seed would.
func (p *pipe) reseed(seed uint64) {
	p.random = channel.Stream(seed, "link:"+p.name)
	p.jitter = channel.Stream(seed, "jitter:"+p.name)
	p.mark = channel.NewMarker(&p.dir, seed, p.name)
}

func (p *pipe) setLoss(l scenario.Loss) {
	p.dir.Loss = l
	p.loss, p.burst = channel.NewChance(l.Random), channel.NewBurst(l)
}

func (p *pipe) at(i uint32) *transit { return &p.ring[(p.head+i)&uint32(len(p.ring)-1)] }

// took is the time that bytes take at the link's rate.
func (p *pipe) took(bytes int) machine.Time {
	return machine.Time(float64(bytes) * 8e9 / p.dir.Rate)
}

// settle counts out what has left the queue by now.
func (p *pipe) settle(now machine.Time) {
	for p.gone < p.n {
		t := p.at(p.gone)
		if t.depart > now {
			return
		}
		p.wait -= len(t.packet)
		p.gone++
	}
}

// push puts an IP packet at the end of the queue. false: it isn't kept, and stays the caller's. A packet that is marked is
// changed in place.
func (p *pipe) push(now machine.Time, packet []byte) bool {
	if len(packet) > p.dir.MTU {
		p.counts.big++
		return false
	}
	p.settle(now)
	queued := int(p.n - p.gone)
	if p.down || p.dir.Packets > 0 && queued >= p.dir.Packets || p.dir.Bytes > 0 && p.wait+len(packet) > p.dir.Bytes {
		p.counts.drops++
		return false
	}
	out := max(now, p.busy)
	if p.mark != nil && capable(packet) && p.mark.Marks(now, out, queued) {
		markCE(packet)
		p.counts.marks++
	}
	p.busy = out + p.took(len(packet))
	t := transit{depart: p.busy, arrive: p.busy + machine.Time(p.dir.Delay), packet: packet}
	if p.dir.Jitter > 0 {
		t.arrive += machine.Time(p.jitter.Int64N(int64(p.dir.Jitter) + 1))
	}
	p.lastOut = max(p.lastOut, t.arrive) // a delay that shrinks doesn't reorder
	t.arrive = p.lastOut
	t.lost = p.loss.Hits(p.random)
	t.lost = p.burst.Loses(p.random) || t.lost || p.hole
	p.append(t)
	p.wait += len(packet)
	p.counts.bytes += int64(len(packet))
	p.counts.packets++
	return true
}

func (p *pipe) append(t transit) {
	if int(p.n) == len(p.ring) {
		grown := make([]transit, 2*len(p.ring))
		for i := range p.n {
			grown[i] = *p.at(i)
		}
		p.ring, p.head = grown, 0
	}
	*p.at(p.n) = t
	p.n++
}

// next is when the first packet arrives; Never without one.
func (p *pipe) next() machine.Time {
	if p.n == 0 {
		return machine.Never
	}
	return p.at(0).arrive
}

// pop removes the first packet if it arrives by now, and tells how late that is. The packet is the caller's again; lost: it
// must not be delivered.
func (p *pipe) pop(now machine.Time) (packet []byte, late machine.Time, lost, ok bool) {
	if p.next() > now {
		return nil, 0, false, false
	}
	p.settle(now)
	t := p.at(0)
	packet, late, lost = t.packet, now-t.arrive, t.lost
	*t = transit{}
	p.head++
	p.n--
	p.gone--
	if lost {
		p.counts.losses++
	} else {
		p.counts.delivered++
	}
	return packet, late, lost, true
}

// setRate gives the packets that wait their new times. What the packet being sent has left to send goes at the new rate.
func (p *pipe) setRate(now machine.Time, bitsPerSecond float64) {
	p.settle(now)
	old := p.dir.Rate
	p.dir.Rate = bitsPerSecond
	at := now
	for i := p.gone; i < p.n; i++ {
		t := p.at(i)
		took := p.took(len(t.packet))
		if i == p.gone { // under way: the rest of it
			took = machine.Time(float64(min(t.depart-now, machine.Time(float64(len(t.packet))*8e9/old))) * old / bitsPerSecond)
		}
		travel := t.arrive - t.depart
		at += took
		t.depart, t.arrive = at, at+travel
	}
	p.busy = max(at, now)
	p.lastOut = 0
	for i := range p.n {
		t := p.at(i)
		t.arrive = max(t.arrive, p.lastOut)
		p.lastOut = t.arrive
	}
}

// swallow loses what still waits: the link has become a blackhole.
func (p *pipe) swallow(now machine.Time) {
	p.settle(now)
	for i := p.gone; i < p.n; i++ {
		p.at(i).lost = true
	}
}
