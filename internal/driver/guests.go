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
	local := p.local
	if !local.IsValid() {
		local = s.local.Addr()
	}
	if f := d.guests.byKey[guestKey{s, local, p.remote}]; f != nil {
		d.guests.idle.MoveToBack(f.idle)
		return f
	}
	desc := machine.Face{}
	if d.opt.Accept != nil {
		var ok bool
		if desc, ok = d.opt.Accept(p.remote); !ok {
			return nil
		}
	}
	id, ok := d.newID()
	if !ok {
		return nil
	}
	if len(d.guests.byKey) >= d.guests.limit {
		d.faceDown(now, d.guests.idle.Front().Value.(*face))
	}
	desc.OnDemand = true
	f := newFace(id, "", desc, d.opt.MTU, nil)
	f.sock, f.target = s, target{remote: p.remote, local: local}
	d.guests.add(f)
	d.mu.Lock()
	d.all = append(d.all, f)
	d.mu.Unlock()
	d.faceUp(now, f)
	return f
}
