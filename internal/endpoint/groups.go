package endpoint

import (
	"mars/cc"
	"mars/internal/machine"
)

// Path are the figures of the path that a face is of its connection, if it is one.
func (h *Host) Path(id machine.FaceID) (PathStats, bool) {
	f := h.face(id)
	if f.conn == nil {
		return PathStats{}, false
	}
	all := f.conn.stats().PerPath
	if f.path >= len(all) {
		return PathStats{}, false
	}
	return all[f.path], true
}

// sharing is a connection whose controller detects which paths share a bottleneck.
type sharing interface {
	// shares tells whether two paths count as sharing one; known is false until there has been a verdict.
	shares(a, b int) (shared, known bool)
}

// Groups appends a number for each of some faces of one connection that sends: faces with the same number share a bottleneck, as its
// congestion control sees it. ok is false without a controller that detects, and until its first verdict.
func (h *Host) Groups(dst []int, faces []machine.FaceID) (groups []int, ok bool) {
	for i, id := range faces {
		group := i
		f := h.face(id)
		c, detects := f.conn.(sharing)
		if !detects {
			return dst, false
		}
		for j, other := range faces[:i] {
			shared, known := c.shares(h.face(other).path, f.path)
			ok = ok || known
			if shared && h.face(other).conn == f.conn {
				group = dst[len(dst)-i+j]
				break
			}
		}
		dst = append(dst, group)
	}
	return dst, ok
}

func (c *conn) shares(a, b int) (shared, known bool) {
	if a >= len(c.subs) || b >= len(c.subs) || !c.subs[a].controlled || !c.subs[b].controlled {
		return false, false
	}
	return verdict(c.ctrl, c.subs[a].control, c.subs[b].control)
}

// shares of MPQUIC: paths whose controllers are different ones are on their own, as far as either knows.
func (c *quicConn) shares(a, b int) (shared, known bool) {
	if a >= len(c.all) || b >= len(c.all) || !c.all[a].controlled || !c.all[b].controlled || c.all[a].control != c.all[b].control {
		return false, false
	}
	return verdict(c.all[a].control, c.all[a].flow, c.all[b].flow)
}

func verdict(ctrl cc.Controller, a, b cc.Subflow) (shared, known bool) {
	s, ok := ctrl.(cc.Sharer)
	if !ok || s.Verdicts() == 0 {
		return false, false
	}
	return s.Shared(a, b), true
}
