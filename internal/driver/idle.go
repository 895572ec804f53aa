package driver

import "mars/internal/machine"

// watch begins to look after a face that has come up.
func (d *Driver) watch(now machine.Time, f *face) {
	f.sent, f.seen = now, now
	switch {
	case f.idle != nil && d.opt.Idle > 0:
		d.idleAt = min(d.idleAt, now+d.clock.span(d.opt.Idle))
	case f.keepAlive.Every > 0:
		d.keepers = append(d.keepers, f)
		d.idleAt = min(d.idleAt, now+d.clock.span(f.keepAlive.Every))
	}
}

// checkIdle ends the guests that were silent for too long and sends the keep-alives that are due.
func (d *Driver) checkIdle(now machine.Time) {
	d.idleAt = machine.Never
	for e := d.guests.idle.Front(); e != nil && d.opt.Idle > 0; e = d.guests.idle.Front() {
		f := e.Value.(*face)
		if due := f.seen + d.clock.span(d.opt.Idle); due > now {
			d.idleAt = due // the others were heard later
			break
		}
		d.faceDown(now, f)
	}
	for _, f := range d.keepers {
		every := d.clock.span(f.keepAlive.Every)
		if f.sent+every <= now {
			d.keep(now, f)
		}
		d.idleAt = min(d.idleAt, f.sent+every)
	}
}

// keep sends the keep-alive of f. One that can't leave is no loss: what is in the way sends, or fails as this would.
func (d *Driver) keep(now machine.Time, f *face) {
	if !f.sock.full && f.held == nil {
		d.train.reset()
		d.train.add(copy(d.train.free(), f.keepAlive.Datagram))
		d.send(now, f, d.train)
	}
	f.sent = now // also if it failed: the next one is due as late
}
