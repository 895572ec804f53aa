package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"mars/internal/machine"
)

// ErrClosed says that the driver has ended.
var ErrClosed = errors.New("the driver has ended")

// Limits of what a driver's options may ask for.
const (
	DefaultMTU      = 1372 // bytes of datagram: over IPv6 a packet of 1,420 bytes, which nearly every tunnel carries
	DefaultMaxFaces = 1024
	DefaultIdle     = 5 * time.Minute // several keep-alives of a peer behind a NAT may get lost
)

// Options set up a Driver; the zero value serves.
type Options struct {
	// Scale dilates time: machine time is real time ÷ Scale. 0: 1.
	Scale float64
	// Clock gives the real time since some start and never goes back. nil: the system's monotonic clock from New on.
	Clock func() time.Duration
	// Log gets one line per change of a face's or a socket's state. nil: nothing is logged.
	Log *slog.Logger
	// MaxFaces bounds the on-demand faces; when they are all taken the longest idle one makes room. 0: DefaultMaxFaces.
	MaxFaces int
	// Idle is after how long without anything from its peer an on-demand face ends, in real time. 0: DefaultIdle; < 0: never.
	Idle time.Duration
	// MTU is the datagram size of faces that name none, bytes. 0: DefaultMTU.
	MTU int
	// Guard protects the faces that have a FaceSpec.Key, and those of peers that shake hands with it; it deals faces by
	// NewFace. nil: all are plain.
	Guard machine.Guard
	// DefaultBuffers: sockets keep the buffers that the kernel gives without being asked.
	DefaultBuffers bool
	// Accept decides whether a datagram from an unknown peer makes a face, and describes it. It is called on the loop
	// goroutine. nil: every peer is welcome.
	Accept func(remote netip.AddrPort) (machine.Face, bool)
}

// FaceSpec describes a face to Dial.
type FaceSpec struct {
	Remote    netip.AddrPort // the peer
	Local     netip.AddrPort // our side; address and port may each be zero, and the system chooses
	Device    string         // interface to send and receive by, whatever the routes say; "": the system chooses
	Face      machine.Face   // as the Machine is told; MTU 0: Options.MTU
	Name      string         // for people; it needn't be unique
	Key       *[32]byte      // the peer's public key: the face is protected by Options.Guard; nil: it is plain
	KeepAlive KeepAlive      // the zero value: none
}

// KeepAlive is what a face sends when nothing has left by it for a while, so that the mapping of a NAT on the way to the
// peer lives on (RFC 4787 §4.3), and with it the way back. The peer must take the datagram and need not answer.
type KeepAlive struct {
	Every    time.Duration // real time; 0: never
	Datagram []byte        // a packet of the Machine's protocol; it isn't changed
}

// A Driver runs one Machine. Its methods may be called from every goroutine.
type Driver struct {
	opt     Options
	log     *slog.Logger
	clock   clock
	calls   calls
	lastID  atomic.Uint64
	started atomic.Bool
	asleep  atomic.Int64 // in the Machine's time
	warned  sync.Once    // a small receive buffer
	readers sync.WaitGroup
	local   struct{ accepted, refused, malformed atomic.Uint64 }

	mu      sync.Mutex // guards what follows
	all     []*face    // in the order of their IDs
	opened  []*socket  // every socket, also before the loop knows of it
	locals  []*net.UnixListener
	closing bool

	// What follows belongs to the loop.
	machine     machine.Machine
	onTurn      []func(now machine.Time)
	sockets     []*socket
	ended       []*socket // whose stream is over
	byID        map[machine.FaceID]*face
	guests      guests
	muted       []*face
	keepers     []*face      // those with a keep-alive
	idleAt      machine.Time // no face is idle for too long before this
	guardClosed []machine.FaceID
	ready       []machine.FaceID
	train       *train // empty between two pulls
	plain       []byte // a datagram before it is sealed or after it was opened
}

// New returns a Driver for m, which from now on only the driver may call; use Do and Post to reach it.
func New(m machine.Machine, o Options) *Driver {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxFaces <= 0 {
		o.MaxFaces = DefaultMaxFaces
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.MTU <= 0 {
		o.MTU = DefaultMTU
	}
	d := &Driver{
		opt: o, log: o.Log, machine: m,
		clock:  newClock(o.Clock, o.Scale),
		byID:   map[machine.FaceID]*face{},
		guests: newGuests(o.MaxFaces),
		train:  newTrain(),
		idleAt: machine.Never,
	}
	d.calls.init()
	return d
}

// Now is the Machine's time.
func (d *Driver) Now() machine.Time { return d.clock.now() }

// Asleep is for how long the loop had nothing to do so far, in the Machine's time.
func (d *Driver) Asleep() machine.Time { return machine.Time(d.asleep.Load()) }

// Rejected is how many datagrams came to open sockets that were no face's.
func (d *Driver) Rejected() (sum uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.opened {
		sum += s.rejected.Load()
	}
	return sum
}

// OnTurn adds a function that the loop calls at the end of every turn, before it drains the Machine. It must be called
// before Run.
func (d *Driver) OnTurn(f func(now machine.Time)) { d.onTurn = append(d.onTurn, f) }

// Listen opens an unconnected socket and returns the address that it got. A datagram of an unknown pair of local address
// and remote address and port makes an on-demand face; what that face sends leaves from the address that the peer
// addressed. An invalid address with a port means every address of IPv4 and IPv6, by one socket; [::] means every one of
// IPv6. The error says what to do when the port is in use. With a Guard, peers that don't shake hands get no face.
func (d *Driver) Listen(addr netip.AddrPort) (netip.AddrPort, error) { return d.listen(addr, false) }

// ListenPlain is Listen where peers get a face whether they shake hands or not.
func (d *Driver) ListenPlain(addr netip.AddrPort) (netip.AddrPort, error) {
	return d.listen(addr, true)
}

func (d *Driver) listen(addr netip.AddrPort, plain bool) (netip.AddrPort, error) {
	conn, err := open(addr, netip.AddrPort{})
	if err != nil {
		return netip.AddrPort{}, err
	}
	s := newSocket(d, conn, nil)
	s.guarded, s.plain = d.opt.Guard != nil, plain
	return conn.localAddr(), d.add(s)
}

// Dial makes a face with a connected socket of its own. The Machine hears of it (FaceUp) when Run runs. Several faces to
// one peer are told apart by their local address or port. No route to the peer is no error, where the system allows it:
// the face then waits for one.
func (d *Driver) Dial(spec FaceSpec) (machine.FaceID, error) {
	if !spec.Remote.IsValid() || spec.Remote.Port() == 0 {
		return 0, fmt.Errorf("face %q: the remote address %v lacks an address or a port", spec.Name, spec.Remote)
	}
	if local := spec.Local.Addr(); local.IsValid() && local.Unmap().Is4() != spec.Remote.Addr().Unmap().Is4() {
		return 0, fmt.Errorf("face %q: from %v nothing can be sent to %v, an address of another IP version", spec.Name, local, spec.Remote.Addr())
	}
	conn, err := openOn(spec.Device, spec.Local, spec.Remote)
	if err != nil {
		return 0, fmt.Errorf("face %q to %v: %w", spec.Name, spec.Remote, err)
	}
	return d.dial(spec, conn)
}

func (d *Driver) dial(spec FaceSpec, conn batchConn) (machine.FaceID, error) {
	id, ok := d.newID()
	if !ok {
		return 0, errors.Join(errors.New("no face identifier is left"), conn.close())
	}
	f := newFace(id, spec.Name, spec.Face, d.opt.MTU)
	if spec.Key != nil {
		f.key32 = spec.Key
		f.protect(d.opt.Guard.Overhead())
	}
	f.target.remote = plain(spec.Remote)
	f.keepAlive = spec.KeepAlive
	f.sock = newSocket(d, conn, f)
	f.sock.guarded = spec.Key != nil
	return id, d.add(f.sock)
}

// Drop ends a face. The Machine hears of it (FaceDown) when the loop comes to it. Dropping an unknown face does nothing;
// an on-demand face comes back with the peer's next datagram.
func (d *Driver) Drop(id machine.FaceID) {
	d.Post(func(now machine.Time) {
		f := d.byID[id]
		if f == nil {
			return
		}
		d.faceDown(now, f)
		if f.sock.face == f {
			d.forget(f.sock)
		}
	})
}

// NewFace deals an identifier for a face that a peer makes; false: none is left. It is what a Guard needs.
func (d *Driver) NewFace() (machine.FaceID, bool) { return d.newID() }

// newID deals a face identifier, which is never dealt again; false: all are used up.
func (d *Driver) newID() (machine.FaceID, bool) {
	id := d.lastID.Add(1)
	return machine.FaceID(id), id <= math.MaxUint32
}

// add hands a new socket, and the face of a connected one, to the loop.
func (d *Driver) add(s *socket) error {
	d.mu.Lock()
	if d.closing {
		d.mu.Unlock()
		return errors.Join(ErrClosed, s.conn.close())
	}
	d.opened = append(d.opened, s)
	if s.face != nil {
		d.all = append(d.all, s.face)
	}
	d.mu.Unlock()
	if c, ok := s.conn.(interface{ defaultBuffers() error }); ok && d.opt.DefaultBuffers {
		if err := c.defaultBuffers(); err != nil {
			d.log.Warn("socket buffers stay as they are", "error", err)
		}
	}
	if recv, _ := s.conn.buffers(); recv > 0 && recv < 1<<20 {
		d.warned.Do(func() {
			d.log.Warn("the kernel caps UDP receive buffers; bursts are absorbed in user space, but to lose less under load raise net.core.rmem_max",
				"granted_bytes", recv, "wanted_bytes", bufferWish)
		})
	}
	d.Post(func(now machine.Time) {
		d.sockets = append(d.sockets, s)
		switch {
		case s.face != nil && s.guarded:
			d.byID[s.face.id] = s.face
			if err := d.opt.Guard.Dial(now, s.face.id, *s.face.key32); err != nil {
				d.log.Warn("the face can't be protected, and stays down", "face", s.face.id, "name", s.face.name, "error", err)
			}
		case s.face != nil:
			d.faceUp(now, s.face)
		}
		d.readers.Add(1)
		go s.read()
	})
	return nil
}

// forget closes a socket that the loop knows.
func (d *Driver) forget(s *socket) {
	s.close()
	d.mu.Lock()
	d.opened = without(d.opened, s)
	d.mu.Unlock()
	d.sockets = without(d.sockets, s)
}

func (d *Driver) faceUp(now machine.Time, f *face) {
	d.byID[f.id] = f
	f.up.Store(true)
	d.log.Log(context.Background(), f.level(), "face up", "face", f.id, "name", f.name, "remote", f.target.remote, "on_demand", f.face.OnDemand)
	d.machine.FaceUp(now, f.id, f.face)
	d.watch(now, f)
}

// level is that of log lines about the face's coming and going: applications do so all the time.
func (f *face) level() slog.Level {
	if f.face.Local && f.face.OnDemand {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (d *Driver) faceDown(now machine.Time, f *face) {
	delete(d.byID, f.id)
	d.guests.remove(f)
	d.muted, d.keepers = without(d.muted, f), without(d.keepers, f)
	f.sock.waiting = without(f.sock.waiting, f)
	if f.overhead > 0 {
		d.opt.Guard.Close(f.id)
	}
	known := f.up.Swap(false)
	d.mu.Lock()
	d.all = without(d.all, f)
	d.mu.Unlock()
	d.log.Log(context.Background(), f.level(), "face down", "face", f.id, "name", f.name, "remote", f.target.remote, "on_demand", f.face.OnDemand)
	if known {
		d.machine.FaceDown(now, f.id)
	}
}

// Faces describes the present faces in the order of their IDs.
func (d *Driver) Faces() []FaceInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	infos := make([]FaceInfo, 0, len(d.all))
	for _, f := range d.all {
		infos = append(infos, f.info())
	}
	return infos
}

// without removes v from s, keeping the order.
func without[T comparable](s []T, v T) []T {
	for i := range s {
		if s[i] == v {
			n := i + copy(s[i:], s[i+1:])
			clear(s[n:])
			return s[:n]
		}
	}
	return s
}
