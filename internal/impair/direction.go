package impair

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A direction carries the datagrams of one client one way.
type direction struct {
	p     *Proxy
	write func([]byte) error
	queue chan parcel
	rng   *rand.Rand // belongs to the goroutine that pushes
}

// A parcel is a datagram on its way, with its fate.
type parcel struct {
	data []byte
	due  time.Time
	hold bool // the next one goes first
}

// push decides what happens to a datagram, of which it keeps a copy. Each kind of harm draws once for each datagram, so
// that a change of one probability leaves the decisions of the others alone.
func (d *direction) push(data []byte) {
	p, cfg := d.p, &d.p.cfg
	defer p.received.Add(1) // last, so that who sees it sees the fate too
	drop, double := d.rng.Float64() < cfg.Drop, d.rng.Float64() < cfg.Duplicate
	hold, corrupt := d.rng.Float64() < cfg.Reorder, d.rng.Float64() < cfg.Corrupt
	bit := d.rng.Uint64()
	if p.blocked.Load() {
		p.blockedCount.Add(1)
		return
	}
	if drop {
		p.dropped.Add(1)
		return
	}
	data = slices.Clone(data)
	if corrupt && len(data) > 0 {
		p.corrupted.Add(1)
		bit %= uint64(len(data)) * 8
		data[bit/8] ^= 1 << (bit % 8)
	}
	due := time.Now().Add(cfg.Delay)
	if hold {
		p.reordered.Add(1)
	}
	d.enqueue(parcel{data, due, hold})
	if double {
		p.duplicated.Add(1)
		d.enqueue(parcel{data, due, false})
	}
}

func (d *direction) enqueue(x parcel) {
	select {
	case d.queue <- x:
	default:
		d.p.overflowed.Add(1)
	}
}

// run delivers until the proxy ends.
func (d *direction) run() {
	defer d.p.workers.Done()
	for {
		select {
		case x := <-d.queue:
			if !d.deliver(x) {
				return
			}
		case <-d.p.ctx.Done():
			return
		}
	}
}

// deliver sends x when it is due, and before it, if x is held, the next one. False: the proxy has ended.
func (d *direction) deliver(x parcel) bool {
	if x.hold {
		overtaken := time.NewTimer(time.Until(x.due) + d.p.hold)
		defer overtaken.Stop()
		select {
		case next := <-d.queue:
			next.hold = false // one overtakes at a time
			if !d.deliver(next) {
				return false
			}
		case <-overtaken.C:
		case <-d.p.ctx.Done():
			return false
		}
	}
	if wait := time.Until(x.due); wait > 0 {
		due := time.NewTimer(wait)
		defer due.Stop()
		select {
		case <-due.C:
		case <-d.p.ctx.Done():
			return false
		}
	}
	// A server that isn't there yet loses the datagram, as the network would.
	if d.write(x.data) == nil {
		d.p.sent.Add(1)
	}
	return true
}
