package forward

import (
	"container/heap"

	"mars/internal/machine"
	"mars/internal/wire"
)

// What a node remembers and forwards is shared among the faces that ask for it first, and among the flows of a face then. So
// a neighbour that asks for too much crowds out itself: its flows, its pending Interests, its turns on an upstream.

// ingress is what one downstream face has here.
type ingress struct {
	face        machine.FaceID
	gone        bool    // the face will not come back
	first, last *flow   // its flows, the one used longest ago first
	weight      int     // of its flows
	heap        int     // position in flows.heavy, −1: not there
	pending     int     // bytes of its pending Interests
	virtual     float64 // bytes that its flows have had, of the default profile
}

const (
	// flowUnit is how many bytes of a flow's name count as a flow of their own.
	flowUnit = 256
	// pitUnit is what the bound on pending Interests allows for each, bytes; entryCost is what one takes beside its packet.
	pitUnit   = 512
	entryCost = 256
)

// weigh is what a flow counts as.
func weigh(name wire.Name) int { return 1 + len(name)/flowUnit }

// heavy is a heap of the faces that have flows, the one with the most first (ties by face).
type heavy []*ingress

func (h heavy) Len() int { return len(h) }
func (h heavy) Less(i, j int) bool {
	return h[i].weight > h[j].weight || h[i].weight == h[j].weight && h[i].face < h[j].face
}

func (h heavy) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heap, h[j].heap = i, j
}

func (h *heavy) Push(x any) {
	o := x.(*ingress)
	o.heap = len(*h)
	*h = append(*h, o)
}

func (h *heavy) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last] = nil
	*h, o.heap = (*h)[:last], -1
	return o
}

// own gives a flow to a face, as the one that it has used last.
func (s *flows) own(o *ingress, f *flow) {
	f.owner = o
	o.push(f)
	o.weight += weigh(f.name)
	s.weight += weigh(f.name)
	if o.heap < 0 {
		heap.Push(&s.heavy, o)
	} else {
		heap.Fix(&s.heavy, o.heap)
	}
}

// disown ends own.
func (s *flows) disown(f *flow) {
	o := f.owner
	o.unlink(f)
	f.owner = nil
	o.weight -= weigh(f.name)
	s.weight -= weigh(f.name)
	if o.first == nil {
		heap.Remove(&s.heavy, o.heap)
	} else {
		heap.Fix(&s.heavy, o.heap)
	}
}

// push makes f the flow that was used last.
func (o *ingress) push(f *flow) {
	f.older, f.newer = o.last, nil
	if o.last != nil {
		o.last.newer = f
	} else {
		o.first = f
	}
	o.last = f
}

func (o *ingress) unlink(f *flow) {
	if f.older != nil {
		f.older.newer = f.newer
	} else {
		o.first = f.newer
	}
	if f.newer != nil {
		f.newer.older = f.older
	} else {
		o.last = f.older
	}
	f.older, f.newer = nil, nil
}

// touch notes that a face uses a flow. It belongs to the lightest of the faces that use it: nobody loses a flow because a
// busier neighbour asks for the same.
func (s *flows) touch(o *ingress, f *flow) {
	if owner := f.owner; owner != o && (owner.gone || o.weight+weigh(f.name) < owner.weight) {
		s.disown(f)
		s.own(o, f)
		return
	}
	f.owner.unlink(f)
	f.owner.push(f)
}

// makeRoom evicts flows until face o may have one more with this name: its own first, then of whoever has the most.
func (s *flows) makeRoom(o *ingress, name wire.Name) {
	for o.first != nil && o.weight+weigh(name) > s.cfg.MaxFaceFlows {
		s.evict(o.first)
	}
	for len(s.heavy) > 0 && s.weight+weigh(name) > s.cfg.MaxFlows {
		s.evict(s.heavy[0].first)
	}
}

// evict forgets a flow. Interests that it still queues get a Nack(Congestion); those on their way lose their flow and
// are answered like unshaped ones.
func (s *flows) evict(f *flow) {
	for e := f.entries.first; e != nil; e = f.entries.first {
		if e.queued {
			s.fail(e, wire.NackCongestion)
			continue
		}
		f.entries.remove(e)
		e.flow = nil
	}
	for _, l := range f.lanes {
		l.up.drop(l)
	}
	s.disown(f)
	f.epochs, f.lanes, f.evicted = nil, nil, true
	delete(s.flows, f.name.Hash(s.pit.seed))
	last := len(s.order) - 1 // the last one takes the place
	s.order[f.place] = s.order[last]
	s.order[f.place].place = f.place
	s.order[last] = nil
	s.order = s.order[:last]
}

// affordsEntry tells whether face o may have another Interest of so many bytes pending: as long as it has no more than what is
// still free, so that there is room for others however much one asks for.
func (s *flows) affordsEntry(o *ingress, size int) bool {
	left := s.cfg.MaxPIT*pitUnit - s.pit.bytes
	return s.pit.live < s.cfg.MaxPIT && o.pending+size+entryCost <= left
}

// charge counts a pending Interest as one of face o.
func (o *ingress) charge(e *entry) {
	e.payer = o
	o.pending += e.size()
}

// size is what an entry counts as in bounds, bytes.
func (e *entry) size() int { return len(e.buf) + entryCost }

// siblings lists the pending Interests of a flow, oldest first.
type siblings struct{ first, last *entry }

func (l *siblings) push(e *entry) {
	e.elder, e.younger = l.last, nil
	if l.last != nil {
		l.last.younger = e
	} else {
		l.first = e
	}
	l.last = e
}

func (l *siblings) remove(e *entry) {
	if e.elder != nil {
		e.elder.younger = e.younger
	} else {
		l.first = e.younger
	}
	if e.younger != nil {
		e.younger.elder = e.elder
	} else {
		l.last = e.elder
	}
	e.elder, e.younger = nil, nil
}
