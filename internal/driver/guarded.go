package driver

import (
	"encoding/binary"
	"net/netip"

	"mars/internal/machine"
)

// arrive hands the datagrams of p, which came by a guarded socket, to the Guard, and what they carry to the Machine.
func (d *Driver) arrive(now machine.Time, s *socket, p *packet) {
	source := sourceOf(p.remote)
	for rest := p.data; len(rest) > 0; {
		datagram := rest
		if p.segment > 0 && p.segment < len(rest) {
			datagram = rest[:p.segment]
		}
		rest = rest[len(datagram):]
		a := d.opt.Guard.Receive(now, source[:], datagram, d.plain[:0])
		if a.Reply != nil {
			d.reply(s, p, a.Reply)
		}
		if a.Face == 0 {
			if a.Reply == nil {
				s.rejected.Add(1)
			}
			continue
		}
		f := d.byID[a.Face]
		switch {
		case f == nil && a.Up:
			if f = d.welcome(now, s, p, a.Face); f == nil {
				d.opt.Guard.Close(a.Face)
			}
		case f != nil && a.Up:
			d.faceUp(now, f)
		case f != nil && a.Newest && f.idle != nil:
			d.follow(now, f, s, p)
		}
		if f == nil {
			continue
		}
		if f.idle != nil {
			d.guests.idle.MoveToBack(f.idle)
		}
		if len(a.Plain) > 0 {
			d.plain = a.Plain[:0]
			f.datagramsIn.Add(1)
			f.bytesIn.Add(uint64(len(a.Plain)))
			d.machine.Receive(now, f.id, machine.NotECT, a.Plain)
		}
		d.hear(now, f)
	}
}

// sourceOf is an address as the Guard wants it.
func sourceOf(a netip.AddrPort) (source [18]byte) {
	addr := a.Addr().As16()
	copy(source[:], addr[:])
	binary.BigEndian.PutUint16(source[16:], a.Port())
	return source
}

// localOf is the address of ours that p came to.
func localOf(s *socket, p *packet) netip.Addr {
	if p.local.IsValid() {
		return p.local
	}
	return s.local.Addr()
}

// reply sends a datagram back to where p came from. What the socket has no room for is lost: peers ask again.
func (d *Driver) reply(s *socket, p *packet, datagram []byte) {
	d.train.reset()
	d.train.add(copy(d.train.free(), datagram))
	_, _ = s.conn.send(d.train, target{remote: p.remote, local: localOf(s, p)})
}

// welcome makes the face of a peer that dialled us and has shown who it is. A peer that starts anew at the same address
// takes the place of its old face.
func (d *Driver) welcome(now machine.Time, s *socket, p *packet, id machine.FaceID) *face {
	if old := d.guests.byKey[guestKey{s, localOf(s, p), p.remote}]; old != nil {
		d.faceDown(now, old)
	}
	return d.newGuest(now, s, p, id)
}

// follow lets a peer that has moved to another address keep its face.
func (d *Driver) follow(now machine.Time, f *face, s *socket, p *packet) {
	to := target{remote: p.remote, local: localOf(s, p)}
	if f.target == to && f.sock == s {
		return
	}
	if other := d.guests.byKey[guestKey{s, to.local, to.remote}]; other != nil {
		d.faceDown(now, other)
	}
	d.log.Info("the peer has moved", "face", f.id, "from", f.target.remote, "to", to.remote)
	f.sock.waiting, f.held = without(f.sock.waiting, f), nil
	delete(d.guests.byKey, f.key())
	d.mu.Lock()
	f.target, f.sock = to, s
	d.mu.Unlock()
	d.guests.byKey[f.key()] = f
}

// guard lets the Guard do what is due: timers, datagrams of its own, faces that it has ended.
func (d *Driver) guard(now machine.Time) {
	g := d.opt.Guard
	if g == nil {
		return
	}
	if g.Deadline() <= now {
		g.Advance(now)
	}
	for {
		d.train.reset()
		id, n := g.Transmit(now, d.train.free())
		if n == 0 {
			break
		}
		f := d.byID[id]
		if f == nil || f.sock.full || f.held != nil {
			continue // it is asked for again
		}
		d.train.add(n)
		d.send(now, f, d.train)
	}
	d.train.reset()
	d.guardClosed = g.Closed(d.guardClosed[:0])
	for _, id := range d.guardClosed {
		if f := d.byID[id]; f != nil {
			d.faceDown(now, f)
		}
	}
}
