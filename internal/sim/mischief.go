package sim

import (
	"container/heap"
	"math/rand/v2"

	"mars/internal/channel"
	"mars/internal/machine"
	"mars/internal/scenario"
	"mars/internal/wire"
)

// What faults do to packets beside losing them. It happens where they arrive, so that the link's queue and its order stay what
// they are; what is held back waits in a heap of the network's own.
const (
	maxHeld  = 200 * machine.Millisecond // a reordered packet
	maxEcho  = 20 * machine.Millisecond  // the second of two
	smallest = 400                       // bytes of a datagram that may be corrupted: it is Data, whose tail is content and its signature
)

// mischief is what goes wrong on one direction of a link.
type mischief struct {
	random                      *rand.Rand
	reorder, duplicate, corrupt channel.Chance
	mtu                         int32 // 0: the link's
	stale                       bool
	feedback                    wire.Feedback // the first since it is stale
	have                        bool
}

// mischief returns the link's, made when first asked for.
func (n *network) mischief(l *link) *mischief {
	if l.mischief == nil {
		l.mischief = &mischief{random: channel.Stream(n.seed, "mischief:"+l.name)}
	}
	return l.mischief
}

func (m *mischief) begin(f *scenario.Fault) {
	switch f.Kind {
	case scenario.Reorder:
		m.reorder = channel.NewChance(f.Value)
	case scenario.Duplicate:
		m.duplicate = channel.NewChance(f.Value)
	case scenario.Corrupt:
		m.corrupt = channel.NewChance(f.Value)
	case scenario.SetMTU:
		m.mtu = int32(f.Value)
	case scenario.Stale:
		m.stale, m.have = true, false
	}
}

func (m *mischief) end(kind scenario.FaultKind) {
	switch kind {
	case scenario.Reorder:
		m.reorder = 0
	case scenario.Duplicate:
		m.duplicate = 0
	case scenario.Corrupt:
		m.corrupt = 0
	case scenario.SetMTU:
		m.mtu = 0
	case scenario.Stale:
		m.stale = false
	}
}

// meddle does to a packet that arrives what goes wrong on its link; false: it isn't delivered now.
func (n *network) meddle(l *link, p *packet) bool {
	m := l.mischief
	if m.mtu > 0 && int32(p.size) > m.mtu {
		l.losses++
		n.bufs.put(p.buf)
		return false
	}
	size := int(p.size) - int(p.header)
	data := n.bufs.flat(p.buf, size)
	if size >= smallest && m.corrupt.Hits(m.random) {
		data[size*3/4+m.random.IntN(size/4)] ^= byte(1 + m.random.IntN(255))
	}
	if m.stale {
		m.age(p, data)
	}
	if m.duplicate.Hits(m.random) {
		again := *p
		again.buf = n.bufs.get()
		copy(n.bufs.bytes(again.buf), data[:size])
		n.hold(l, again, machine.Time(m.random.Int64N(int64(maxEcho))))
	}
	if m.reorder.Hits(m.random) {
		n.hold(l, *p, machine.Time(m.random.Int64N(int64(maxHeld))))
		return false
	}
	return true
}

// age replaces the feedback of a packet by the first that came.
func (m *mischief) age(p *packet, data []byte) {
	var w wire.Packet
	if w.Decode(data[:p.size-headerBytes]) != nil || !w.HasFeedback {
		return
	}
	if !m.have {
		m.feedback, m.have = w.Feedback, true
	}
	w.Feedback = m.feedback
	if out := w.Append(nil); len(out) <= len(data) {
		p.size = uint16(copy(data, out) + headerBytes)
	}
}

// held is a packet that arrives later than it should.
type held struct {
	at   machine.Time
	seq  int64
	link int32
	p    packet
}

// late are the packets held back, the next first.
type late struct {
	heap heldHeap
	seq  int64
}

type heldHeap []held

func (h heldHeap) Len() int { return len(h) }
func (h heldHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h heldHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heldHeap) Push(x any)   { *h = append(*h, x.(held)) }
func (h *heldHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (n *network) lateLeaf() int { return len(n.links) + len(n.hosts) + 1 }

func (n *network) hold(l *link, p packet, wait machine.Time) {
	n.late.seq++
	heap.Push(&n.late.heap, held{n.now + wait, n.late.seq, l.id, p})
	n.tree.set(n.lateLeaf(), n.late.heap[0].at)
}

// arriveLate delivers the packet that was held back longest.
func (n *network) arriveLate() {
	h := heap.Pop(&n.late.heap).(held)
	next := machine.Never
	if len(n.late.heap) > 0 {
		next = n.late.heap[0].at
	}
	n.tree.set(n.lateLeaf(), next)
	n.events++
	n.hash = (n.hash ^ uint64(n.now)<<12 ^ uint64(h.link)<<1) * 0x9e3779b97f4a7c15
	n.deliver(&n.links[h.link], &h.p)
}

// heal ends every fault and every loss.
func (w *world) heal(now machine.Time) {
	w.healed = true
	for i := range w.w.Links {
		down := w.net.links[2*i].down || w.excluded(i)
		for way, d := range [2]*scenario.Direction{&w.w.Links[i].AB, &w.w.Links[i].BA} {
			l := &w.net.links[2*i+way]
			l.hole, l.down, l.deaf, l.mischief, l.loss, l.burst = false, false, false, nil, 0, channel.Burst{}
			l.changeRate(now, d.Rate)
			l.delay = machine.Time(d.Delay)
			w.rearm(l)
		}
		if down {
			w.faces(now, i, true, true)
		}
	}
	for i := range w.net.hosts {
		if w.net.hosts[i].clock.wrong {
			w.skew(now, i, 0)
		}
	}
}

// excluded tells whether a fault has taken a link's faces out of service at some time.
func (w *world) excluded(link int) bool {
	for i := range w.w.Faults {
		if f := &w.w.Faults[i]; f.Kind == scenario.Exclude && f.Link == link {
			return true
		}
	}
	return false
}
