package mars

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mars/internal/driver"
	"mars/internal/fetch"
	"mars/internal/foreign"
	"mars/internal/forward"
	"mars/internal/machine"
	"mars/internal/node"
	"mars/internal/publish"
	"mars/internal/route"
	"mars/internal/secure"
	"mars/internal/wire"
)

// Node is a MARS node in this process: it forwards, serves directories and fetches objects over its UDP faces. Its methods
// may be called from every goroutine.
type Node struct {
	cfg    *Config
	log    *slog.Logger
	node   *node.Node // loop goroutine only
	driver *driver.Driver
	fetch  *fetch.Engine // loop goroutine only
	listen []netip.AddrPort

	sinks      map[fetch.ID]*sink // loop goroutine only
	services   []*service
	source     []byte                                 // component of the names of our flows
	home       *attachment                            // to the node of this host; nil: none
	foreign    *foreign.Engine                        // loop goroutine only
	inboxes    map[foreign.ID]*mailbox[foreign.Event] // loop goroutine only
	guard      *secure.Guard                          // loop goroutine only
	key        PublicKey
	membership *membership
	signer     *publish.Signer // of what is served
	trust      *secure.Trust   // in who signed what is fetched
	settled    sync.Once
	refusal    atomic.Pointer[string]        // what the neighbour that refused this node last said
	asker      *node.Asker                   // loop goroutine only
	asked      map[uint32]chan<- node.Answer // loop goroutine only
	uplinks    uplinks
	watch      observer // loop goroutine only
}

// NewNode opens the addresses and faces of cfg and publishes what cfg serves; Run then runs it. The zero Config is a node
// without faces. log may be nil.
func NewNode(cfg *Config, log *slog.Logger) (*Node, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	key, err := nodeKey(cfg.Node.Key)
	if err != nil {
		return nil, err
	}
	members, err := newMembership(cfg)
	if err != nil {
		return nil, err
	}
	announcer := &secure.Announcer{Key: key, Nonce: [secure.NonceLen]byte(random[8:])}
	seed, src := binary.BigEndian.Uint64(random[:8]), binary.BigEndian.AppendUint64(nil, announcer.ID())
	if cfg.Attach != "" {
		if src, err = askSource(cfg.Attach); err != nil {
			return nil, err
		}
	}
	fc := forward.Config{
		Profile: cfg.profile(),
		Seed:    seed, ID: binary.BigEndian.Uint64(src), Relay: cfg.Node.Role == RoleRelay, Application: cfg.Attach != "",
		DataAfterDiscovery: cfg.Study.Wait,
	}
	if cfg.Node.Strategy == StrategyBestRoute || fc.Application {
		fc.Strategy = forward.BestRoute
	}
	if !cfg.Node.Detours.On() {
		fc.Discovery = forward.Direct
	}
	n := &Node{
		cfg: cfg, log: log, node: node.New(fc), fetch: fetch.New(fetch.Config{Src: src, Seed: seed + 1, Backpressure: cfg.backpressure()}),
		sinks: make(map[fetch.ID]*sink), asker: &node.Asker{}, asked: make(map[uint32]chan<- node.Answer),
		foreign: foreign.New(foreign.Config{Seed: seed + 3}), inboxes: make(map[foreign.ID]*mailbox[foreign.Event]),
	}
	if err := n.identify(key, members); err != nil {
		return nil, err
	}
	n.driver = driver.New(n.node, driver.Options{Log: log, Guard: n.guard, Scale: cfg.Study.Dilation, Accept: cfg.guestFace, DefaultBuffers: cfg.Study.Buffers})
	if cfg.Node.Routing.On() && !fc.Application {
		judge := &heralds{admit: n.membership.policy.Admit, others: len(cfg.Operators) == 0}
		announcer.Certificate = func() []byte { return n.membership.shown }
		n.node.EnableRouting(route.Config{
			ID: fc.ID, Boot: uint32(seed), Relay: fc.Relay, Seed: seed + 2,
			Sign: announcer.Sign, Authentic: judge.authentic, Verify: judge.entitled, Notice: n.heed,
		})
	}
	if err := n.loadMembership(); err != nil {
		return nil, err
	}
	n.node.Manage(node.ManageConfig{Start: uint64(time.Now().UnixMilli()), URIs: n.faceURIs, Signers: n.trustedKeys, Status: n.answerStatus, Dialer: n.dialer()})
	n.node.AnswerPings()
	n.node.Attach(0, n.fetch)
	n.node.Attach(0, n.foreign)
	n.node.Attach(0, n.asker)
	n.driver.OnTurn(n.turn)
	n.source = src
	if err := n.open(); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// guestFace is the face of a neighbour that dials; all may.
func (c *Config) guestFace(from netip.AddrPort) (machine.Face, bool) {
	rate, ok := c.Study.GuestRates[from.Addr().Unmap()]
	if !ok {
		rate = c.Node.GuestRate
	}
	return machine.Face{MTU: cmp.Or(c.Study.GuestMTU, DefaultMTU), Rate: rate.BytesPerSecond()}, true
}

// open opens sockets and directories, and installs the routes.
func (n *Node) open() error {
	for _, l := range n.cfg.Listen {
		listen := n.driver.Listen
		if l.Plain {
			listen = n.driver.ListenPlain
		}
		got, err := listen(l.bindAddr())
		if err != nil {
			return listenError(l, err)
		}
		n.listen = append(n.listen, got)
	}
	ids := make(map[string]machine.FaceID)
	var failed error
	for _, f := range n.cfg.Faces {
		id, err := n.dial(f)
		if err != nil { // the others may do
			n.log.Warn("no face to a neighbour", "face", f.Name, "to", f.To, "err", err)
			failed = errors.Join(failed, fmt.Errorf("face to %s: %w", f.To, err))
			continue
		}
		ids[f.Name] = id
	}
	if len(ids) == 0 && failed != nil {
		return failed
	}
	for _, r := range n.cfg.Routes {
		if _, ok := ids[r.Via]; !ok {
			continue
		}
		prefix, err := wire.ParseName(r.Prefix)
		if err != nil {
			return fmt.Errorf("route %s: %w", r.Prefix, err)
		}
		n.node.AddRoute(0, prefix, forward.NextHop{Face: ids[r.Via], Hops: r.distance()})
	}
	if n.cfg.Attach != "" {
		if err := n.attach(n.cfg.Attach, n.source); err != nil {
			return err
		}
	}
	if path := n.cfg.Node.Socket; path != "" && path != SocketNone {
		if err := n.ListenSocket(path); err != nil {
			return err
		}
	}
	for _, s := range n.cfg.Serve {
		if err := n.serve(s); err != nil {
			return &Error{Op: "serve " + s.Dir, Err: err, Next: "check the path: it must be a directory that you may read"}
		}
	}
	return nil
}

// listenError says what to do about an address that can't be listened on.
func listenError(at FaceURI, err error) error {
	e := &Error{Op: fmt.Sprintf("listen on %v", at), Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Kind, e.Err = ErrBusy, errors.New("another program uses that port")
		e.Next = "end it (it may be another mars), or choose another port with --listen; port 0 is any that is free"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.Next = "choose an address that this machine has"
	case errors.Is(err, syscall.EACCES):
		e.Next = "choose a port from 1024 on"
	}
	return e
}

// keepAlive is how long a dialled face may be silent before it sends an idle packet: the mappings of common NATs live for
// 30 s without traffic (RFC 4787 §4.3 wants 2 minutes).
const keepAlive = 20 * time.Second

// idlePacket is a link packet without a fragment (NDNLPv2: IDLE); forwarders ignore it.
var idlePacket = wire.AppendTL(nil, wire.TypeLinkPacket, 0)

func (n *Node) dial(f FaceConfig) (machine.FaceID, error) {
	remote, err := f.To.resolve(f.Local.ip())
	if err != nil {
		return 0, err
	}
	spec := driver.FaceSpec{
		Remote: remote, Local: f.Local.Addr, Device: f.Local.Interface, Name: f.Name,
		Face: machine.Face{MTU: f.MTU, Rate: f.Rate.BytesPerSecond(), DataQueue: f.Queue, Uplink: n.uplinks.number(f.Local)},
	}
	if f.To.Key != (PublicKey{}) { // the Guard keeps it alive
		key := [32]byte(f.To.Key)
		spec.Key = &key
	} else {
		spec.KeepAlive = driver.KeepAlive{Every: keepAlive, Datagram: idlePacket}
	}
	return n.driver.Dial(spec)
}

// Run runs the node until ctx is done.
func (n *Node) Run(ctx context.Context) error {
	defer n.close()
	keeping, end := context.WithCancel(ctx)
	var keepers sync.WaitGroup
	defer keepers.Wait()
	defer end()
	if n.home != nil {
		keepers.Go(func() { n.keep(keeping) })
	}
	keepers.Go(func() { n.keepWatch(keeping) })
	if len(n.cfg.Operators) > 0 || n.cfg.Node.Certificate != "" {
		keepers.Go(func() { n.keepMembership(keeping) })
	}
	return n.driver.Run(ctx)
}

// close ends the services of a node whose driver has ended or never ran.
func (n *Node) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.driver.Run(ctx) // closes the sockets of a driver that never ran; else it has ended already
	for _, s := range n.services {
		s.close()
	}
}

// Addrs returns the addresses that the node listens on.
func (n *Node) Addrs() []netip.AddrPort { return n.listen }

// Listening is Addrs as face URIs: where peers dial, with the ports that the system chose and the node's key.
func (n *Node) Listening() []FaceURI {
	var all []FaceURI
	for i, a := range n.listen {
		u := n.cfg.Listen[i]
		u.Port, u.Key, u.Plain = a.Port(), n.key, false
		all = append(all, u)
	}
	return all
}

// turn hands what the engines want to those who do it; it runs on the loop goroutine after every turn.
func (n *Node) turn(now machine.Time) {
	n.tellPeers()
	if n.home != nil {
		n.home.watch(n.node)
	}
	for _, s := range n.services {
		s.turn(now)
	}
	for _, a := range n.asker.Answers(nil) {
		if c := n.asked[a.ID]; c != nil {
			c <- a // never blocks: it has room for the one answer
			delete(n.asked, a.ID)
		}
	}
	for _, ev := range n.fetch.Events(nil) {
		if s := n.sinks[ev.ID]; s != nil {
			s.events.put(ev)
		}
	}
	for _, ev := range n.foreign.Events(nil) {
		if m := n.inboxes[ev.ID]; m != nil {
			m.put(ev)
		}
	}
}

// FaceStatus is the state of one face.
type FaceStatus struct {
	Name          string         `json:"name"`
	Peer          netip.AddrPort `json:"peer"`
	State         string         `json:"state"` // up, suspended, handshake (the peer hasn't answered it)
	BytesIn       uint64         `json:"bytes_in"`
	BytesOut      uint64         `json:"bytes_out"`
	ContentIn     uint64         `json:"content_bytes_in"`
	RTT           float64        `json:"rtt_seconds"`
	Rate          float64        `json:"rate_bytes_per_second"` // what the face is asked for at most
	Drops         uint64         `json:"drops"`
	KernelDrops   uint64         `json:"kernel_drops"`
	ReceiveBuffer int            `json:"receive_buffer_bytes"`
	Err           error          `json:"-"`

	// Node: it is the face to the running node of this host, which has the faces to others. Peer is invalid then.
	Node bool `json:"node,omitempty"`
}

// PeerName is the peer's address; of the node of this host the path of its socket.
func (s FaceStatus) PeerName() string {
	if s.Node {
		return "unix://" + s.Name
	}
	return s.Peer.String()
}

// Status describes the faces to other nodes. It fails when the node doesn't run.
func (n *Node) Status() ([]FaceStatus, error) {
	var stats []forward.FaceStats
	if err := n.driver.Do(func(machine.Time) { stats = n.node.Forwarder().Stats(nil) }); err != nil {
		return nil, err
	}
	byID := make(map[machine.FaceID]forward.FaceStats, len(stats))
	for _, s := range stats {
		byID[s.ID] = s
	}
	var all []FaceStatus
	for _, f := range n.driver.Faces() {
		s := byID[f.ID]
		st := FaceStatus{
			Name: f.Name, Peer: f.Remote, State: "up", BytesIn: f.BytesIn, BytesOut: f.BytesOut, ContentIn: s.ContentIn,
			RTT: s.SRTT.Seconds(), Rate: s.Rate, Drops: s.Drops, KernelDrops: f.KernelDrops,
			ReceiveBuffer: f.ReceiveBuffer, Err: f.Err, Node: f.Stream && n.home != nil,
		}
		switch {
		case !f.Up:
			st.State = "handshake"
		case s.Suspended:
			st.State = "suspended"
		}
		all = append(all, st)
	}
	return all, nil
}
