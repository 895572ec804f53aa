package driver

import (
	"container/list"
	"net/netip"

	"mars/internal/machine"
)

// guests are the on-demand faces: one for each pair of a peer and the local address that it sent to.
type guests struct {
	limit int
	byKey map[guestKey]*face
	idle  *list.List // of *face, the longest idle one first
}

type guestKey struct {
	sock   *socket
	local  netip.Addr
	remote netip.AddrPort
}

func newGuests(limit int) guests {
	return guests{limit: limit, byKey: map[guestKey]*face{}, idle: list.New()}
}

func (f *face) key() guestKey { return guestKey{f.sock, f.target.local, f.target.remote} }

func (g *guests) add(f *face) {
	g.byKey[f.key()] = f
	f.idle = g.idle.PushBack(f)
}

func (g *guests) remove(f *face) {
	if f.idle != nil {
		delete(g.byKey, f.key())
		g.idle.Remove(f.idle)
		f.idle = nil
	}
}

// guest returns the face that p came in by, on an unconnected socket, and makes it if need be; nil: p isn't welcome.
func (d *Driver) guest(now machine.Time, s *socket, p *packet) *face {
	if f := d.guests.byKey[guestKey{s, localOf(s, p), p.remote}]; f != nil {
		if f.overhead > 0 {
			return nil // what isn't protected isn't its peer's
		}
		d.guests.idle.MoveToBack(f.idle)
		return f
	}
	return d.newGuest(now, s, p, 0)
}

// newGuest makes the face of the peer that p came from: id is what the Guard calls it, 0 that of a plain one. nil: it isn't welcome.
func (d *Driver) newGuest(now machine.Time, s *socket, p *packet, id machine.FaceID) *face {
	guarded, desc := id != 0, machine.Face{}
	if d.opt.Accept != nil {
		var ok bool
		if desc, ok = d.opt.Accept(p.remote); !ok {
			return nil
		}
	}
	if id == 0 {
		var ok bool
		if id, ok = d.newID(); !ok {
			return nil
		}
	}
	if len(d.guests.byKey) >= d.guests.limit {
		d.faceDown(now, d.guests.idle.Front().Value.(*face))
	}
	desc.OnDemand = true
	f := newFace(id, "", desc, d.opt.MTU)
	f.sock, f.target = s, target{remote: p.remote, local: localOf(s, p)}
	if guarded {
		f.protect(d.opt.Guard.Overhead())
	}
	d.guests.add(f)
	d.mu.Lock()
	d.all = append(d.all, f)
	d.mu.Unlock()
	d.faceUp(now, f)
	return f
}
