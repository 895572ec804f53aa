package forward

import "slices"

// Deficit round robin in bytes on one upstream face: over the faces that ask first, then over the flows of each (MARS paper
// §III-D says round robin; bytes make unequal chunk sizes fair). A neighbour with a thousand flows has the turns of one.

// lane is one flow on one of its valid upstream faces.
type lane struct {
	flow       *flow
	up         *upstream
	deficit    float64 // bytes
	gate       *gate   // of the default profile
	bytes      uint64  // of Data that came by it
	active     bool
	group      *group // active: the round that it is in
	prev, next *lane  // in it
}

// group is the flows of one downstream face that have Interests for an upstream face.
type group struct {
	of         *ingress
	at         *lane // whose turn it is
	deficit    float64
	prev, next *group
}

// turns is the round of an upstream face.
type turns struct {
	at     *group // whose turn it is; nil: no flow has Interests
	groups map[*ingress]*group
	spare  []*group
	list   []*lane // of the default profile: all flows that may have Interests
}

// quantum is what a flow, or a face, may send in one turn, bytes: at least the largest packet, so that every turn sends one.
const quantum = float64(bufferSize)

// activate puts a lane into the round, behind all others.
func (t *turns) activate(l *lane) {
	if l.active {
		return
	}
	if l.gate != nil {
		l.active = true
		t.list = append(t.list, l)
		return
	}
	g := t.groups[l.flow.owner]
	if g == nil {
		g = t.join(l.flow.owner)
	}
	l.active, l.deficit, l.group = true, 0, g
	if g.at == nil {
		l.prev, l.next, g.at = l, l, l
		return
	}
	l.next, l.prev = g.at, g.at.prev
	l.prev.next, l.next.prev = l, l
}

// join puts the group of a downstream face into the round.
func (t *turns) join(of *ingress) *group {
	var g *group
	if n := len(t.spare); n > 0 {
		g, t.spare = t.spare[n-1], t.spare[:n-1]
		g.of = of
	} else {
		g = &group{of: of}
	}
	t.groups[of] = g
	if t.at == nil {
		g.prev, g.next, t.at = g, g, g
		return g
	}
	g.next, g.prev = t.at, t.at.prev
	g.prev.next, g.next.prev = g, g
	return g
}

// drop takes a lane out of the round.
func (t *turns) drop(l *lane) {
	if !l.active {
		return
	}
	if l.gate != nil {
		t.list = slices.DeleteFunc(t.list, func(x *lane) bool { return x == l })
		l.active = false
		return
	}
	g := l.group
	if l.next == l {
		t.leave(g)
	} else {
		l.prev.next, l.next.prev = l.next, l.prev
		if g.at == l {
			g.at = l.next
		}
	}
	l.active, l.group, l.prev, l.next = false, nil, nil, nil
}

// leave takes a group without lanes out of the round.
func (t *turns) leave(g *group) {
	delete(t.groups, g.of)
	if g.next == g {
		t.at = nil
	} else {
		g.prev.next, g.next.prev = g.next, g.prev
		if t.at == g {
			t.at = g.next
		}
	}
	*g = group{}
	t.spare = append(t.spare, g)
}

// turn is the flow whose turn it is; nil: none has Interests.
func (t *turns) turn() *flow {
	if t.at == nil {
		return nil
	}
	return t.at.at.flow
}

// pull takes the next Interest for face u; nil: no flow has one.
func (u *upstream) pull() *entry {
	t := &u.turns
	for t.at != nil {
		g := t.at
		if g.deficit <= 0 { // it may have spent a little too much: that is taken off its next turn
			g.deficit += quantum
			t.at = g.next
			continue
		}
		l := g.at
		q, i, e := l.flow.next(u.face)
		if e == nil {
			t.drop(l)
			continue
		}
		if l.deficit < e.cost {
			l.deficit += quantum
			g.at = l.next
			continue
		}
		l.deficit -= e.cost
		g.deficit -= e.cost
		q.take(i)
		e.queued = false
		l.flow.live--
		return e
	}
	return nil
}

// overdraw charges a lane for what an answer was larger than its Interest said.
func (l *lane) overdraw(bytes float64) {
	if l.gate == nil && l.active {
		l.deficit -= bytes
		l.group.deficit -= bytes
	}
}
