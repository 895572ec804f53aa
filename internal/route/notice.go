package route

import (
	"bytes"
	"cmp"
	"slices"

	"mars/internal/machine"
)

// Bounds of notices.
const (
	MaxNotice  = MaxMessage - headerLen - recordLen // bytes
	MaxNotices = 16                                 // topics
)

// Notice is what somebody outside the overlay has every node of it know, such as an operator's revocation list. What it says is
// not for a Router: it spreads the newest of each topic.
type Notice struct {
	Topic   uint64 // who says it
	Number  uint64 // higher is newer; not 0
	Content []byte // at most MaxNotice bytes; it speaks for itself wherever it comes from
}

// Tell has all neighbours, and theirs, know a notice. A Router that holds a newer one of the topic, or MaxNotices topics, does
// nothing.
func (r *Router) Tell(now machine.Time, n Notice) {
	r.tick(now)
	r.hold(n)
}

// hold is Tell.
func (r *Router) hold(n Notice) {
	i, held := r.notice(n.Topic)
	switch {
	case len(n.Content) > MaxNotice || n.Number == 0 || held && r.notices[i].Number >= n.Number:
		return
	case !held && len(r.notices) >= MaxNotices:
		r.drop(TooManyNotices)
		return
	case !held:
		r.notices = slices.Insert(r.notices, i, Notice{})
	}
	n.Content = bytes.Clone(n.Content)
	r.notices[i] = n
	for _, to := range r.neighbours {
		to.tell(r, n.Topic)
	}
}

func (r *Router) notice(topic uint64) (i int, held bool) {
	return slices.BinarySearchFunc(r.notices, topic, func(n Notice, t uint64) int { return cmp.Compare(n.Topic, t) })
}

// noticed takes in a notice that from brought.
func (r *Router) noticed(from *neighbour, content []byte) {
	i := slices.IndexFunc(r.notices, func(n Notice) bool { return bytes.Equal(n.Content, content) })
	if i >= 0 { // the usual case costs no signature
		from.noted(r.notices[i].Topic, r.notices[i].Number)
		return
	}
	n, ok := Notice{}, false
	if r.cfg.Notice != nil {
		n.Topic, n.Number, ok = r.cfg.Notice(content)
	}
	if !ok {
		r.drop(BadNotice)
		return
	}
	from.noted(n.Topic, n.Number)
	n.Content = content
	r.hold(n) // if it is what is old, then from is being told the new one already
}

// tell queues the notice of a topic, unless n is known to hold it.
func (n *neighbour) tell(r *Router, topic uint64) {
	i, held := r.notice(topic)
	if held && r.notices[i].Number > n.noticed[topic] && !slices.Contains(n.topics, topic) {
		n.topics = append(n.topics, topic)
	}
}

// tellAll is tell of every topic.
func (n *neighbour) tellAll(r *Router) {
	for _, notice := range r.notices {
		n.tell(r, notice.Topic)
	}
}

// noted notes that n holds a notice.
func (n *neighbour) noted(topic, number uint64) {
	if _, known := n.noticed[topic]; !known && len(n.noticed) >= MaxNotices {
		return
	}
	if n.noticed == nil {
		n.noticed = map[uint64]uint64{}
	}
	n.noticed[topic] = max(n.noticed[topic], number)
}

// nextNotice is the first queued notice that n isn't known to hold; nil: there is none.
func (n *neighbour) nextNotice(r *Router) *Notice {
	for len(n.topics) > 0 {
		if i, held := r.notice(n.topics[0]); held && r.notices[i].Number > n.noticed[n.topics[0]] {
			return &r.notices[i]
		}
		n.topics = n.topics[1:]
	}
	return nil
}

// composeNotices appends the queued notices that fit into limit bytes of b.
func (n *neighbour) composeNotices(r *Router, b []byte, limit int, s *sent) []byte {
	for next := n.nextNotice(r); next != nil && len(b)+recordLen+len(next.Content) <= limit; next = n.nextNotice(r) {
		b = append(appendRecord(b, recordNotice, len(next.Content)), next.Content...)
		s.notices = append(s.notices, Notice{Topic: next.Topic, Number: next.Number})
		n.topics = n.topics[1:]
	}
	return b
}
