package mars

import (
	"errors"
	"time"

	"mars/internal/node"
	"mars/internal/route"
	"mars/internal/secure"
	"mars/internal/wire"
)

// heralds judges what nodes announce in routing: each speaks for itself alone, and for the prefixes that it may announce; and who is
// a leaf by its certificate can't say that it is a relay. It belongs to the loop goroutine.
type heralds struct {
	admit secure.Admit
	// others: nodes that admit doesn't know may announce everything. Somebody whom it knows has passed on what they say.
	others bool

	last []byte // announcement that was judged last
	peer secure.Peer
	err  error
}

// authentic is route.Config.Authentic.
func (h *heralds) authentic(origin uint64, announcement []byte) bool {
	signed, signature, ok := route.Split(announcement)
	if !ok {
		return false
	}
	key, certificate, ok := secure.AnnouncedBy(origin, signed, signature)
	if ok {
		h.last = announcement
		h.peer, h.err = h.admit(time.Now().Unix(), key, certificate)
	}
	return ok && (h.err != nil || !h.peer.Leaf || !route.Relays(announcement))
}

// entitled is route.Config.Verify, for an announcement that was just found authentic.
func (h *heralds) entitled(origin uint64, prefix wire.Name, announcement []byte) bool {
	if node.IsNodeName(prefix) {
		return prefix.Equal(node.NodeName(origin))
	}
	if len(h.last) == 0 || &h.last[0] != &announcement[0] {
		return false
	}
	if h.err != nil {
		return h.others && errors.Is(h.err, secure.ErrUnknown)
	}
	if h.peer.Announce == nil {
		return true
	}
	for _, p := range h.peer.Announce {
		if prefix.HasPrefix(p) {
			return true
		}
	}
	return false
}
