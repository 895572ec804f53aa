package driver

import (
	"context"
	"errors"
	"syscall"
	"time"

	"mars/internal/machine"
)

const (
	// A turn takes this much of each socket before it looks at timers and output.
	turnPackets = 64
	turnBytes   = 256 << 10
	// shortestSleep keeps a Machine whose deadline is always past from keeping a processor busy.
	shortestSleep = 50 * time.Microsecond
)

// Run drives the Machine until ctx is done. Then it closes all sockets, waits for its goroutines and returns nil; the
// driver can't be run again. Sockets of a driver that never ran are closed by a Run whose context is done already.
func (d *Driver) Run(ctx context.Context) error {
	if !d.started.CompareAndSwap(false, true) {
		return errors.New("a driver runs once: make a new one")
	}
	alarm, err := newAlarm(d.wakeup)
	if err != nil {
		return errors.Join(err, d.shutdown())
	}
	stop := context.AfterFunc(ctx, d.wakeup)
	defer stop()
	for ctx.Err() == nil {
		if d.turn() {
			continue
		}
		d.setAlarm(alarm)
		from := d.clock.now()
		<-d.calls.wake
		d.asleep.Add(int64(d.clock.now() - from))
	}
	return errors.Join(alarm.close(), d.shutdown())
}

// shutdown ends everything that Run, Listen and Dial began.
func (d *Driver) shutdown() error {
	d.mu.Lock()
	d.closing = true
	opened, locals := d.opened, d.locals
	d.mu.Unlock()
	for _, l := range locals {
		_ = l.Close()
	}
	d.calls.finish()
	for _, s := range opened {
		s.close()
	}
	d.readers.Wait()
	return nil
}

// setAlarm arranges for a wake-up at the next moment that matters.
func (d *Driver) setAlarm(a alarm) {
	now := d.clock.now()
	next := min(d.machine.Deadline(), d.unmute(now), d.idleAt)
	if d.opt.Guard != nil {
		next = min(next, d.opt.Guard.Deadline())
	}
	if next == machine.Never {
		a.set(0)
		return
	}
	a.set(max(d.clock.wait(now, next), shortestSleep))
}

// turn looks once at everything and reports whether there may be more to do at once.
func (d *Driver) turn() bool {
	busy := d.runCalls()
	for _, s := range d.sockets {
		if d.input(s) {
			busy = true
		}
	}
	for _, s := range d.ended {
		d.end(s)
	}
	clear(d.ended)
	d.ended = d.ended[:0]
	now := d.clock.now()
	if d.machine.Deadline() <= now {
		d.machine.Advance(now)
	}
	if d.idleAt <= now {
		d.checkIdle(now)
	}
	for _, f := range d.onTurn {
		f(now)
	}
	if d.output(now) {
		busy = true
	}
	d.guard(now)
	return busy
}

// input passes what came in by s to the Machine, up to the share of a turn.
func (d *Driver) input(s *socket) bool {
	if err := s.fault.Swap(nil); err != nil {
		d.readFault(s, *err)
	}
	ended := s.ended.Load()
	packets := s.in.take(turnPackets, turnBytes)
	if len(packets) == 0 {
		if ended {
			d.ended = append(d.ended, s)
		}
		return false
	}
	now := d.clock.now()
	for i := range packets {
		p := &packets[i]
		if s.guarded && (s.face != nil || !s.plain || d.opt.Guard.Owns(p.data)) {
			d.arrive(now, s, p)
			continue
		}
		f := s.face
		if f == nil {
			if f = d.guest(now, s, p); f == nil {
				s.rejected.Add(1)
				continue
			}
		}
		d.deliver(now, f, p)
	}
	s.faulty = false
	return true
}

// end ends the face of a stream that is over.
func (d *Driver) end(s *socket) {
	if d.byID[s.face.id] == s.face {
		d.faceDown(d.clock.now(), s.face)
		d.forget(s)
	}
}

// deliver gives the datagrams of p to the Machine.
func (d *Driver) deliver(now machine.Time, f *face, p *packet) {
	count, bytes, rest := uint64(0), uint64(0), p.data
	for len(rest) > 0 {
		datagram := rest
		if p.segment > 0 && p.segment < len(rest) {
			datagram = rest[:p.segment]
		}
		rest = rest[len(datagram):]
		count, bytes = count+1, bytes+uint64(len(datagram))
		d.machine.Receive(now, f.id, machine.NotECT, datagram)
	}
	if count > 0 {
		f.datagramsIn.Add(count)
		f.bytesIn.Add(bytes)
		d.hear(now, f)
	}
}

// readFault treats an error that the reader of s met.
func (d *Driver) readFault(s *socket, err error) {
	if s.face != nil {
		d.fail(d.clock.now(), s.face, err)
		return
	}
	if s.faulty {
		return
	}
	s.faulty = true
	d.log.Warn("receiving fails; the socket stays and keeps trying", "local", s.local, "error", err)
}

// output drains the Machine: a train of each face that may send, and then the loop looks at its input again.
func (d *Driver) output(now machine.Time) bool {
	for _, s := range d.sockets {
		d.resume(now, s)
	}
	d.unmute(now)
	sent := false
	d.ready = d.machine.Ready(d.ready[:0])
	for _, id := range d.ready {
		f := d.byID[id]
		if f == nil || f.until != 0 || f.sock.full {
			continue
		}
		if d.pull(d.clock.now(), f) {
			sent = true
		}
	}
	return sent
}

// resume sends what waits for room in the socket.
func (d *Driver) resume(now machine.Time, s *socket) {
	for !s.full && len(s.waiting) > 0 {
		f := s.waiting[0]
		s.waiting = without(s.waiting, f)
		t := f.held
		f.held = nil
		d.send(now, f, t)
	}
}

// pull sends one train of f and reports whether it took anything from the Machine.
func (d *Driver) pull(now machine.Time, f *face) bool {
	t := d.train
	t.reset()
	for t.count() < trainDatagrams && d.transmit(now, f, t) {
	}
	if t.count() == 0 {
		return false
	}
	d.send(now, f, t)
	return true
}

// transmit adds the next datagram of f to t and reports whether there was one that fits. The Machine always gets a
// buffer of the face's MTU (of a whole packet where there is none), so that no datagram depends on how full a train is, and a larger one when it asks.
func (d *Driver) transmit(now machine.Time, f *face, t *train) bool {
	n := d.transmitInto(now, f, t, f.largest)
	if n < 0 {
		n = d.transmitInto(now, f, t, -n)
	}
	if n < 0 && t.count() == 0 {
		f.oversized.Add(1) // not even into an empty train
	}
	return n > 0
}

// transmitInto is Transmit with a buffer of size bytes at the end of t; negative too if t has no such room.
func (d *Driver) transmitInto(now machine.Time, f *face, t *train, size int) int {
	free := t.free()
	if t.count() == 0 {
		size = min(size, len(free)-f.overhead)
	}
	if size+f.overhead > len(free) {
		return -size
	}
	if f.overhead == 0 {
		n, _ := d.machine.Transmit(now, f.id, free[:size:size])
		if n > 0 {
			t.add(n)
		}
		return n
	}
	plain := d.scratch(size)
	n, _ := d.machine.Transmit(now, f.id, plain)
	if n > 0 {
		if sealed := d.opt.Guard.Seal(now, f.id, free[:0], plain[:n:size]); len(sealed) > 0 {
			t.add(len(sealed))
		}
	}
	return n
}

// scratch returns n bytes for a datagram before it is sealed.
func (d *Driver) scratch(n int) []byte {
	if cap(d.plain) < n {
		d.plain = make([]byte, n)
	}
	return d.plain[:n]
}

// send hands t to the kernel. What doesn't fit is held; what can't be sent is counted and gone.
func (d *Driver) send(now machine.Time, f *face, t *train) {
	var failure error
	for refused := false; !t.done(); {
		from := t.first
		n, err := f.sock.conn.send(t, f.target)
		t.first += n
		if n > 0 {
			f.sent = now
		}
		f.datagramsOut.Add(uint64(n))
		f.bytesOut.Add(uint64(t.start(t.first) - t.start(from)))
		switch {
		case err == nil:
		case errors.Is(err, errAgain):
			d.hold(f, t)
			return
		case errors.Is(err, syscall.EMSGSIZE):
			f.oversized.Add(1)
			t.first++
		case errors.Is(err, syscall.ECONNREFUSED) && !refused:
			// It reports an earlier datagram; this one hasn't been tried.
			failure, refused = err, true
		default:
			failure = err
			t.first = t.count()
		}
	}
	if failure != nil {
		d.fail(now, f, failure)
	} else {
		d.succeed(now, f)
	}
}

// hold keeps the rest of t until the socket has room.
func (d *Driver) hold(f *face, t *train) {
	f.held = t
	if t == d.train {
		d.train = newTrain()
	}
	f.sock.waiting = append(f.sock.waiting, f)
	f.sock.awaitRoom()
}
