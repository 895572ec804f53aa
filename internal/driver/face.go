package driver

import (
	"container/list"
	"errors"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"mars/internal/machine"
)

// A face that fails isn't pulled for a while, so that a dead peer costs next to nothing; the pause doubles with each
// failure that follows within failureMemory. Whatever is heard from the peer ends it.
const (
	firstPause    = time.Millisecond
	longestPause  = 50 * time.Millisecond
	failureMemory = time.Second
)

// FaceInfo describes a face at one moment.
type FaceInfo struct {
	ID            machine.FaceID
	Name          string
	Local, Remote netip.AddrPort
	OnDemand      bool
	Stream        bool // an application here, over a Unix stream: Name is the path of the socket, and there are no addresses
	Up            bool // the Machine knows it
	MTU           int  // bytes; 0: no limit
	Protected     bool // by the Guard

	DatagramsIn, BytesIn   uint64 // what the Machine got
	DatagramsOut, BytesOut uint64 // what the kernel took, protection included
	SendErrors             uint64 // failed sends, and refusals that came back
	Oversized              uint64 // datagrams too long for the path or for a buffer

	// What follows is of the face's socket; on-demand faces of one listener share it.
	Rejected                  uint64 // datagrams of no face: peers that aren't welcome, truncated, or refused by the Guard
	KernelDrops               uint64 // dropped since the kernel's receive buffer was full
	InboxStalls               uint64 // times that the reader had to wait for the loop
	ReceiveBuffer, SendBuffer int    // bytes that the kernel grants; 0: unknown

	LastHeard machine.Time // 0: never
	Err       error        // why sending fails at present; nil: it doesn't
}

// A face is a peer, the socket that leads to it, and the address of ours that it knows.
type face struct {
	id        machine.FaceID
	name      string
	face      machine.Face
	key32     *[32]byte // of the peer that we dial by a protected face
	overhead  int       // of its protection, bytes; 0: it is plain
	target    target
	largest   int // bytes of the buffers that the Machine gets
	sock      *socket
	keepAlive KeepAlive
	up        atomic.Bool

	held  *train        // datagrams that the socket had no room for
	idle  *list.Element // its place among the guests; nil for a dialled face
	until machine.Time  // not pulled before this; 0: not muted
	pause time.Duration // the last one
	last  machine.Time  // last failure
	sent  machine.Time  // when something was last handed to the kernel, or the face came up
	seen  machine.Time  // when something last came, or the face came up

	datagramsIn, bytesIn, datagramsOut, bytesOut atomic.Uint64
	sendErrors, oversized                        atomic.Uint64
	heard                                        atomic.Int64
	err                                          atomic.Pointer[error]
}

func newFace(id machine.FaceID, name string, desc machine.Face, mtu int) *face {
	if desc.MTU <= 0 {
		desc.MTU = mtu
	}
	f := &face{id: id, name: name, face: desc, largest: desc.MTU}
	if desc.Local {
		f.face.MTU, f.largest = 0, maxFrame
	}
	return f
}

// protect takes the room that protection needs out of every datagram.
func (f *face) protect(overhead int) {
	f.overhead = overhead
	f.face.MTU -= overhead
	f.largest -= overhead
}

// hear notes that the peer is there.
func (d *Driver) hear(now machine.Time, f *face) {
	f.heard.Store(int64(now))
	f.seen = now
	if f.until != 0 {
		f.until = 0
		d.muted = without(d.muted, f)
	}
	f.pause = 0
	d.recover(f)
}

// fail counts a failed send, keeps quiet for a while and says so when it is news.
func (d *Driver) fail(now machine.Time, f *face, err error) {
	f.sendErrors.Add(1)
	memory := d.clock.span(failureMemory)
	if f.pause == 0 || now-f.last > memory {
		f.pause = firstPause
	} else {
		f.pause = min(2*f.pause, longestPause)
	}
	f.last = now
	if f.until == 0 {
		d.muted = append(d.muted, f)
	}
	f.until = now + max(1, d.clock.span(f.pause))
	if !f.face.OnDemand && routeless(err) {
		_ = f.sock.conn.reconnect() // if it fails, so does the next send
	}
	if f.err.Load() == nil {
		d.log.Warn("sending fails; the face stays and keeps trying", "face", f.id, "name", f.name, "remote", f.target.remote, "error", err)
		f.err.Store(&err)
	}
}

// succeed notes a clean send. It is no sign that a peer that refused is back: refusals come afterwards.
func (d *Driver) succeed(now machine.Time, f *face) {
	err := f.err.Load()
	if err != nil && now-f.last > d.clock.span(failureMemory) && !errors.Is(*err, syscall.ECONNREFUSED) {
		d.recover(f)
	}
}

func (d *Driver) recover(f *face) {
	if f.err.Load() != nil {
		f.err.Store(nil)
		d.log.Info("the face works again", "face", f.id, "name", f.name, "remote", f.target.remote)
	}
}

// unmute ends the pauses that are over and returns when the next one ends.
func (d *Driver) unmute(now machine.Time) (next machine.Time) {
	next = machine.Never
	kept := d.muted[:0]
	for _, f := range d.muted {
		if f.until <= now {
			f.until = 0
			continue
		}
		next = min(next, f.until)
		kept = append(kept, f)
	}
	clear(d.muted[len(kept):])
	d.muted = kept
	return next
}

func (f *face) info() FaceInfo {
	i := FaceInfo{
		ID: f.id, Name: f.name, OnDemand: f.face.OnDemand, Stream: f.face.Local, Up: f.up.Load(), MTU: f.face.MTU, Protected: f.overhead > 0,
		Remote: f.target.remote, Local: f.sock.conn.localAddr(),
		DatagramsIn: f.datagramsIn.Load(), BytesIn: f.bytesIn.Load(),
		DatagramsOut: f.datagramsOut.Load(), BytesOut: f.bytesOut.Load(),
		SendErrors: f.sendErrors.Load(), Oversized: f.oversized.Load(),
		Rejected: f.sock.rejected.Load(), KernelDrops: f.sock.conn.drops(), InboxStalls: f.sock.in.stallCount(),
		LastHeard: machine.Time(f.heard.Load()),
	}
	if f.face.OnDemand && !f.face.Local {
		i.Local = netip.AddrPortFrom(f.target.local, i.Local.Port())
	}
	i.ReceiveBuffer, i.SendBuffer = f.sock.conn.buffers()
	if err := f.err.Load(); err != nil {
		i.Err = *err
	}
	return i
}
